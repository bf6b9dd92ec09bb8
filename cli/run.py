"""``ldpsim run``: one simulation."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import typer

from cli import options as o
from cli.errors import FAILED, REFUSED, Failure
from cli.progress import Progress


def run(
    config: o.Config = None,
    method: o.Method = "hogs",
    dataset: o.Dataset = "generated",
    clients: o.Clients = None,
    data_dir: o.DataDir = None,
    split: o.SplitName = "random",
    label_rate: o.LabelRate = None,
    epsilon: o.Epsilon = None,
    eps_adjacency: o.EpsAdjacency = None,
    eps_features: o.EpsFeatures = None,
    eps_labels: o.EpsLabels = None,
    feature_share: o.FeatureShare = None,
    public_features: o.PublicFeatures = False,
    private_labels: o.PrivateLabels = False,
    reporting: o.Reporting = "both",
    gnn: o.Gnn = None,
    tuned: o.Tuned = False,
    settings: o.Settings = None,
    queries: o.Queries = None,
    gamma: o.Gamma = None,
    lambda_: o.Lambda = None,
    delta: o.Delta = None,
    sampling: o.Sampling = None,
    query_selection: o.QuerySelection = None,
    device: o.TrainOn = "auto",
    no_reference: o.NoReference = False,
    seed: o.Seed = 0,
    population_seed: o.PopulationSeed = None,
    split_seed: o.SplitSeed = None,
    noise_seed: o.NoiseSeed = None,
    training_seed: o.TrainingSeed = None,
    repeats: o.Repeats = 1,
    repeats_vary: o.RepeatsVary = "all",
    engine: o.Engine = "auto",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    dropout: o.Dropout = 0.0,
    state: o.StateDir = None,
    on_requery: o.OnRequery = "refuse",
    cap: o.Caps = None,
    out: o.Out = Path("runs"),
    as_json: o.AsJson = False,
    save_reports: o.SaveReports = False,
    from_reports: o.FromReports = None,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Run one simulation: devices answer once, a curator rebuilds the graph and trains a network on it."""
    settings_given = o.pairs("--set", settings)
    owner = {"queries": queries, "gamma": gamma, "lambda_": lambda_, "delta": delta, "sampling": sampling,
             "query_selection": query_selection}  # fmt: skip
    settings_given |= {name: str(value) for name, value in owner.items() if value is not None}
    caps = o.caps(cap)
    seeds = o.seeds(seed, noise_seed, population=population_seed, split=split_seed, training=training_seed)

    from strategies import RunOptions  # cheap; what comes with `simulate` below takes seconds

    asked = RunOptions(
        method=method, dataset=dataset, clients=clients, data_dir=data_dir, split=split, label_rate=label_rate,
        epsilon=epsilon, eps_adjacency=eps_adjacency, eps_features=eps_features, eps_labels=eps_labels,
        feature_share=feature_share, public_features=public_features, private_labels=private_labels,
        reporting=reporting, gnn=gnn, tuned=tuned, settings=settings_given, device=device,
        reference=not no_reference, seed=seed, seeds=seeds, repeats=repeats, repeats_vary=repeats_vary, engine=engine,
        workers=workers, ray_address=ray_address, dropout=dropout, state=state, on_requery=on_requery, caps=caps,
        out=out, save_reports=save_reports, from_reports=from_reports,
    )  # fmt: skip

    with stdout_to_stderr(), Progress(shown=not (quiet or as_json)) as progress:
        progress("starting", None)
        from strategies import Refused, RunFailed, simulate

        try:
            result = simulate(asked, progress=progress)
        except Refused as refused:
            raise Failure(str(refused), REFUSED) from refused
        except RunFailed as failed:
            raise Failure(str(failed), FAILED) from failed

    if as_json:
        from strategies.results.folder import plain

        typer.echo(json.dumps(plain(result.record), indent=2, allow_nan=False))
    elif quiet:
        if result.folder is not None:
            typer.echo(str(result.folder / "result.json"))
    else:
        from cli.summary import WIDTH, console, summary

        console(width=WIDTH).print(summary(result.record, folder=result.folder, extra=result.extra))


@contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Send all that this process and its children print to standard error: the result has standard output alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
