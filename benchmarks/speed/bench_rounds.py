"""Trainings in rounds beside their local steps alone, Flower's runtime and a collection, in CPU seconds of one thread.

    python -m benchmarks.speed.bench_rounds [--repeats 3] [--beside FOLDER] [PART ...]

Parts: ``answer``, ``collection``; ``flower``, ``twitch`` (needs that data set) and ``many`` take minutes and must be
named. ``answer`` trains 3,000 devices of Cora's width by ``fedavg-mlp``, everything between the strategy and the
ledgers included. ``collection`` is ``fedavg-mlp --clients 2000`` with its null models beside a ``hogs`` run. ``many``
are 100,000 devices, a tenth of them in each of 10 rounds, beside 10,000 of them. ``--beside`` runs the same with
another checkout of the program, in turn. Each measurement is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks import ROOT
from benchmarks.speed.process import ONE_THREAD, beside

DEVICES, WIDTH, CLASSES, WORDS = 3_000, 1_433, 7, 18  # of Cora
MIB = 1 << 20
Figures = dict[str, float]


def _training(folder: Path, devices: int, asked: int, rounds: int) -> tuple[Figures, Any, Any, Any]:
    """Train devices by FedAvg; return CPU seconds an answer, the people, the task, and the weights."""
    import numpy as np

    from ldpsim.curator.methods.base import Budget
    from ldpsim.curator.methods.federated.fedavg import FedAvgMLP
    from ldpsim.devices.datasets.generated import generate
    from ldpsim.devices.enrolment.state import enrol
    from ldpsim.devices.policy.policy import policy_for_training
    from ldpsim.devices.training_task import Task
    from ldpsim.strategies.engines.collect import quiet_flower
    from ldpsim.strategies.engines.grids import LocalGrid
    from ldpsim.strategies.engines.usage import cpu_seconds, forget_peak, peak_rss
    from ldpsim.strategies.federated import TrainingPlan, strategy_for
    from ldpsim.strategies.rounds.checkpoint import TrainingState, run_rounds
    from ldpsim.strategies.rounds.training_grid import TrainingGrid, draw_nodes

    people = generate(devices, d=WIDTH, classes=CLASSES, words=WORDS, seed=0)
    task = Task("bench".zfill(32), "own", WIDTH, 16, CLASSES, 0.3, 5, scaling="none")
    enrol(folder, people, policy_for_training(task, people.facts, answers=rounds), seed=0).close()
    nodes = list(range(1, devices + 1))
    strategy = strategy_for(FedAvgMLP(), TrainingPlan(task, Budget(1.0), nodes, devices, 0))
    start = task.shape.initial(0)
    forget_peak()
    with quiet_flower(), closing(LocalGrid(folder, devices)) as inner:
        grid = TrainingGrid(inner, train=lambda number: draw_nodes(nodes, asked / devices, [0, number]))
        began, wall = cpu_seconds(), time.perf_counter()
        weights = run_rounds(strategy, grid, TrainingState(start), task.to_bytes(), rounds=rounds)
        seen = {"wall": time.perf_counter() - wall, "cpu": cpu_seconds() - began, "peak": peak_rss() / MIB}
    if grid.tally.heard != rounds * asked or np.array_equal(weights, start):
        raise SystemExit("not every device answered")
    return {**seen, "answer": seen["cpu"] / grid.tally.heard}, people, task, weights


def measure_answer(folder: Path, devices: int = DEVICES, rounds: int = 10) -> Figures:
    """Return CPU seconds of an answer, and of its local steps alone."""
    import numpy as np

    from ldpsim.devices.data.population import records_of
    from ldpsim.devices.federated.members import stack_of

    seen, people, task, weights = _training(folder, devices, devices, rounds)
    shards = [range(at, min(at + 500, devices)) for at in range(0, devices, 500)]
    stacks = [stack_of(records_of(people, shard), task, np.dtype(np.float32)) for shard in shards]
    began = time.process_time()
    for _ in range(rounds):
        for stack in stacks:
            for _ in stack.trained(weights):  # each device's weights
                pass
    return {**seen, "steps": (time.process_time() - began) / (rounds * devices)}


def measure_many(folder: Path, devices: int) -> Figures:
    """Return the figures of 10 rounds in which a tenth of the devices answer."""
    return _training(folder, devices, devices // 10, 10)[0]


def measure_run(folder: Path, options: dict[str, Any]) -> Figures:
    """Return CPU seconds, wall seconds and peak memory of a run with its null models, without its imports."""
    from ldpsim.cli.imports import large_imports

    with large_imports():
        from ldpsim.strategies import RunOptions, simulate
    from ldpsim.strategies.engines.usage import cpu_seconds, peak_rss

    began, wall = cpu_seconds(), time.perf_counter()
    simulate(RunOptions(out=None, **options))
    return {"cpu": cpu_seconds() - began, "wall": time.perf_counter() - wall, "peak": peak_rss() / MIB}


def measured(root: Path, name: str, *words: str, threads: bool = False) -> Figures:
    """Return the figures of one measurement in a process of its own, with the program of a checkout."""
    with tempfile.TemporaryDirectory(prefix="ldpsim-bench-") as folder:
        script, state = str(root / "benchmarks" / "speed" / Path(__file__).name), f"{folder}/state"
        done = subprocess.run(
            [sys.executable, script, "--measure", name, "--state", state, *words],
            cwd=root, env={**os.environ, **({} if threads else ONE_THREAD), "PYTHONPATH": str(root)},
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def answer(root: Path) -> Figures:
    """An answer beside its local steps."""
    seen = measured(root, "answer")
    return {"us an answer": 1e6 * seen["answer"], "us its local steps": 1e6 * seen["steps"],
            "ratio": seen["answer"] / seen["steps"], "peak MiB": seen["peak"]}  # fmt: skip


def collection(root: Path) -> Figures:
    """A training with its null models beside a collection with its own."""
    training = measured(root, "run", "--options", json.dumps({"method": "fedavg-mlp", "clients": 2000}))
    once = measured(root, "run", "--options", json.dumps({"method": "hogs", "clients": 2000}))
    return {"fedavg-mlp CPU s": training["cpu"], "hogs CPU s": once["cpu"], "ratio": training["cpu"] / once["cpu"]}


def twitch(root: Path) -> Figures:
    """A training of 7,126 people with 3,170 features, with its null models."""
    options = {"method": "fedavg-mlp", "dataset": "twitch-engb"}
    return measured(root, "run", "--options", json.dumps(options), threads=True)


def many(root: Path) -> Figures:
    """A hundred thousand devices, and ten thousand."""
    few, all_ = (measured(root, "many", "--devices", str(devices)) for devices in (10_000, 100_000))
    return {"us an answer": 1e6 * all_["answer"], "beside 10,000": all_["answer"] / few["answer"],
            "wall s": all_["wall"], "peak MiB": all_["peak"]}  # fmt: skip


PARTS: dict[str, Callable[[Path], Figures]] = {
    "answer": answer, "collection": collection, "twitch": twitch, "many": many,
}  # fmt: skip
_NAMED_ONLY = ("twitch", "many")


def main() -> None:
    """Print a line a part and checkout."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART", default=[])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--beside", type=Path, metavar="FOLDER", help="also with the program of another checkout")
    parser.add_argument("--measure", choices=("answer", "run", "many"), help=argparse.SUPPRESS)
    for hidden in ("--state", "--options", "--devices"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.measure == "answer":
        print(json.dumps(measure_answer(Path(flags.state))))
    elif flags.measure == "run":
        print(json.dumps(measure_run(Path(flags.state), json.loads(flags.options))))
    elif flags.measure == "many":
        print(json.dumps(measure_many(Path(flags.state), int(flags.devices))))
    if flags.measure:
        return
    print(f"trainings in rounds, CPU seconds of one thread, medians of {flags.repeats}; {beside()}")
    roots = {"": ROOT, **({" (the other checkout)": flags.beside.resolve()} if flags.beside else {})}
    for part in flags.parts or [part for part in PARTS if part not in _NAMED_ONLY]:
        runs = [{name: PARTS[part](root) for name, root in roots.items()} for _ in range(flags.repeats)]
        for name in roots:
            middle = {key: statistics.median(run[name][key] for run in runs) for key in runs[0][name]}
            print(f"  {part}{name}: " + ", ".join(f"{key} {value:,.1f}" for key, value in middle.items()), flush=True)


if __name__ == "__main__":
    main()
