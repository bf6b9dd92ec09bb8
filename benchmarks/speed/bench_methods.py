"""The papers' methods against their published codes: CPU seconds of a run, on one thread.

    python -m benchmarks.speed.bench_methods [--large]          (LDPSIM_DATA names the data sets)

Each run in a process of its own. What is timed is one run on Cora from its people to its result:
enrolling 2,708 devices, asking them, reconstruction and training, at the stored settings; imports and
reading the data are not, and were not in the published codes' figures (measured on another
machine: four cores, one thread, the method's run alone; no device is simulated there). Ratios to
those are therefore rough; both sums stand there. Memory is the peak above what was resident
once the data were loaded.

``--large``: Facebook (22,470 people) and GitHub (37,700), LPGNN (version text) and RGNN, with
their peak memory.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.speed.process import MIB, beside, cost_of
from ldpsim.strategies.setup.options import RunOptions

LEAST_ROOM = 6 << 30
COMMON: Mapping[str, Any] = {"out": None, "reference": False, "nulls": False, "device": "cpu", "engine": "local"}


@dataclass(frozen=True)
class TimedRun:
    """A run, the CPU seconds of the published code, and the share of them that it may take."""

    name: str
    options: Mapping[str, Any]
    theirs: float | None = None
    share: float = 1.0
    most_mib: float | None = None


CORA = (
    TimedRun("lpgnn, Cora, eps_x 1, eps_y 1",
         {"method": "lpgnn", "dataset": "cora", "eps_features": 1.0, "eps_labels": 1.0, "tuned": True}, 17.7, 0.5),
    TimedRun("rgnn, Cora, eps_x 1, eps_y 3",
         {"method": "rgnn", "dataset": "cora", "eps_features": 1.0, "eps_labels": 3.0, "tuned": True}, 1.5),
    TimedRun("blink (hard), Cora, epsilon 5",
         {"method": "blink", "dataset": "cora", "epsilon": 5.0, "split": "split42", "tuned": True}, 24.6, 0.5, 110),
    TimedRun("solitude, Cora, eps_a 8, eps_x 1",
         {"method": "solitude", "dataset": "cora", "eps_adjacency": 8.0, "eps_features": 1.0, "tuned": True},
         50.5, 0.2),
)  # fmt: skip
_TEXT = {"method": "lpgnn", "epsilon": 1.0, "gnn": "gcn", "tuned": True, "settings": {"version": "text"}}
_BARE = {"method": "rgnn", "eps_features": 1.0, "eps_labels": 3.0}
LARGE = (
    TimedRun("lpgnn (text), Facebook", {**_TEXT, "dataset": "facebook"}),
    TimedRun("rgnn, Facebook", {**_BARE, "dataset": "facebook", "tuned": True}),
    TimedRun("lpgnn (text), GitHub", {**_TEXT, "dataset": "github"}),
    TimedRun("rgnn, GitHub", {**_BARE, "dataset": "github", "settings": {"group": "100", "Kx": "4", "Ky": "4"}}),
)


def load(options: Mapping[str, Any]) -> RunOptions:
    """Read the data and run once, warm, on a few people; return the options of the run."""
    from ldpsim.devices import datasets
    from ldpsim.strategies import simulate

    warm = {key: value for key, value in options.items() if key not in ("dataset", "tuned", "split")}
    warm["settings"] = {**options.get("settings", {}), "epochs": "1"}
    if options["method"] == "rgnn":
        warm["settings"] |= {"m": "2", "C": "2", "group": "1"}
    simulate(RunOptions(dataset="generated", clients=60, **warm, **COMMON))
    datasets.load(options["dataset"])
    return RunOptions(**options, **COMMON)


def accuracy(options: RunOptions) -> float:
    """Run and return the test accuracy."""
    from ldpsim.strategies import simulate

    return float(simulate(options).record["accuracy"]["test"])


def main() -> None:
    """Measure and print; exit 1 if a figure misses its mark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true")
    given = parser.parse_args()
    if not Path("/proc/self/clear_refs").exists():
        raise SystemExit("peak memory is read from /proc: Linux only")
    print(f"{beside()}, one thread; CPU seconds of a run (of the whole process)")
    missed = False
    for case in LARGE if given.large else CORA:
        cost = cost_of(partial(load, case.options), accuracy)
        seconds, above, peak = cost.cpu, cost.above / MIB, cost.peak
        words = [f"{case.name}: {seconds:.1f} s ({cost.whole:.1f} s), accuracy {100 * cost.result:.1f}"]
        if case.theirs is not None:
            ratio = seconds / case.theirs
            missed |= ratio > case.share
            words.append(f"theirs {case.theirs} s, ratio {ratio:.2f} (mark {case.share:g})")
        words.append(f"{above:.0f} MiB above the loaded data" + (f" (mark {case.most_mib:g})" if case.most_mib else ""))
        missed |= case.most_mib is not None and above > case.most_mib
        if given.large:
            words.append(f"{peak / MIB:.0f} MiB in all (mark {LEAST_ROOM / MIB:.0f})")
            missed |= peak > LEAST_ROOM
        print("; ".join(words), flush=True)
    if missed:
        raise SystemExit("a mark was missed")


if __name__ == "__main__":
    main()
