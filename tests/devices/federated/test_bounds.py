"""Numbers of a hostile server: a device refuses those that are not finite or too large, before it uses them."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType

from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.federated import participation
from ldpsim.devices.federated.local_steps import variate_size
from ldpsim.devices.federated.wire import record_of, round_content, weights_record
from ldpsim.devices.network import LARGEST, FloatArray, are_usable
from ldpsim.devices.policy.policy import policy_for_training
from ldpsim.devices.query import canonical
from ldpsim.devices.training_task import GaussianUpdate, Task
from tests.fleets import fleet_of, release_states

PEOPLE = 6
BEYOND = [math.nan, math.inf, -math.inf, 3e38, -2.0 * LARGEST]
pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[Task], State]]:
    people = generate(PEOPLE, d=20, classes=3, seed=2, mean_degree=2.0, words=6)
    yield lambda task: enrol(tmp_path, people, policy_for_training(task, people.facts, answers=1000), seed=4)
    release_states()


def task_of(sees: str = "own", **more: object) -> Task:
    return replace(Task("first", sees, 20, 3, 3, 0.3, 2), **more)  # type: ignore[arg-type]


def some(size: int, value: float) -> FloatArray:
    """Return numbers of which one is the value."""
    return np.where(np.arange(size) == 3, np.float32(value), np.float32(0.1))


def all_of(size: int, value: float) -> FloatArray:
    """Return numbers of this size and of both signs."""
    return (np.where(np.arange(size) % 3 == 1, -1, 1) * value).astype(np.float32)


def answer(
    state: State, task: Task, weights: FloatArray | None, own: ArrayRecord | None = None, *, mu: float = 0.0,
    control: FloatArray | None = None, kind: str = MessageType.TRAIN, times: int = 1,
) -> set[int]:  # fmt: skip
    """Ask several devices at once, or one alone; return the refusals' codes, 0 for an answer of usable numbers."""
    config = ConfigRecord({"task": task.to_bytes(), "proximal-mu": mu})
    arrays = None if weights is None else weights_record(weights)
    content = round_content(arrays, config, own, None if control is None else weights_record(control))
    replies = list(fleet_of(state.folder).answer([Message(content, node, kind) for node in range(1, times + 1)]))
    assert len(replies) == times
    for content in (reply.content for reply in replies if reply.has_content()):
        arrays = [array.numpy() for record in content.array_records.values() for array in record.values()]
        assert all(are_usable(array) for array in arrays)
    return {reply.error.code if reply.has_error() else 0 for reply in replies}


def refused(
    state: State, task: Task, weights: FloatArray | None, own: ArrayRecord | None = None, **more: object
) -> bool:
    """Return whether a message is refused as a malformed question, and no device enters it in its ledger."""
    before = [state.ledger().answers(device) for device in range(PEOPLE)]
    codes = {code for times in (1, PEOPLE) for code in answer(state, task, weights, own, times=times, **more)}  # type: ignore[arg-type]
    assert [state.ledger().answers(device) for device in range(PEOPLE)] == before
    return codes == {Refusal.UNKNOWN_QUERY.value}


@pytest.mark.parametrize("value", BEYOND)
def test_weights_are_refused_before_they_are_used(
    value: float, make: Callable[[Task], State], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = task_of()
    state = make(task)
    good, bad = some(task.shape.size, LARGEST), some(task.shape.size, value)
    assert answer(state, task, good) == {0}  # power: the same message with the largest number
    monkeypatch.setattr(participation, "Stack", lambda *_: pytest.fail("a device used the weights"))
    for kind in (MessageType.TRAIN, MessageType.EVALUATE):
        assert refused(state, task, bad, kind=kind)
    own = record_of(variate=some(variate_size(task), 0.0))
    assert refused(state, task, good, own, control=bad)
    assert refused(state, task, good, record_of(variate=some(variate_size(task), value)), control=good)


@pytest.mark.parametrize("clip", [5e-324, 1e-300, 1e-12])
def test_a_clipping_norm_whose_steps_overflow_is_refused(clip: float, make: Callable[[Task], State]) -> None:
    task = task_of(noise=GaussianUpdate(1.0, 1 << 40, 1e-3))
    state = make(task)
    assert task.noise is not None
    told = {**json.loads(task.to_bytes()), "noise": {**vars(task.noise), "clip": clip}}
    content = round_content(weights_record(some(task.shape.size, 1.0)), ConfigRecord({"task": canonical(told)}))
    (reply,) = fleet_of(state.folder).answer([Message(content, 1, MessageType.TRAIN)])
    assert reply.error.code == Refusal.UNKNOWN_QUERY.value
    assert not state.ledger().answers(0)


@pytest.mark.parametrize("sees", ["own", "ego"])
def test_whatever_a_device_accepts_gives_no_warning(sees: str, make: Callable[[Task], State]) -> None:
    """Also where steps diverge: whether they do depends on the data, so the device says nothing then."""
    state = make(task_of(sees))
    reached = 0.0
    for lr, mu, size, steps, control in itertools.product(
        (1e-30, 0.3, LARGEST), (0.0, 1.0, LARGEST), (1.0, LARGEST), (1, 50), (None, 1.0, LARGEST)
    ):
        task = task_of(sees, lr=lr, steps=steps)
        weights, told, own = all_of(task.shape.size, size), None, None
        if control is not None:
            told, own = all_of(task.shape.size, control), record_of(variate=all_of(variate_size(task), control))
        if sees == "ego":
            told, own = None, record_of(rows=all_of(4 * 2 * task.hidden, size))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert answer(state, task, weights, own, mu=mu, control=told) == {0}
            if told is None:
                assert answer(state, task, weights, own, kind=MessageType.EVALUATE) == {0}
        reached = max(reached, lr * mu)
    assert reached == LARGEST**2  # power: these steps diverge
