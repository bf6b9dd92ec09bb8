"""``ldpsim compare``: several methods on the same people, one table, one page."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from cli import options as o
from cli.errors import FAILED, Failure
from cli.progress import Progress
from cli.run import stdout_to_stderr

PAGE = "compare.html"


def compare(
    methods: Annotated[list[str], typer.Argument(metavar="METHOD...", help="Methods (see `ldpsim methods`).")],
    match: o.Match = None,
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
    reference: o.Reference = False,
    seed: o.Seed = 0,
    population_seed: o.PopulationSeed = None,
    split_seed: o.SplitSeed = None,
    noise_seed: o.NoiseSeed = None,
    training_seed: o.TrainingSeed = None,
    repeats: o.Repeats = 1,
    repeats_vary: o.RepeatsVary = "all",
    engine: Annotated[
        str, o._option(o.RUNNING, "--engine", metavar="auto|local|ray", help="Where methods run: processes, or Ray.")
    ] = "auto",
    workers: o.Workers = None,
    ray_address: o.RayAddress = None,
    dropout: o.Dropout = 0.0,
    state: Annotated[Path | None, typer.Option("--state", hidden=True)] = None,
    on_requery: o.OnRequery = "refuse",
    cap: o.Caps = None,
    out: o.Out = Path("runs"),
    as_json: o.AsJson = False,
    save_reports: o.SaveReports = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Run several methods on the same people with the same splits, and put them side by side."""
    given = o.pairs("--set", settings)
    owner = {"queries": queries, "gamma": gamma, "lambda_": lambda_, "delta": delta, "sampling": sampling,
             "query_selection": query_selection}  # fmt: skip
    given |= {name: str(value) for name, value in owner.items() if value is not None}
    caps = o.caps(cap)
    seeds = o.seeds(seed, noise_seed, population=population_seed, split=split_seed, training=training_seed)

    from strategies import RunOptions

    asked = RunOptions(
        dataset=dataset, clients=clients, data_dir=data_dir, split=split, label_rate=label_rate, epsilon=epsilon,
        eps_adjacency=eps_adjacency, eps_features=eps_features, eps_labels=eps_labels, feature_share=feature_share,
        public_features=public_features, private_labels=private_labels, reporting=reporting, gnn=gnn, tuned=tuned,
        device=device, reference=reference, seed=seed, seeds=seeds, repeats=repeats, repeats_vary=repeats_vary,
        dropout=dropout, on_requery=on_requery, caps=caps, out=out, save_reports=save_reports,
    )  # fmt: skip
    if state is not None:
        raise ValueError(f"--state {state} with compare: each method needs people of its own")

    with stdout_to_stderr(), Progress(shown=not (quiet or as_json)) as progress:
        progress("starting", None)
        from cli.report.gather import gather
        from cli.report.page import shown_rows, write_page
        from strategies.experiments.compare import compare as run

        result = run(
            methods, replace(asked, settings=given), matching=match, engine=engine, workers=workers,
            ray_address=ray_address, progress=progress,
        )  # fmt: skip
        page = result.folder / PAGE
        found = None
        if result.records:
            progress("drawing", None)
            found = gather([result.folder], only=[result.folder / name for name in result.folders])
            write_page(page, found, methods=methods)

    if as_json:
        document = {
            "results": list(result.records),
            "html": str(page.absolute()) if found else None,
            "table": str(result.table.absolute()),
            "failed": {name: line for name, line, _ in result.failures},
        }
        typer.echo(json.dumps(document, indent=2, allow_nan=False))
    elif quiet:
        typer.echo(str(page if found else result.table))
    elif found is not None:
        _show(shown_rows(found, methods=methods), found.match, result)
        typer.echo(f"Written to {page}")
        typer.echo(f"       and {result.table}")
    if debug:
        for name, _, trace in result.failures:
            if trace:
                typer.echo(f"{name}:\n{trace}", err=True)
    if result.failures:
        name, line, _ = result.failures[0]
        raise Failure(f"{len(result.failures)} of {len(methods)} methods failed; {name}: {line}", FAILED)


def _show(rows: Sequence[Mapping[str, Any]], match: Mapping[str, Any] | None, result: Any) -> None:
    from rich.markup import escape

    from cli.report.page import verdict
    from cli.report.words import bytes_, level, percent, seconds
    from cli.summary import WIDTH, console, table
    from strategies.results.levels import shown_levels

    held = list(shown_levels(3))
    if match is not None and match["level"] not in held and match["level"] in rows[0]["levels"]:
        held[0] = match["level"]
    shown = table("!method", ">test %", ">±", *(f">{name.replace('_', ' ')}" for name in held), ">bytes", ">rounds",
                  ">s", gap=1)  # fmt: skip
    for row in rows:
        spread = "" if row["std"] is None else percent(row["std"])
        entries = [level(row["levels"][name]).replace("unprotected", "open").partition(" (")[0] for name in held]
        shown.add_row(escape(row["label"]), f"[bold]{percent(row['test'])}[/bold]", spread, *entries,
                      bytes_(row["bytes"]), str(row["rounds"]), seconds(row["seconds"]["total"]))  # fmt: skip
    screen = console(width=WIDTH)
    screen.print(shown)
    screen.print(
        "[dim]Levels: the epsilon that holds when an edge, all features, a whole record\n"
        "change; open: unprotected. bytes: down and up, a device. s: one repeat.[/dim]"
    )
    for row in rows:
        if row["silo"]:
            screen.print(f"[dim]{escape(row['label'])}: {bytes_(row['silo'])} a silo.[/dim]")
    said = verdict(rows, match)
    colour = "green" if said["equal"] else "yellow"
    screen.print(f"[{colour}]{escape(said['line'])}[/{colour}]")
    for name, why in said["reasons"]:
        screen.print(f"  {escape(name)}: {escape(why)}")
    for name, line, _ in result.failures:
        screen.print(f"[red]{escape(name)} failed[/red]: {escape(line)}")


__all__ = ["compare"]
