"""A FedAvg-MLP round over many devices: ours, and Flower's own simulation runtime on the same ClientApp.

    python -m benchmarks.speed.bench_federated [--devices 3000] [--features 1433] [--hidden 16] [--no-flower]
    python -m benchmarks.speed.bench_federated --rounds 100 --no-flower
    python -m benchmarks.speed.bench_federated --wire

Every device trains in every round, on its own features (``generated``), and enters its
answer in a ledger (``synchronous=FULL``). Ours: a fleet in one process under Flower's
FedAvg. Flower's: ``flwr run`` on the simulation runtime, one worker a core; its first
round, in which workers start, is left out. ``--wire`` measures bytes on the wire in a
deployment on loopback instead.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from flwr.serverapp.strategy import FedAvg

from benchmarks.speed.process import beside
from benchmarks.speed.wire_bytes import measure_wire
from ldpsim.devices.client_app import STATE
from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.training_task import Task
from ldpsim.strategies.engines.collect import quiet_flower
from ldpsim.strategies.engines.flower_job import JOB
from ldpsim.strategies.engines.flower_processes import Flower, app_folder
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.federated.fedavg import EVERYBODY
from ldpsim.strategies.flower_app.training_job import TrainingJob
from ldpsim.strategies.rounds.flower_rounds import run_rounds
from ldpsim.strategies.rounds.training_grid import TrainingGrid


def enrolled(folder: Path, people: Population, task: Task, rounds: int) -> State:
    """Fresh devices for a training."""
    return enrol(folder, people, policy_for_training(task, people.facts, answers=rounds), seed=1)


def ours(state: State, task: Task, rounds: int) -> tuple[list[float], np.ndarray]:
    """Seconds of every round in one process, and the weights."""
    nodes, ends = range(1, len(state) + 1), list[float]()
    grid = TrainingGrid(LocalGrid(state.folder, len(state)), train=lambda number: nodes)
    with quiet_flower():
        weights = run_rounds(FedAvg(**EVERYBODY), grid, task.shape.initial(0), task.to_bytes(), rounds=rounds,
                             after=lambda number, weights: ends.append(time.perf_counter()))  # fmt: skip
    return np.diff(ends).tolist(), weights


def flowers(state: State, task: Task, rounds: int, folder: Path) -> tuple[list[float], np.ndarray]:
    """Seconds of every round on Flower's simulation runtime, and the weights."""
    folder.mkdir()
    TrainingJob(task, task.shape.initial(0), len(state), rounds).save(folder)
    cores = os.cpu_count() or 1
    federation = f"num-supernodes={len(state)} client-resources-num-cpus=1 init-args-num-cpus={cores}"
    places = {JOB: str(folder), STATE: str(state.folder.resolve())}
    with Flower(simulation=True, log=folder / "flower.log", environment=places) as flower:
        run = flower.start_run(app_folder(flower.folder / "app", {}), {}, federation=federation)
        done = folder / "trained.json"
        flower.wait_until(done.exists, run, "Flower's run brought no weights", seconds=3600)
    return json.loads(done.read_text())["round_seconds"], np.load(folder / "trained.npy")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("devices", 3000), ("features", 1433), ("hidden", 16), ("rounds", 5), ("flower-rounds", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--no-flower", action="store_true")
    parser.add_argument("--wire", action="store_true")
    given = parser.parse_args()
    people = generate(given.devices, d=given.features, seed=0)
    task = Task("benchmark", "own", given.features, given.hidden, people.facts.classes, 0.3, 5, scaling="none")
    print(beside())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if given.wire:
            print(json.dumps(measure_wire(enrolled(folder / "wire", people, task, 3), task, seed=0), indent=1))
            return
        seconds, _ = ours(enrolled(folder / "ours", people, task, given.rounds), task, given.rounds)
        typical = statistics.median(seconds)
        print(f"ours: {typical:.2f} s a round (median of {given.rounds}), {sum(seconds):.1f} s in all")
        if given.no_flower:
            return
        rounds = given.flower_rounds
        theirs, other = flowers(enrolled(folder / "theirs", people, task, rounds), task, rounds, folder / "job")
        print(f"Flower's runtime: {', '.join(f'{second:.1f}' for second in theirs)} s")
        warm = statistics.median(theirs[1:] or theirs)
        print(f"ratio, warm rounds: {warm / typical:.1f}")
        _, again = ours(enrolled(folder / "again", people, task, rounds), task, rounds)
        print(f"largest difference of the weights after {rounds} rounds: {np.abs(again - other).max():.2g}")


if __name__ == "__main__":
    main()
