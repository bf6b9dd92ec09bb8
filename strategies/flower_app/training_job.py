"""Federated training on Flower's own runtime or in a deployment: rounds of FedAvg on all nodes.

As for a collection (:mod:`ldpsim.strategies.engines.flower_job`), a job is a folder. The caller writes
``training.json`` and ``start.npy``, the ServerApp ``trained.json`` and ``trained.npy``. Task,
ClientApp and strategy are those of our own engines.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg

from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.network import FloatArray
from ldpsim.devices.training_task import Task
from ldpsim.strategies.federated.fedavg import EVERYBODY
from ldpsim.strategies.flower_app.roster import ready_nodes
from ldpsim.strategies.rounds.flower_rounds import run_rounds
from ldpsim.strategies.rounds.replies import Replies, stopping_for_good
from ldpsim.strategies.rounds.training_grid import TrainingGrid


@dataclass(frozen=True, eq=False)
class TrainingJob:
    """Rounds of FedAvg-MLP on every node that connects.

    Args:
        task: The task of the devices.
        weights: The initial weights.
        nodes: Number of nodes to wait for.
        rounds: Number of rounds.
        timeout: Seconds to wait for the nodes, and for their answers in a round; a node that takes longer is silent.
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
    """Run a training job and write its result.

    Raises:
        TimeoutError: if too few nodes connect.
        TooManyFailed: where too many nodes of a round fail, and each time that the job is run again.
    """
    job = TrainingJob.load(folder)
    nodes = ready_nodes(grid, job.nodes, timeout=job.timeout)
    replies = Replies(job.task, name=lambda node: f"node {node}")
    training = TrainingGrid(grid, train=lambda number: nodes, replies=replies)
    ends: list[float] = []
    with stopping_for_good(folder / "stopped"):
        weights = run_rounds(
            FedAvg(**EVERYBODY), training, job.weights, job.task.to_bytes(), rounds=job.rounds, timeout=job.timeout,
            after=lambda number, weights: ends.append(time.perf_counter()),
        )  # fmt: skip
    np.save(folder / "trained.npy", weights, allow_pickle=False)
    found: dict[str, Any] = {
        "round_seconds": np.diff(ends).tolist(),
        "answered": len(training.tally.answered),
        "phases": {name: phase.to_dict() for name, phase in training.tally.phases.items()},
    }
    write_atomically(folder / "trained.json", json.dumps(found))
