"""Intervals of likely worth of ``ldpsim plan`` beside runs of all people: how often they hold.

    python -m benchmarks.speed.bench_worth --draw SEED --kept FILE    plan and run what this seed draws
    python -m benchmarks.speed.bench_worth --kept FILE                the table of what is kept

Graph facts, methods and budgets are drawn from one seed, so nobody chooses them. A plan gets the facts alone. Then each
method that has an interval is run once on a graph of all people: a made-up one with these facts from a seed of its own,
or a real one (``--real NAME``, from ``LDPSIM_DATA``). The null models of the plan are tried on the same graph.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import RESULTS
from benchmarks.markdown import table
from devices import datasets
from strategies.estimate.graph_facts import GraphFacts, measured
from strategies.estimate.traffic import miniature
from strategies.planning.miniature import save
from strategies.planning.plan import make_plan
from strategies.planning.wishes import Wishes
from strategies.planning.worth import nothing_trial, run_trial, trial_of
from strategies.setup.options import RunOptions

KEPT = RESULTS / "worth.json"
METHODS = ("lpgnn", "vote", "hogs", "rgnn", "sbp")
EPSILONS = (3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
PEOPLE = (1_500, 6_000)
SECONDS = 3_600.0  # no plan is stopped by the time


def drawn_facts(rng: np.random.Generator) -> GraphFacts:
    """Return facts that a seed draws, over what real graphs have."""
    features = int(rng.integers(100, 600))
    return GraphFacts(
        n=int(rng.integers(*PEOPLE)), features=features, classes=int(rng.integers(3, 9)),
        mean_degree=round(float(rng.uniform(3, 12)), 1), homophily=round(float(rng.uniform(0.5, 0.9)), 2),
        words=round(float(rng.uniform(8, min(30, features / 5))), 1),
    )  # fmt: skip


def trial(facts: GraphFacts, epsilon: float, graph: Path, name: str) -> Iterator[dict[str, Any]]:
    """Plan the methods at one budget from the facts, run them on the graph, and yield what was said and seen."""
    made = make_plan(METHODS, RunOptions(epsilon=epsilon), facts, Wishes(), workers=1, seconds=SECONDS)
    about = {"graph": name, "facts": facts.to_dict()}
    for row in made.rows:
        if row.worth is None:
            print(f"{name} {row.method} {epsilon:g}: no interval: {'; '.join(row.why)}", flush=True)
            continue
        seen = run_trial(trial_of(row.options, graph, seed=1_000))
        if isinstance(seen, str):
            print(f"{name} {row.method} {epsilon:g}: failed: {seen}", flush=True)
            continue
        yield {**about, "method": row.method, "epsilon": epsilon, "run": seen, **_said(row.worth)}
    seen_alone = nothing_trial((graph, None))
    for model, worth in made.nothing.items():
        yield {**about, "method": model, "epsilon": None, "run": seen_alone[model].test, **_said(worth)}


def _said(worth: Any) -> dict[str, Any]:
    return {name: value for name, value in worth.to_dict().items() if name != "simulated"}


def holds(row: Mapping[str, Any]) -> bool:
    """Return whether the run lies in its interval."""
    return bool(row["low"] <= row["run"] <= row["high"])


def groups(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[int, str, str], list[Mapping[str, Any]]]:
    """Return the rows by seed, kind of graph (``made-up`` or ``real``) and kind of figure (``methods``, ``nulls``)."""
    found: dict[tuple[int, str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        kind = "made-up" if row["graph"] == "made-up" else "real"
        found.setdefault((row["seed"], kind, "nulls" if row["epsilon"] is None else "methods"), []).append(row)
    return found


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table: how often the interval held, and how far the run was from what was likely, in points."""
    lines = []
    for (seed, kind, of), some in groups(rows).items():
        off = [100 * (row["run"] - row["test"]) for row in some]
        names = ", ".join(dict.fromkeys(f"`{row['method']}`" if of == "methods" else row["method"] for row in some))
        graphs = ", ".join(dict.fromkeys(row["graph"] for row in some)) if kind == "real" else kind
        people = sorted({row["facts"]["n"] for row in some})
        between = f"{people[0]:,}" if len(people) == 1 else f"{people[0]:,} to {people[-1]:,}"
        lines.append((f"{seed}", graphs, between, names,
                      f"{sum(map(holds, some))} of {len(some)}",
                      f"{np.mean(off):+.0f} ({min(off):+.0f} to {max(off):+.0f})"))  # fmt: skip
    return table(("draw", "graphs", "people", "figures", "interval held", "run less likely: mean, range"), lines)


def main() -> None:
    """Plan and run what is asked, keep it, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", type=int, metavar="SEED", help="seed of the facts and budgets")
    parser.add_argument("--sets", type=int, default=6, help="sets of facts that are drawn")
    parser.add_argument("--people", type=int, help="people of every set; none: drawn")
    parser.add_argument("--real", nargs="*", default=[], metavar="NAME", help="real graphs beside")
    parser.add_argument("--kept", type=Path, default=KEPT, help="file of the figures")
    given = parser.parse_args()
    kept: list[dict[str, Any]] = json.loads(given.kept.read_text()) if given.kept.is_file() else []
    if given.draw is not None:
        rng = np.random.default_rng(given.draw)
        with tempfile.TemporaryDirectory(prefix="ldpsim-worth-") as folder:
            graph = Path(folder) / "graph.npz"
            for number, name in enumerate([*["made-up"] * given.sets, *given.real]):
                if name == "made-up":
                    facts = drawn_facts(rng)
                    facts = facts if given.people is None else replace(facts, n=given.people)
                    people = miniature(facts, facts.n, seed=1_000 * given.draw + number)
                else:
                    people = datasets.load(name)
                    facts = measured(people)
                save(people, graph)
                for row in trial(facts, float(rng.choice(EPSILONS)), graph, name):
                    kept.append({**row, "seed": given.draw})
                    said = f"{row['method']} {100 * row['low']:.0f} to {100 * row['high']:.0f}"
                    print(f"{name} {facts.n:,} {said}, run {100 * row['run']:.0f}", flush=True)
                given.kept.write_text(json.dumps(kept, indent=1) + "\n")
    print(report(kept))


if __name__ == "__main__":
    main()
