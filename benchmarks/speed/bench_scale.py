"""Growth of runs with the number of people: CPU seconds and memory by phase, with exponents.

    python -m benchmarks.speed.bench_scale [--methods lpgnn rgnn hogs] [--people 3000 10000] [--drawn]
    python -m benchmarks.speed.bench_scale --page
    python -m benchmarks.speed.bench_scale --compare BASE.json

Every run is a process of its own (:mod:`benchmarks.speed.scale_run`), one after the other, on one thread. The figures
are kept in docs/results/scale.json beside the machine; a run that is made again replaces its figures. From this file
come the page docs/results/scale.md and its picture. ``--compare`` shows what moved since another such file.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import RESULTS, ROOT
from benchmarks.speed.scale_page import compared, write_page

KEPT = RESULTS / "scale.json"
METHODS = ("lpgnn", "rgnn", "hogs")
PEOPLE = (3_000, 10_000, 30_000, 100_000)
_KEY = ("method", "people", "graph", "epochs", "drawn", "nulls")


def machine() -> dict[str, Any]:
    """Return the machine: processor, cores, memory and versions."""
    import numpy
    import torch

    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())  # fmt: skip
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {"processor": model, "cores": os.cpu_count(), "memory_gib": round(memory / 2**30),
            "python": platform.python_version(), "numpy": numpy.__version__, "torch": torch.__version__}  # fmt: skip


def measure(arguments: Sequence[str]) -> dict[str, Any]:
    """Make one run in a process of its own and return its figures, with the machine's load before it."""
    load = round(os.getloadavg()[0], 1)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.speed.scale_run", *arguments],
        stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    return {**json.loads(done.stdout.splitlines()[-1]), "load": load}


def merged(old: Iterable[dict[str, Any]], new: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the kept runs with a new one in its place.

    >>> [run["cpu"] for run in merged([{"people": 1, "cpu": 5}, {"people": 2, "cpu": 7}], {"people": 1, "cpu": 6})]
    [7, 6]
    """
    others = [run for run in old if any(run.get(name) != new.get(name) for name in _KEY)]
    return [*others, new]


def main() -> None:
    """Measure what is asked, keep it and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--people", nargs="+", type=int, default=PEOPLE)
    parser.add_argument("--graph", default="generated")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--drawn", action="store_true", help="draw the reports instead of asking devices")
    parser.add_argument("--nulls", action="store_true", help="with null models and references")
    parser.add_argument("--panels", type=Path, help="folder for what a terminal would show of each run")
    parser.add_argument("--kept", type=Path, default=KEPT, help="file of the figures")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--compare", type=Path, metavar="BASE", help="only show what moved since this file")
    given = parser.parse_args()
    kept = json.loads(given.kept.read_text()) if given.kept.is_file() else {"runs": []}
    if given.compare:
        print("\n".join(compared(json.loads(given.compare.read_text()), kept)))
        return
    for method in () if given.page else given.methods:
        for people in given.people:
            chosen = ["--method", method, "--people", str(people), "--graph", given.graph]
            chosen += ["--epochs", str(given.epochs)]
            chosen += [f"--{name}" for name in ("drawn", "nulls") if getattr(given, name)]
            if given.panels:
                given.panels.mkdir(parents=True, exist_ok=True)
                chosen += ["--panel", str(given.panels.resolve() / f"{method}-{people}.txt")]
            run, here = measure(chosen), machine()
            kept = {"machine": kept.get("machine", here), "runs": kept["runs"]}
            if here != kept["machine"]:  # the machine of the file is that of all runs that do not name one
                run["machine"] = here
            kept["runs"] = merged(kept["runs"], run)
            given.kept.write_text(json.dumps(kept, indent=1) + "\n")
            print(f"{method:8} {people:>9,} people {run['cpu']:8.1f} CPU s {run['peak']:8,.0f} MiB, load {run['load']}",
                  flush=True)  # fmt: skip
    if given.kept == KEPT:
        write_page(kept)


if __name__ == "__main__":
    main()
