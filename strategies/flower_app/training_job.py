"""A federated training handed to Flower's own runtime or to a deployment: rounds of FedAvg on all nodes.

As with a collection (:mod:`strategies.engines.flower_job`) a job is a folder: ``training.json`` and
``start.npy`` are written by the one who asks, ``trained.json`` and ``trained.npy`` by the
ServerApp. The same task, ClientApp and strategy as on our own engines.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from flwr.serverapp import Grid

from devices.atomic_files import write_atomically
from devices.network import FloatArray
from devices.training_task import Task
from strategies.flower_app.roster import introduce, wait_for_nodes
from strategies.rounds.fedavg import run_rounds
from strategies.rounds.training_grid import TrainingGrid

_FIRST = 8  # nodes asked to introduce themselves before rounds are timed


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """Rounds of FedAvg-MLP on every node that connects.

    Args:
        task: What devices are asked.
        weights: The initial weights.
        nodes: How many nodes to wait for.
        rounds: How many rounds.
        timeout: Seconds after which a round's silent nodes are given up.
    """

    task: Task
    weights: FloatArray = field(repr=False)
    nodes: int
    rounds: int
    timeout: float = 3600.0

    def save(self, folder: Path) -> None:
        """Write the job to its folder."""
        np.save(folder / "start.npy", self.weights, allow_pickle=False)
        head = {"task": self.task.to_bytes().decode(), "nodes": self.nodes, "rounds": self.rounds,
                "timeout": self.timeout}  # fmt: skip
        write_atomically(folder / "training.json", json.dumps(head))

    @classmethod
    def load(cls, folder: Path) -> TrainingJob:
        """Read a job."""
        head = json.loads((folder / "training.json").read_text())
        weights = np.load(folder / "start.npy", allow_pickle=False)
        return cls(Task.from_bytes(head["task"].encode()), weights, head["nodes"], head["rounds"], head["timeout"])


def is_training(folder: Path) -> bool:
    """Whether the folder holds a training job."""
    return (folder / "training.json").is_file()


def run_training(grid: Grid, folder: Path) -> None:
    """Run a training job and write what came of it; TimeoutError where too few nodes connect."""
    job = TrainingJob.load(folder)
    nodes = wait_for_nodes(grid, job.nodes)
    introduce(grid, nodes[:_FIRST], timeout=job.timeout)  # the first messages wait until the runtime is up
    training = TrainingGrid(grid, train=lambda number: nodes)
    ends: list[float] = []
    weights = run_rounds(
        _strategy(), training, job.weights, job.task.to_bytes(), rounds=job.rounds,
        after=lambda number, weights: ends.append(time.perf_counter()),
    )  # fmt: skip
    np.save(folder / "trained.npy", weights, allow_pickle=False)
    found: dict[str, Any] = {
        "round_seconds": np.diff(ends).tolist(),
        "answered": len(training.tally.answered),
        "phases": {name: phase.to_dict() for name, phase in training.tally.phases.items()},
    }
    write_atomically(folder / "trained.json", json.dumps(found))


def _strategy() -> Any:
    from flwr.serverapp.strategy import FedAvg

    from strategies.rounds.fedavg import EVERYBODY

    return FedAvg(**EVERYBODY)
