"""FedNova: its rounds are those of the paper, written out here in dense numpy, and FedAvg's where all steps are equal.

It covers ``curator/methods/federated/fednova.py`` too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message, MessageType
from flwr.serverapp.strategy import FedAvg

from ldpsim.curator.methods.federated.fednova import FedNova
from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.federated.wire import STEPS, round_content, weights_record
from ldpsim.devices.network import softmax
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.training_task import Task
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.federated import EVERYBODY, NormalisedAverage
from ldpsim.strategies.rounds.training_grid import TrainingGrid, run_rounds
from tests.fleets import release_states

PEOPLE, D = 8, 20
TASK = Task("first", "own", D, 3, 3, 0.3, 5, scaling="unit")
NODES = {1: [1, 2, 3, 5, 8], 2: [2, 4, 5, 6, 7], 3: [1, 2, 3, 4, 5, 6, 7, 8]}


@pytest.fixture(scope="module")
def people() -> Population:
    return generate(PEOPLE, d=D, classes=3, seed=2, mean_degree=2.0, words=6)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    release_states()


def trained(folder: Path, people: Population, strategy: FedAvg) -> np.ndarray:
    enrol(folder, people, policy_for_training(TASK, people.facts, answers=100), seed=4).close()
    grid = TrainingGrid(LocalGrid(folder, PEOPLE), train=lambda number: NODES[number])
    return run_rounds(strategy, grid, TASK.shape.initial(1, np.float64), TASK.to_bytes(), rounds=len(NODES))


def step(people: Population, person: int, weights: np.ndarray) -> None:
    """Take one gradient step on the cross-entropy of a person, dense, in place."""
    record, x = people.record(person), np.zeros(D)
    x[record.feature_indices] = record.feature_values
    x /= np.linalg.norm(x)
    w1, b1, w2, b2 = TASK.shape.parts(weights)
    z = x @ w1 + b1
    error = softmax(np.maximum(z, 0) @ w2 + b2)
    error[record.label] -= 1
    back = (w2 @ error) * (z > 0)
    for part, slope in ((w1, np.outer(x, back)), (b1, back), (w2, np.outer(np.maximum(z, 0), error)), (b2, error)):
        part -= TASK.lr * slope


def of_the_paper(people: Population, strategy: NormalisedAverage) -> np.ndarray:
    """Equation 5 with a_i = (1, ..., 1) and equal weights: the sum of d_i = (x - y_i) / (lr t_i), times lr t."""
    x = TASK.shape.initial(1, np.float64)
    for number, nodes in NODES.items():
        steps = [strategy.steps(number, node) for node in nodes]
        directions = []
        for node, own in zip(nodes, steps, strict=True):
            y = x.copy()
            for _ in range(own):
                step(people, node - 1, y)
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


def test_equal_numbers_of_steps_are_fedavg_byte_for_byte(people: Population, tmp_path: Path) -> None:
    found = trained(tmp_path / "nova", people, NormalisedAverage(5, 5, 3))
    assert np.array_equal(found, trained(tmp_path / "plain", people, FedAvg(**EVERYBODY)))


def test_the_numbers_of_steps_are_drawn_by_round_and_node() -> None:
    strategy = NormalisedAverage(2, 5, 3)
    drawn = np.array([[strategy.steps(number, node) for node in range(1, 41)] for number in range(1, 41)])
    assert set(drawn.ravel()) == {2, 3, 4, 5}
    for axis in (0, 1):  # 40 equal draws of 4: 4e-24 each
        assert (drawn.max(axis=axis) > drawn.min(axis=axis)).all()
    counts = np.bincount(drawn.ravel())[2:]
    assert np.abs(counts - 400).max() < 4.9 * np.sqrt(1600 * 0.25 * 0.75)  # 1e-6 each
    assert (drawn == [[NormalisedAverage(2, 5, 3).steps(n, m) for m in range(1, 41)] for n in range(1, 41)]).all()


@pytest.mark.parametrize("steps", [0, 6, -1, 2.0, "2", True])
def test_a_number_of_steps_outside_the_task_is_refused(people: Population, tmp_path: Path, steps: object) -> None:
    state = enrol(tmp_path / "state", people, policy_for_training(TASK, people.facts, answers=9), seed=4)
    config = ConfigRecord({"task": TASK.to_bytes(), "server-round": 1, STEPS: steps})  # type: ignore[dict-item]
    message = Message(round_content(weights_record(TASK.shape.initial(1)), config), 1, MessageType.TRAIN)
    (reply,) = LocalGrid(state.folder, PEOPLE).send_and_receive([message])
    assert reply.has_error() and reply.error.code == Refusal.UNKNOWN_QUERY.value


@pytest.mark.parametrize("wrong", ["0", "6"])
def test_its_range_of_steps_is_checked(wrong: str) -> None:
    with pytest.raises(ValueError, match=f"--set least_steps={wrong}: must be 1..5"):
        FedNova.from_settings({"least_steps": wrong})
    given = FedNova.from_settings({"least_steps": "5", "normalised": "false"})
    assert given == FedNova(least_steps=5, normalised=False)
