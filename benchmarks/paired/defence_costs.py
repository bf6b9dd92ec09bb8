"""Cost of each defence for honest people: accuracy without a liar, and people who are excluded.

    python -m benchmarks.paired.defence_costs [--dataset cora] [--epsilon 8] [--seeds 3] METHOD...

Each row has the same people, split, reports and training seed with the defence and without it, so the differences
are paired. ``public-sampling`` changes the question, so its reports are others of the same people. The mean difference
stands beside its standard error over seeds. Methods: local ones, or trainings in rounds.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from curator.defences import ALL, DEFENCES, DUPLICATES, PUBLIC_SAMPLING, TRIM
from curator.methods import find
from curator.methods.federated.fedavg import Federated
from strategies import RunOptions, simulate


def differences(options: RunOptions) -> Iterator[tuple[str, float, int]]:
    """Yield each defence, the difference of test accuracy to the run without it, and the number of people excluded."""
    rounds = issubclass(find(options.method), Federated)
    with tempfile.TemporaryDirectory() as folder:
        first = simulate(replace(options, out=Path(folder), save_reports=not rounds))
        assert first.folder is not None
        kept = None if rounds else first.folder / "reports"
        for name in (TRIM, DUPLICATES) if rounds else (*DEFENCES, ALL):
            given = replace(options, out=None, defence=name,
                            from_reports=None if name in (PUBLIC_SAMPLING, ALL) else kept)  # fmt: skip
            record = simulate(given).record
            yield name, _test(record) - _test(first.record), len(record["defence"]["flagged"])


def _test(record: dict[str, Any]) -> float:
    return 100 * float(record["accuracy"]["test"])


def main() -> None:
    """Print a row for each method and defence."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("methods", nargs="+")
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--clients", type=int)
    parser.add_argument("--epsilon", type=float, default=8.0)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    for method in given.methods:
        found: dict[str, list[tuple[float, int]]] = {}
        for seed in range(given.seeds):
            options = RunOptions(method=method, dataset=given.dataset, clients=given.clients, epsilon=given.epsilon,
                                 seed=seed, nulls=False, reference=False)  # fmt: skip
            for name, points, excluded in differences(options):
                found.setdefault(name, []).append((points, excluded))
        for name, rows in found.items():
            points, excluded = np.array(rows, float).T
            error = points.std(ddof=1) / len(points) ** 0.5 if len(points) > 1 else float("nan")
            print(f"{method:12} {name:16} {points.mean():+6.1f} points +- {error:.1f}, {excluded.sum():.0f} excluded",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
