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


def counted(rows: Sequence[Mapping[str, Any]]) -> tuple[int, int]:
    """Return in how many rows the interval holds, and of how many."""
    return sum(map(holds, rows)), len(rows)


def report(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of the trial, and the counts."""

    def cells(row: Mapping[str, Any]) -> tuple[str, ...]:
        about, budget = row["facts"], row["epsilon"]
        percent = [f"{100 * row[name]:.0f}" for name in ("test", "low", "high", "run")]
        return (row["graph"], f"{about['n']:,}", f"{about['classes']}", f"{about['mean_degree']:.1f}",
                f"{about['homophily']:.2f}", row["method"], "" if budget is None else f"{budget:g}",
                f"{row['people']:,}", percent[0], f"{percent[1]} to {percent[2]}", percent[3],
                "yes" if holds(row) else "no")  # fmt: skip

    heads = ("graph", "people", "classes", "degree", "homophily", "method", "ε", "simulated", "likely", "interval",
             "run", "holds")  # fmt: skip
    kinds = {
        "methods on made-up graphs": [row for row in rows if row["graph"] == "made-up" and row["epsilon"]],
        "methods on real graphs": [row for row in rows if row["graph"] != "made-up" and row["epsilon"]],
        "null models on made-up graphs": [row for row in rows if row["graph"] == "made-up" and not row["epsilon"]],
        "null models on real graphs": [row for row in rows if row["graph"] != "made-up" and not row["epsilon"]],
    }
    lines = [f"{name}: {counted(some)[0]} of {counted(some)[1]}" for name, some in kinds.items() if some]
    return "\n".join([table(heads, map(cells, rows)), "", *lines])


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
