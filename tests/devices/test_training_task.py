"""Task of a training: what an answer depends on and loses, and only canonical bytes are one."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.query import InvalidQuery
from ldpsim.devices.training_task import CLEAR, NOISY, UNPROTECTED, GaussianUpdate, Task

TASK = Task("first", "own", 40, 5, 3, 0.3, 4)
NOISE = GaussianUpdate.from_epsilon(2.0, clip=1.0, delta=1e-6)


@pytest.mark.parametrize(("sees", "trained", "exchanged"), [
    ("own", ("features", "label"), ("features",)),
    ("ego", ("adjacency", "features", "label"), ("adjacency", "features")),
    ("sums", ("adjacency", "features", "label"), ("adjacency", "features")),
])  # fmt: skip
def test_an_answer_depends_on_what_the_device_looks_at(
    sees: str, trained: tuple[str, ...], exchanged: tuple[str, ...]
) -> None:
    """A label is in no exchange, and a neighbour list in no training on a device's own features."""
    task = replace(TASK, sees=sees)
    assert task.scope("update") == task.scope("evaluation") == trained
    assert task.scope("exchange") == exchanged


def test_only_an_update_under_noise_has_a_loss_that_is_bounded() -> None:
    noisy = replace(TASK, noise=NOISE)
    assert (TASK.mechanism, noisy.mechanism) == (CLEAR, NOISY)
    for kind in ("update", "evaluation", "exchange"):
        assert TASK.loss(kind) == UNPROTECTED  # type: ignore[arg-type]
        assert (noisy.loss(kind) == UNPROTECTED) == (kind != "update")  # type: ignore[arg-type]
    loss = noisy.loss("update")
    assert 1.99 < loss.bit == loss.vector <= 2.0 and loss.delta == 1e-6


def test_a_task_agrees_with_the_facts_that_it_names() -> None:
    assert TASK.agrees_with(PublicFacts(10, 40, 3))
    assert not TASK.agrees_with(PublicFacts(10, 41, 3)) and not TASK.agrees_with(PublicFacts(10, 40, 4))
    noisy = replace(TASK, noise=NOISE)
    assert noisy.agrees_with(PublicFacts(10**5, 40, 3)) and not noisy.agrees_with(PublicFacts(10**6, 40, 3))


@pytest.mark.parametrize("task", [TASK, replace(TASK, sees="sums", scaling="row"), replace(TASK, noise=NOISE)])
def test_a_task_is_read_back_and_other_bytes_are_none(task: Task) -> None:
    data = task.to_bytes()
    assert Task.from_bytes(data) == task
    for wrong in (data + b" ", data.replace(b'"v":1', b'"v":2'), data[:-1] + b',"x":1}', b"", b"{}", b"[]", data[:-1]):
        with pytest.raises(InvalidQuery):
            Task.from_bytes(wrong)


@pytest.mark.parametrize(
    "given",
    [{"sees": "all"}, {"scaling": "max"}, {"d": 0}, {"steps": 10_001}, {"steps": True}, {"hidden": 1 << 15},
     {"lr": 0.0}, {"lr": math.nan}, {"lr": 1}, {"collection": "a b"}, {"collection": ""},
     {"sees": "ego", "noise": NOISE}],
)  # fmt: skip
def test_a_malformed_task_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidQuery):
        replace(TASK, **given)  # type: ignore[arg-type]
