"""Seconds and memory of one collection in one process.

    python -m benchmarks.speed.bench_collection [--devices 3000] [--beside FOLDER]
    python -m benchmarks.speed.bench_collection --devices 100000 --repeats 1
    python -m benchmarks.speed.bench_collection --devices 100000 --question labels --repeats 1
    python -m benchmarks.speed.bench_collection --devices 1000000 --question labels --cold --repeats 1
    python -m benchmarks.speed.bench_collection --devices 1000000 --asked 20480 --eps-adjacency 8 --cold

Every device reports an adjacency row by randomised response and 256 features by the 1-bit
mechanism (``--question labels``: the features, and its label by GRR). The reports are decoded
as they come, and that is measured too; the ledger is ``synchronous=FULL``. Cold: everybody releases. Replay: the same
question again, from the ledgers. Each measurement is a process of its own; memory is its
peak resident set above that before the collection, with everything imported and enrolled.
``--asked`` enrols and asks the first devices alone, whose rows are as long as all people make them.
``--workers`` says how many processes answer; processor time is that of all of them. ``--beside`` measures another
checkout of the program in turn with this one, compares the reports and prints the ratio of the processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks import ROOT

EPS_ADJACENCY, EPS_FEATURES, EPS_LABEL = 7.2, 0.8, 1.0
COLLECTION = "bench".zfill(32)  # as long as that of a run
MIB = 1 << 20


def resident() -> int:
    """Return the resident memory of this process now, in bytes."""
    return int(psutil.Process().memory_info().rss)


def measure(flags: argparse.Namespace) -> dict[str, Any]:
    """Enrol, collect, ask again; run in a fresh process."""
    people, folder = flags.devices, flags.state
    devices = flags.asked or people
    from ldpsim.curator.methods.base import Question
    from ldpsim.devices.datasets.generated import generate
    from ldpsim.devices.enrolment.state import State, enrol
    from ldpsim.devices.mechanisms import GRR, OneBit, RandomizedResponse
    from ldpsim.devices.policy.policy import policy_for
    from ldpsim.devices.query import Ask, Query
    from ldpsim.strategies.engines.collect import collect
    from ldpsim.strategies.engines.usage import cpu_seconds, forget_peak, peak_rss
    from ldpsim.strategies.results.lifetime import read_ledgers

    population = generate(people, seed=flags.seed)
    facts = population.facts
    row = RandomizedResponse.from_epsilon(flags.eps_adjacency, n=facts.n)
    features = Ask("features", (OneBit.from_epsilon(EPS_FEATURES, d=facts.d),))
    label = Ask("label", (GRR.from_epsilon(EPS_LABEL, categories=facts.classes),))
    query = Query(
        COLLECTION, ((Ask("adjacency", (row,)), features) if flags.question == "rows" else (features, label),)
    )
    began = cpu_seconds()
    residents = range(devices) if flags.asked else None
    enrol(folder, population, policy_for([query], facts), seed=flags.seed, residents=residents).close()
    result: dict[str, Any] = {"enrol": cpu_seconds() - began}
    del population
    for name in ("cold",) if flags.cold else ("cold", "replay"):
        result["peak"] = max(result.get("peak", 0), peak_rss())
        forget_peak()
        before, wall, cpu = resident(), time.perf_counter(), cpu_seconds()
        question = Question(query, np.arange(devices) if flags.asked else None)
        collected = collect(folder, [question], devices=people, engine="local", facts=facts, workers=flags.workers)
        result[name] = collected.seconds
        result[f"{name}_wall"] = time.perf_counter() - wall
        result[f"{name}_cpu"] = cpu_seconds() - cpu
        result[f"{name}_peak"] = peak_rss()
        result[f"{name}_memory"] = result[f"{name}_peak"] - before
        result[f"{name}_kept"] = resident() - before
        done = collected.reported if name == "cold" else collected.replayed
        if done != devices:
            raise SystemExit(f"{devices - done} of {devices} devices did not answer: {dict(collected.refused)}")
        if collected.reports_sha256 != result.get("digest", collected.reports_sha256):
            raise SystemExit("the replays are other bytes than the reports")
        result["digest"], result["uplink"] = collected.reports_sha256, collected.uplink_bytes
    began = cpu_seconds()
    if not read_ledgers(state := State(folder), None)[0].figures()["complete"]:
        raise SystemExit("a ledger cannot be read whole")
    result["lifetime"] = cpu_seconds() - began
    state.close()
    result["ledger"] = sum(file.stat().st_size for file in folder.glob("ledger*")) / devices
    result["folder"] = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / devices
    result["peak"] = max(result["peak"], peak_rss())
    return result


def in_a_process(flags: argparse.Namespace, root: Path) -> dict[str, Any]:
    """Run :func:`measure` in an interpreter of its own, with the program of a checkout."""
    with tempfile.TemporaryDirectory(prefix="ldpsim-bench-") as folder:
        arguments = ["--devices", str(flags.devices), "--seed", str(flags.seed), "--question", flags.question,
                     "--measure", "--state", f"{folder}/state",
                     "--eps-adjacency", str(flags.eps_adjacency), "--workers", str(flags.workers),
                     *(["--cold"] if flags.cold else []),
                     *(["--asked", str(flags.asked)] if flags.asked else [])]  # fmt: skip
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)}
        done = subprocess.run(
            [sys.executable, str(Path(__file__).resolve()), *arguments],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=root,
            env=environment,
        )
        return json.loads(done.stdout.splitlines()[-1])


def line(name: str, result: dict[str, Any], which: str, devices: int) -> None:
    """Print one round, if it was made."""
    if which not in result:
        return
    seconds = result[which]
    print(
        f"  {name:<14} {seconds:7.3f} s  {devices / seconds:8,.0f} devices/s"
        f"  {1e6 * result[f'{which}_cpu'] / devices:6.0f} us CPU a device"
        f"  peak RSS {result[f'{which}_peak'] / MIB:.0f} MiB, +{result[f'{which}_memory'] / MIB:.0f}"
        f" (+{result[f'{which}_kept'] / MIB:.0f} after)"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=3000)
    parser.add_argument("--asked", type=int, metavar="N", help="enrol and ask the first N devices of them alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3, help="processes measured; the fastest cold round counts")
    parser.add_argument("--question", choices=("rows", "labels"), default="rows")
    parser.add_argument("--eps-adjacency", type=float, default=EPS_ADJACENCY)
    parser.add_argument("--workers", type=int, default=1, help="processes that answer, from 50,000 devices on")
    parser.add_argument("--cold", action="store_true", help="do not ask again")
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="also with the program of another checkout")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--state", type=Path, help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.measure:
        print(json.dumps(measure(flags)))
        return
    n = flags.devices
    text = (
        f"{n:,}-bit rows at epsilon {flags.eps_adjacency:g}, 256 features"
        if flags.question == "rows"
        else "256 features, label"
    )
    who = f"{flags.asked:,} of {n:,}" if flags.asked else f"{n:,}"
    n = flags.asked or n
    print(f"collection of {who} devices, {text}, ledger synchronous=FULL, decoded")
    print(
        f"{flags.workers} of {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {platform.python_version()}"
    )
    roots = {"local": ROOT, **({"beside": flags.beside.resolve()} if flags.beside else {})}
    pairs = [{name: in_a_process(flags, root) for name, root in roots.items()} for _ in range(flags.repeats)]
    best = min((pair["local"] for pair in pairs), key=lambda run: run["cold"])
    line("cold", best, "cold", n)
    line("replay", best, "replay", n)
    print(f"  CPU: enrolment {best['enrol']:.2f} s, losses read from the ledgers {best['lifetime']:.2f} s; "
          f"process peak RSS {best['peak'] / MIB:.0f} MiB")  # fmt: skip
    print(f"  bytes a device: {best['uplink'] / n:,.0f} up, ledger {best['ledger']:,.0f}, folder {best['folder']:,.0f}")
    if not flags.beside:
        return
    other = min((pair["beside"] for pair in pairs), key=lambda run: run["cold"])
    line("beside, cold", other, "cold", n)
    line("beside, replay", other, "replay", n)
    if other["digest"] != best["digest"]:
        raise SystemExit("the reports of the other checkout are others")
    for name in (name for name in ("cold", "replay", "lifetime") if name in other):
        key = name if name == "lifetime" else f"{name}_cpu"
        ratio = statistics.median(pair["beside"][key] / pair["local"][key] for pair in pairs)
        print(f"  the other checkout, {name}: {ratio:.2f} x the processor time (median of {len(pairs)} pairs)")


if __name__ == "__main__":
    main()
