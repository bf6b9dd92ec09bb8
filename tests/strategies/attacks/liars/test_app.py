"""The edited ClientApp in each mode: reports, raw records, and rounds of a training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message, MessageType

from devices.data.population import Population
from devices.device import unpack_report
from devices.enrolment.state import enrol
from devices.federated.wire import WEIGHTS, round_content, weights_record
from devices.policy.policy import policy_for, policy_for_training
from devices.raw_record import hand_over, read_record
from devices.training_task import GaussianUpdate, Task
from devices.wire import query_content, read_reply
from strategies.attacks.liars.app import LyingApp, answer_all, secret_of
from strategies.attacks.liars.attacks import ATTACKS
from strategies.attacks.liars.plan import LyingPlan
from strategies.attacks.liars.updates import TIMES, towards
from strategies.engines.flower_internals import set_message_id

LIARS = np.array([2, 17])


def plan(population: Population, attack: str, lie: str, norm: float | None = None) -> LyingPlan:
    return LyingPlan(ATTACKS[attack], lie, "inflate", "all", population, LIARS, np.array([4]), target_class=1, seed=3,
                norm=norm)  # fmt: skip


def sent(content: object, kind: str, device: int) -> Message:
    message = Message(content, device + 1, kind)  # type: ignore[arg-type]
    set_message_id(message, str(device))
    return message


def test_a_record_that_is_handed_over_is_another_one(population: Population, tmp_path: Path) -> None:
    query = hand_over("first")
    policy = policy_for([query], population.facts, mode="owner")
    enrol(tmp_path / "state", population, policy, seed=5)
    told = {}
    for device in LIARS.tolist():
        app = LyingApp(plan(population, "one-label", "response"))
        (answer,) = answer_all(app, tmp_path / "state", [sent(query_content(query), "query.handover", device)])
        reply = read_reply(answer)
        assert isinstance(reply, tuple)
        told[device] = read_record(unpack_report(reply[1].data, query), population.facts)
    for device, record in told.items():
        true = population.record(device)
        assert record.label == 1
        assert record.neighbours.tolist() == true.neighbours.tolist()
        assert record.feature_indices.tolist() == true.feature_indices.tolist()


def task_of(population: Population, noise: GaussianUpdate | None = None) -> Task:
    facts = population.facts
    return Task("first", "own", facts.d, 4, facts.classes, 0.5, 2, noise=noise)


def updates(population: Population, folder: Path, task: Task, lies: LyingPlan) -> list[np.ndarray]:
    """Return the changes of the weights that the liars send."""
    enrol(folder, population, policy_for_training(task, population.facts, answers=3), seed=5)
    start = task.shape.initial(1)
    content = round_content(weights_record(start), ConfigRecord({"task": task.to_bytes(), "server-round": 1}))
    messages = [sent(content, MessageType.TRAIN, device) for device in LIARS.tolist()]
    replies = answer_all(LyingApp(lies), folder, messages)
    return [reply.content.array_records["arrays"][WEIGHTS].numpy() - start for reply in replies]


def test_updates_of_false_labels(population: Population, tmp_path: Path) -> None:
    """An input lie is the update of another record; a response is the same way, as long as it may be."""
    task = task_of(population)
    honest = updates(population, tmp_path / "a", task, plan(population, "one-label", "input"))
    longer = updates(population, tmp_path / "b", task, plan(population, "one-label", "response"))
    clipped = updates(population, tmp_path / "c", task, plan(population, "one-label", "response", norm=0.25))
    for small, large, bounded in zip(honest, longer, clipped, strict=True):
        assert np.linalg.norm(large) == pytest.approx(TIMES * np.linalg.norm(small), rel=1e-3)
        assert np.dot(small, large) == pytest.approx(np.linalg.norm(small) * np.linalg.norm(large), rel=1e-3)
        assert np.linalg.norm(bounded) == pytest.approx(0.25, rel=1e-3)


def test_same_direction(population: Population, tmp_path: Path) -> None:
    task = task_of(population)
    first, second = updates(population, tmp_path / "a", task, plan(population, "same-direction", "response", norm=2.0))
    assert np.allclose(first, second, atol=1e-6)
    assert np.allclose(first, 2 * towards(task.shape, len(first), 1), atol=1e-6)


def test_under_device_noise_a_lie_is_as_long_as_the_noise(population: Population, tmp_path: Path) -> None:
    """A test of norms sees nothing: an honest update has the length of its noise, too."""
    noise = GaussianUpdate.from_epsilon(1.0, clip=0.5, delta=1e-3)
    task = task_of(population, noise)
    lied = updates(population, tmp_path / "a", task, plan(population, "one-label", "response"))
    honest = updates(population, tmp_path / "b", task, plan(population, "one-label", "input"))
    spread = 6 / np.sqrt(2 * len(lied[0]))  # of the norm of Gaussian noise, in six deviations
    for lie, update in zip(lied, honest, strict=True):
        assert np.linalg.norm(lie) == pytest.approx(np.linalg.norm(update), rel=spread + 0.01)


def test_secrets_are_the_devices_own(population: Population, tmp_path: Path) -> None:
    state = enrol(tmp_path / "state", population, policy_for([hand_over("x")], population.facts, mode="owner"), seed=5)
    assert secret_of(state.folder, 3) == (state.folder / "secrets.bin").read_bytes()[96:128]
