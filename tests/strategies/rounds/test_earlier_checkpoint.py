"""A checkpoint that an earlier version wrote (``data/``, two of four rounds of SCAFFOLD) is gone on with."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.network import FloatArray
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.training_task import Task
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.federated import Scaffold
from ldpsim.strategies.rounds.checkpoint import CheckpointFile, TrainingState, run_rounds
from ldpsim.strategies.rounds.training_grid import TrainingGrid
from ldpsim.strategies.seeded import seeded

PEOPLE, D = 12, 16
TASK = Task("first", "own", D, 2, 3, 0.3, 3)


def trained(folder: Path, start: TrainingState, file: CheckpointFile | None = None) -> tuple[FloatArray, TrainingGrid]:
    people = generate(PEOPLE, d=D, classes=3, seed=2, words=4)
    enrol(folder, people, policy_for_training(TASK, people.facts, answers=9), seed=4).close()
    grid = TrainingGrid(
        LocalGrid(folder, PEOPLE), train=lambda r: [n for n in range(1, PEOPLE + 1) if n % 3 != r % 3]
    )  # fmt: skip
    with seeded(1):
        strategy = Scaffold(PEOPLE, TASK.steps * TASK.lr)
        return run_rounds(strategy, grid, start, TASK.to_bytes(), rounds=4, file=file), grid


def test_it_ends_with_the_weights_and_counts_of_a_training_that_was_not_stopped(tmp_path: Path) -> None:
    for name in ("checkpoint-0.npz", "checkpoint-0.models"):
        shutil.copy(Path(__file__).with_name("data") / name, tmp_path / name)
    file = CheckpointFile(tmp_path, 0, ("training", "first"))
    start = file.load(TASK.shape.size)
    assert start is not None and start.done == 2 and start.tally.heard == 16
    found, resumed = trained(tmp_path / "state", start, file)
    whole, grid = trained(tmp_path / "whole", TrainingState(TASK.shape.initial(1)))
    assert np.abs(found - whole).max() < 1e-6 and np.abs(found - start.weights).max() > 1e-3
    assert resumed.tally == grid.tally
