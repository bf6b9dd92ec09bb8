"""Federated mode without noise: a gradient reveals features and label, and an evaluation the label."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message

from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.federated.wire import round_content, weights_record
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.training_task import Task
from ldpsim.strategies.results.lifetime import read_ledgers
from tests.fleets import fleet_of
from tests.strategies.attacks.adversaries.other_attacks import crafted_models

HIDDEN = 4

Ask = Callable[..., list[Message]]


@pytest.fixture
def training(tmp_path: Path, people: Population) -> Callable[..., tuple[Any, Ask]]:
    """Enrol everybody for a training, and send each a model."""

    def make() -> tuple[Any, Ask]:
        task = Task("t", "own", people.facts.d, HIDDEN, people.facts.classes, 0.1, 1, "none")
        policy = policy_for_training(task, people.facts, answers=10)
        enrol(tmp_path / "federated", people, policy, seed=5).close()

        def ask(weights: np.ndarray, kind: str) -> list[Message]:
            config = ConfigRecord({"task": task.to_bytes(), "server-round": 1})
            content = round_content(weights_record(weights), config)
            messages = [Message(content, person + 1, kind) for person in range(len(people))]
            replies = {r.metadata.src_node_id: r for r in fleet_of(tmp_path / "federated").answer(messages)}
            return [replies[person + 1] for person in range(len(people))]

        return task, ask

    return make


def crafted(task: Any) -> np.ndarray:
    """A model whose first hidden unit is always on: its gradient is the features, times one number."""
    weights = np.zeros(task.shape.size)
    _, b1, w2, _ = task.shape.parts(weights)
    b1[0] = 5.0
    w2[0] = np.arange(task.classes)
    return weights


def leaked(task: Any, before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, int]:
    old, new = task.shape.parts(before), task.shape.parts(after)
    change = new[1] - old[1]
    unit = int(np.argmax(np.abs(change)))  # a step of its weights, divided by that of its bias, is the features
    return (new[0].T - old[0].T)[unit] / change[unit], int(np.argmax(new[3] - old[3]))


def truth(people: Population, person: int) -> np.ndarray:
    record = people.record(person)
    features = np.zeros(people.facts.d)
    features[record.feature_indices] = record.feature_values
    return features


def test_one_update_in_clear_is_the_record(training: Callable[..., tuple[Any, Ask]], people: Population) -> None:
    task, ask = training()
    weights = crafted(task)
    for person, reply in enumerate(ask(weights, "train")):
        features, label = leaked(task, weights, reply.content["arrays"]["weights"].numpy())  # type: ignore[index]
        assert np.allclose(features, truth(people, person), atol=1e-6)
        assert label == people.record(person).label


def test_one_evaluation_of_each_constant_model_is_the_label(
    training: Callable[..., tuple[Any, Ask]], people: Population, tmp_path: Path
) -> None:
    task, ask = training()
    found = np.zeros((len(people), task.classes))
    for number, (_, bias) in enumerate(crafted_models(task.classes, task.d)):
        weights = np.zeros(task.shape.size)
        task.shape.parts(weights)[3][:] = bias
        for person, reply in enumerate(ask(weights, "evaluate")):
            found[person, number] = reply.content["metrics"]["accuracy"]  # type: ignore[index]
    assert np.array_equal(found.argmax(axis=1), people.labels) and (found.sum(axis=1) == 1).all()
    # The ledger says so too: nothing bounds what was released.
    assert read_ledgers(State(tmp_path / "federated"), None)[0].figures()["user"] == {"max": None, "mean": None}
