"""Growth of runs with the number of people: CPU seconds and memory by phase, kept in docs/results/scale.json.

    python -m benchmarks.speed.bench_scale [--methods lpgnn rgnn hogs] [--people 3000 10000]

Every run is a process of its own (:mod:`benchmarks.speed.scale_run`), one after the other, on one thread. A run that
is made again replaces its figures, with the machine beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import RESULTS, ROOT
from benchmarks.speed.process import ONE_THREAD, beside

METHODS = ("lpgnn", "rgnn", "hogs")
PEOPLE = (3_000, 10_000, 30_000, 100_000)
_KEY = ("method", "people", "graph", "epochs", "nulls")


def measure(arguments: Sequence[str]) -> dict[str, Any]:
    """Make one run in a process of its own and return its figures, with what stood beside it."""
    machine = beside()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.scale_run", *arguments],
        stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT, env={**os.environ, **ONE_THREAD},
    )  # fmt: skip
    return {**json.loads(done.stdout.splitlines()[-1]), "beside": machine}


def merged(old: Iterable[dict[str, Any]], new: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the kept runs with a new one in its place.

    >>> [run["cpu"] for run in merged([{"people": 1, "cpu": 5}, {"people": 2, "cpu": 7}], {"people": 1, "cpu": 6})]
    [7, 6]
    """
    others = [run for run in old if any(run.get(name) != new.get(name) for name in _KEY)]
    return [*others, new]


def main() -> None:
    """Measure what is asked and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--people", nargs="+", type=int, default=PEOPLE)
    parser.add_argument("--graph", default="generated")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--nulls", action="store_true", help="with null models and references")
    parser.add_argument("--kept", type=Path, default=RESULTS / "scale.json", help="file of the figures")
    arguments = parser.parse_args()
    figures = json.loads(arguments.kept.read_text()) if arguments.kept.is_file() else {"runs": []}
    for method in arguments.methods:
        for people in arguments.people:
            chosen = ["--method", method, "--people", str(people), "--graph", arguments.graph]
            run = measure([*chosen, "--epochs", str(arguments.epochs), *["--nulls"] * arguments.nulls])
            figures["runs"] = merged(figures["runs"], run)
            arguments.kept.write_text(json.dumps(figures, indent=1) + "\n")
            print(f"{method:8} {people:>9,} people {run['cpu']:8.1f} CPU s {run['peak']:8,.0f} MiB, {run['beside']}",
                  flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
