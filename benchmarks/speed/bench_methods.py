"""The papers' methods against their published codes: CPU seconds of a run, on one thread.

    python -m benchmarks.speed.bench_methods [--large] [--data-dir DIR]

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
import multiprocessing
import os
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MIB = 1 << 20
LEAST_ROOM = 6 << 30


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


def measure(options: Mapping[str, Any], answers: Any) -> None:
    """Run once, warm, and put (CPU seconds, of the whole process, MiB above, MiB in all, accuracy) into a queue."""
    from devices import datasets
    from strategies import RunOptions, simulate
    from strategies.engines.usage import forget_peak, peak_rss

    common: dict[str, Any] = {"out": None, "reference": False, "nulls": False, "device": "cpu", "engine": "local"}
    warm = {key: value for key, value in options.items() if key not in ("dataset", "tuned", "split", "data_dir")}
    warm["settings"] = {**options.get("settings", {}), "epochs": "1"}
    if options["method"] == "rgnn":
        warm["settings"] |= {"m": "2", "C": "2", "group": "1"}
    simulate(RunOptions(dataset="generated", clients=60, **warm, **common))
    people = datasets.load(options["dataset"], data_dir=options.get("data_dir"))
    forget_peak()
    before, started = _status("VmRSS"), time.process_time()
    record = simulate(RunOptions(**options, **common)).record
    seconds = time.process_time() - started
    peak = peak_rss()
    answers.put((seconds, time.process_time(), (peak - before) / MIB, peak / MIB, record["accuracy"]["test"]))
    del people


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}")


def main() -> None:
    """Measure and print; exit 1 if a figure misses its mark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--data-dir", type=Path)
    given = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    if not Path("/proc/self/clear_refs").exists():
        raise SystemExit("peak memory is read from /proc: Linux only")
    spawn = multiprocessing.get_context("spawn")
    print(f"{platform.processor() or platform.machine()}, one thread; CPU seconds of a run (of the whole process)")
    missed = False
    for case in LARGE if given.large else CORA:
        answers = spawn.Queue()
        options = {**case.options, **({"data_dir": given.data_dir} if given.data_dir else {})}
        process = spawn.Process(target=measure, args=(options, answers))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit(f"{case.name}: failed")
        seconds, whole, above, peak, accuracy = answers.get()
        words = [f"{case.name}: {seconds:.1f} s ({whole:.1f} s), accuracy {100 * accuracy:.1f}"]
        if case.theirs is not None:
            ratio = seconds / case.theirs
            missed |= ratio > case.share
            words.append(f"theirs {case.theirs} s, ratio {ratio:.2f} (mark {case.share:g})")
        words.append(f"{above:.0f} MiB above the loaded data" + (f" (mark {case.most_mib:g})" if case.most_mib else ""))
        missed |= case.most_mib is not None and above > case.most_mib
        if given.large:
            words.append(f"{peak:.0f} MiB in all (mark {LEAST_ROOM / MIB:.0f})")
            missed |= peak * MIB > LEAST_ROOM
        print("; ".join(words), flush=True)
    if missed:
        raise SystemExit("a mark was missed")


if __name__ == "__main__":
    main()
