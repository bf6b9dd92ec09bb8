"""FedNova: its rounds are those of the paper, written out here in dense numpy, and FedAvg's where all steps are equal.

It covers ``curator/methods/federated/fedavg.py`` too.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from flwr.serverapp.strategy import FedAvg

from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.training_task import Task
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.federated import NormalisedAverage
from ldpsim.strategies.rounds.checkpoint import Standing, run_rounds
from ldpsim.strategies.rounds.training_grid import TrainingGrid
from tests.strategies.federated.test_scaffold import gradient

PEOPLE, D = 8, 20
TASK = Task("first", "own", D, 3, 3, 0.3, 5, scaling="unit")
NODES = {1: [1, 2, 3, 5, 8], 2: [2, 4, 5, 6, 7], 3: [1, 2, 3, 4, 5, 6, 7, 8]}


def trained(folder: Path, people: Population, strategy: FedAvg) -> np.ndarray:
    enrol(folder, people, policy_for_training(TASK, people.facts, answers=100), seed=4).close()
    grid = TrainingGrid(LocalGrid(folder, PEOPLE), train=lambda number: NODES[number])
    return run_rounds(strategy, grid, Standing(TASK.shape.initial(1, np.float64)), TASK.to_bytes(), rounds=len(NODES))


def of_the_paper(people: Population, strategy: NormalisedAverage) -> np.ndarray:
    """Equation 5 with a_i = (1, ..., 1) and equal weights: the sum of d_i = (x - y_i) / (lr t_i), times lr t."""
    x = TASK.shape.initial(1, np.float64)
    for number, nodes in NODES.items():
        steps = [strategy.steps(number, node) for node in nodes]
        directions = []
        for node, own in zip(nodes, steps, strict=True):
            y = x.copy()
            for _ in range(own):
                y -= TASK.lr * gradient(people, node - 1, y)
            directions.append((x - y) / (TASK.lr * own))
        x = x - TASK.lr * np.mean(steps) * np.mean(directions, axis=0)
    return x


def test_its_rounds_are_those_of_the_paper(people: Population, tmp_path: Path) -> None:
    strategy = NormalisedAverage(1, 5, 3)
    assert len({strategy.steps(1, node) for node in NODES[1]}) > 1
    expected = of_the_paper(people, strategy)
    assert np.abs(trained(tmp_path / "nova", people, strategy) - expected).max() < 1e-12
    plain = trained(tmp_path / "plain", people, NormalisedAverage(1, 5, 3, normalised=False))
    assert np.abs(plain - expected).max() > 1e-3  # power: the same updates without their weights
