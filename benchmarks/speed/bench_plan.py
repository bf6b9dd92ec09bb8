"""Estimates of ``ldpsim plan`` beside runs: bytes, CPU seconds and memory at three sizes.

    python -m benchmarks.speed.bench_plan [--largest N]

Each run is a process of its own, on one thread, on ``generated`` without null models and reference. It ends with
exit code 1 if memory is off by more than a factor of 1.3, time by more than 1.5, or bytes by more than 2 %.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.speed.process import ONE_THREAD
from ldpsim.strategies.estimate.fits import asked_of, load_of
from ldpsim.strategies.estimate.graph_facts import known_before
from ldpsim.strategies.estimate.load import MEMORY_ERROR, TIME_ERROR, constants
from ldpsim.strategies.estimate.machine import calibration
from ldpsim.strategies.estimate.traffic import expected_traffic
from ldpsim.strategies.setup.options import RunOptions

SIZES = (3_000, 10_000, 30_000)
CASES: tuple[tuple[str, dict[str, Any]], ...] = (("hogs", {"eps_adjacency": 8.0, "eps_features": 0.8}), ("rgnn", {}),
                                                ("lpgnn", {}))  # fmt: skip
BYTES_ERROR = 1.02


def run(options: RunOptions) -> dict[str, Any]:
    """Run ``ldpsim run --json`` in a process of its own and return its result."""
    words = [sys.executable, "-m", "ldpsim.cli.main", "run", "--json", "--method", options.method, "--dataset",
             options.dataset, "--clients", str(options.clients), "--no-nulls", "--no-reference", "--device", "cpu",
             "--engine", "local"]  # fmt: skip
    for name in ("eps_adjacency", "eps_features"):
        value = getattr(options, name)
        words += [] if value is None else [f"--{name.replace('_', '-')}", repr(value)]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [*words, "--out", str(Path(folder) / "runs")],
            env={**os.environ, **ONE_THREAD},
            stdout=subprocess.PIPE,
            check=True,
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure and print; exit 1 if an estimate is off by more than its factor."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    largest = parser.parse_args().largest
    speed = calibration() / constants()["machine"]["calibration"]
    missed = False
    print("method  people   CPU s: run, plan, ratio   MiB: run, plan, ratio   bytes up: run, plan, ratio")
    for method, more in CASES:
        for n in (size for size in SIZES if size <= largest):
            options = RunOptions(method=method, dataset="generated", clients=n, nulls=False, reference=False, **more)
            facts = known_before(options)
            assert facts is not None
            load, traffic = load_of(options, facts, speed=speed), expected_traffic(asked_of(options, facts), facts)
            assert load is not None
            record = run(options)
            pairs = (
                (record["seconds"]["cpu"], load.total, TIME_ERROR),
                (record["memory"]["peak_rss_bytes"] / 2**20, load.memory_bytes / 2**20, MEMORY_ERROR),
                (record["communication"]["uplink_bytes_per_device"], traffic.up, BYTES_ERROR),
            )
            said = "   ".join(f"{seen:.4g} {planned:.4g} {planned / seen:.2f}" for seen, planned, _ in pairs)
            off = any(max(planned / seen, seen / planned) > factor for seen, planned, factor in pairs)
            missed |= off
            print(f"{method:6} {n:7,}   {said}{'   MISSED' if off else ''}", flush=True)
    if missed:
        raise SystemExit("an estimate is off by more than its factor")


if __name__ == "__main__":
    main()
