"""Rounds of SCAFFOLD and FedNova are those of the papers, written out here in dense numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType
from flwr.serverapp.strategy import FedAvg

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.federated.local_steps import variate_size
from ldpsim.devices.federated.wire import record_of, round_content, weights_record
from ldpsim.devices.network import softmax
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.training_task import GaussianUpdate, Task
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.federated import EVERYBODY, NormalisedAverage, Scaffold
from ldpsim.strategies.rounds.checkpoint import TrainingState, run_rounds
from ldpsim.strategies.rounds.training_grid import TrainingGrid

PEOPLE, D = 8, 20
TASK = Task("first", "own", D, 3, 3, 0.3, 4, scaling="unit")
REACH = TASK.steps * TASK.lr
Nodes = Callable[[int], Sequence[int]]


@pytest.fixture(scope="module")
def people() -> Population:
    return generate(PEOPLE, d=D, classes=3, seed=2, mean_degree=2.0, words=6)


def everybody(number: int) -> Sequence[int]:
    return range(1, PEOPLE + 1)


def some(number: int) -> Sequence[int]:
    return [1, 2, 3, 5, 8] if number % 2 else [2, 4, 5, 6, 7]


def alike(people: Population) -> Population:
    """Return people who all have the record of the first one."""
    row = slice(0, people.feature_indptr[1])
    count = row.stop
    return replace(
        people, feature_indices=np.tile(people.feature_indices[row], PEOPLE), labels=np.full(PEOPLE, people.labels[0]),
        feature_values=np.tile(people.feature_values[row], PEOPLE), feature_indptr=np.arange(PEOPLE + 1) * count,
    )  # fmt: skip


def trained(folder: Path, people: Population, strategy: FedAvg, nodes: Nodes, rounds: int = 3) -> np.ndarray:
    enrol(folder, people, policy_for_training(TASK, people.facts, answers=100), seed=4).close()
    grid = TrainingGrid(LocalGrid(folder, PEOPLE), train=nodes)
    return run_rounds(strategy, grid, TrainingState(TASK.shape.initial(1, np.float64)), TASK.to_bytes(), rounds=rounds)


def gradient(people: Population, person: int, weights: np.ndarray) -> np.ndarray:
    """Return the gradient of the cross-entropy of one person, dense."""
    record, out = people.record(person), np.zeros_like(weights)
    x = np.zeros(D)
    x[record.feature_indices] = record.feature_values
    x /= np.linalg.norm(x)
    (w1, b1, w2, b2), (g1, h1, g2, h2) = TASK.shape.parts(weights), TASK.shape.parts(out)
    z = x @ w1 + b1
    error = softmax(np.maximum(z, 0) @ w2 + b2)
    error[record.label] -= 1
    back = (w2 @ error) * (z > 0)
    g1[...], h1[...], g2[...], h2[...] = np.outer(x, back), back, np.outer(np.maximum(z, 0), error), error
    return out


def of_the_paper(people: Population, nodes: Nodes, rounds: int) -> np.ndarray:
    """Algorithm 1 with option II: everybody keeps a dense control variate, and sends two differences."""
    x = TASK.shape.initial(1, np.float64)
    c, own = np.zeros_like(x), np.zeros((PEOPLE, len(x)))
    for number in range(1, rounds + 1):
        models, variates = [], []
        for person in (node - 1 for node in nodes(number)):
            y = x.copy()
            for _ in range(TASK.steps):
                y -= TASK.lr * (gradient(people, person, y) - own[person] + c)
            new = own[person] - c + (x - y) / REACH
            models.append(y - x)
            variates.append(new - own[person])
            own[person] = new
        x = x + np.mean(models, axis=0)
        c = c + len(models) / PEOPLE * np.mean(variates, axis=0)
    return x


@pytest.mark.parametrize("nodes", [everybody, some])
def test_two_rounds_and_more_are_those_of_the_paper(people: Population, tmp_path: Path, nodes: Nodes) -> None:
    for rounds in (2, 5):
        expected = of_the_paper(people, nodes, rounds)
        found = trained(tmp_path / str(rounds), people, Scaffold(PEOPLE, REACH), nodes, rounds)
        assert np.abs(found - expected).max() < 1e-12
        plain = trained(tmp_path / f"plain-{rounds}", people, FedAvg(**EVERYBODY), nodes, rounds)
        assert np.abs(plain - expected).max() > 1e-3  # power: the correction moves the weights


def test_devices_with_one_record_train_as_with_fedavg(people: Population, tmp_path: Path) -> None:
    found, plain = (trained(tmp_path / str(place), alike(people), strategy, everybody)
                    for place, strategy in enumerate((Scaffold(PEOPLE, REACH), FedAvg(**EVERYBODY))))  # fmt: skip
    assert np.abs(found - plain).max() < 1e-13 and not np.array_equal(found, TASK.shape.initial(1, np.float64))


def enrolled(folder: Path, people: Population, task: Task) -> State:
    return enrol(folder, people, policy_for_training(task, people.facts, answers=100), seed=4)


def asked(
    task: Task, *, own: ArrayRecord | None = None, control: np.ndarray | None = None, kind: str = "train"
) -> Message:
    weights = task.shape.initial(3)
    config = ConfigRecord({"task": task.to_bytes(), "server-round": 1})
    variate = weights_record(weights if control is None else control)
    return Message(round_content(weights_record(weights), config, own, variate), 1, kind)


@pytest.mark.parametrize("wrong", ["short", "not a number", "variate", "dtype", "evaluate", "noise", "neighbours"])
def test_a_control_variate_goes_with_an_update_in_clear_alone(people: Population, tmp_path: Path, wrong: str) -> None:
    """Beside an update under noise it would be an exact function of the record."""
    noise = GaussianUpdate.from_epsilon(2.0, clip=0.5, delta=1e-3) if wrong == "noise" else None
    task = replace(TASK, noise=noise, sees="ego" if wrong == "neighbours" else "own")
    state = enrolled(tmp_path / "state", people, task)
    given = np.zeros(variate_size(task), np.float32)
    control = np.zeros(task.shape.size + (wrong == "variate"), np.float64 if wrong == "dtype" else np.float32)
    if wrong == "not a number":
        given[3] = np.nan
    own = record_of(variate=given[: -1 if wrong == "short" else None])
    message = asked(task, own=own, control=control, kind=MessageType.EVALUATE if wrong == "evaluate" else "train")
    (reply,) = LocalGrid(state.folder, PEOPLE).send_and_receive([message])
    assert reply.has_error() and reply.error.code == Refusal.UNKNOWN_QUERY.value
    assert not state.ledger(0).answers(0)


FEW_STEPS = Task("first", "own", D, 3, 3, 0.3, 5, scaling="unit")
NOVA_NODES = {1: [1, 2, 3, 5, 8], 2: [2, 4, 5, 6, 7], 3: [1, 2, 3, 4, 5, 6, 7, 8]}


def nova_trained(folder: Path, people: Population, strategy: FedAvg) -> np.ndarray:
    enrol(folder, people, policy_for_training(FEW_STEPS, people.facts, answers=100), seed=4).close()
    grid = TrainingGrid(LocalGrid(folder, PEOPLE), train=lambda number: NOVA_NODES[number])
    return run_rounds(
        strategy,
        grid,
        TrainingState(FEW_STEPS.shape.initial(1, np.float64)),
        FEW_STEPS.to_bytes(),
        rounds=len(NOVA_NODES),
    )


def nova_of_the_paper(people: Population, strategy: NormalisedAverage) -> np.ndarray:
    """Equation 5 with a_i = (1, ..., 1) and equal weights: the sum of d_i = (x - y_i) / (lr t_i), times lr t."""
    x = FEW_STEPS.shape.initial(1, np.float64)
    for number, nodes in NOVA_NODES.items():
        steps = [strategy.steps(number, node) for node in nodes]
        directions = []
        for node, own in zip(nodes, steps, strict=True):
            y = x.copy()
            for _ in range(own):
                y -= FEW_STEPS.lr * gradient(people, node - 1, y)
            directions.append((x - y) / (FEW_STEPS.lr * own))
        x = x - FEW_STEPS.lr * np.mean(steps) * np.mean(directions, axis=0)
    return x


def test_its_rounds_are_those_of_the_paper(people: Population, tmp_path: Path) -> None:
    strategy = NormalisedAverage(1, 5, 3)
    assert len({strategy.steps(1, node) for node in NOVA_NODES[1]}) > 1
    expected = nova_of_the_paper(people, strategy)
    assert np.abs(nova_trained(tmp_path / "nova", people, strategy) - expected).max() < 1e-12
    plain = nova_trained(tmp_path / "plain", people, NormalisedAverage(1, 5, 3, normalised=False))
    assert np.abs(plain - expected).max() > 1e-3  # power: the same updates without their weights
