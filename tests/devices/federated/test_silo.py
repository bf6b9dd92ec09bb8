"""Messages to a silo: a malformed training is refused (computations: tests/strategies/runs/test_silos.py)."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message, MessageType

from devices.device import Refusal
from devices.federated.silo import Silo, SiloTask, answer_as_silo
from devices.federated.wire import RECEIVE_TYPE, WEIGHTS, round_content, weights_record
from devices.query import InvalidQuery

TASK = SiloTask("first", False, 3, 2, 2, 0.5, 2, 0.0, 0.0, 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    whole, few = np.arange(3), np.zeros(0, np.int64)
    silo = Silo(np.arange(2), whole, np.arange(2), np.ones(2, np.float32), np.zeros(3, np.int64), few,
                np.arange(2), np.ones(2, bool))  # fmt: skip
    silo.save(tmp_path / "silo-0")
    return tmp_path / "silo-0"


def asked(**config: float | str | bytes) -> Message:
    record = ConfigRecord({"task": TASK.to_bytes(), "server-round": 1, **config})
    return Message(round_content(weights_record(TASK.shape.initial(3)), record), 1, MessageType.TRAIN)


@pytest.mark.parametrize("mu", [math.nan, math.inf, -0.1, "1"])
def test_a_proximal_weight_that_is_no_finite_float_from_0_on_is_refused(folder: Path, mu: float | str) -> None:
    reply = answer_as_silo(folder, asked(**{"proximal-mu": mu}), "update")
    assert reply.has_error() and reply.error.code == Refusal.UNKNOWN_QUERY.value


def test_a_proximal_weight_keeps_the_weights_near_the_global_ones(folder: Path) -> None:
    start = TASK.shape.initial(3)
    moved = []
    for mu in (0.0, 1.0):
        reply = answer_as_silo(folder, asked(**{"proximal-mu": mu}), "update")
        moved.append(np.linalg.norm(reply.content.array_records["arrays"][WEIGHTS].numpy() - start))
    assert 0 < moved[1] < moved[0]


@pytest.mark.parametrize("size", [{"d": 1 << 40}, {"hidden": 1 << 15}, {"classes": 1 << 15}, {"steps": 1 << 14}])
def test_sizes_of_a_task_are_bounded(size: dict[str, int]) -> None:
    with pytest.raises(InvalidQuery):
        replace(TASK, **size)  # type: ignore[arg-type]


WRONG_TASKS: list[dict[str, Any]] = [
    *({size: wrong} for size in ("d", "hidden", "classes", "steps") for wrong in (0, -1, 1.0, True, "2")),
    *({rate: wrong} for rate in ("lr", "weight_decay", "dropout") for wrong in (-0.1, math.nan, 1, "0.5", None)),
    {"dropout": 1.0}, {"seed": 1.0}, {"seed": "1"},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_TASKS, ids=str)
def test_a_task_of_another_form_is_refused(folder: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidQuery):
        replace(TASK, **wrong)
    told = json.dumps({**json.loads(TASK.to_bytes()), **wrong}).encode()
    reply = answer_as_silo(folder, asked(task=told), "update")
    assert reply.has_error() and reply.error.code == Refusal.UNKNOWN_QUERY.value


def test_the_largest_tasks_are_accepted() -> None:
    for most in ({"d": 1 << 22}, {"hidden": 1 << 14}, {"classes": 1 << 14}, {"steps": 10_000},
                 {"lr": 0.0, "weight_decay": 0.0, "dropout": 0.0}, {"dropout": math.nextafter(1, 0)}):  # fmt: skip
        task = replace(TASK, **most)  # type: ignore[arg-type]
        assert SiloTask.from_bytes(task.to_bytes()) == task
    for size, beyond in (
        ("d", (1 << 22) + 1),
        ("hidden", (1 << 14) + 1),
        ("classes", (1 << 14) + 1),
        ("steps", 10_001),
    ):
        with pytest.raises(InvalidQuery, match="too large"):
            replace(TASK, **{size: beyond})  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"v": 2}, {"silo": False}, {"more": 1}])
def test_a_task_of_another_format_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidQuery):
        SiloTask.from_bytes(json.dumps({**json.loads(TASK.to_bytes()), **wrong}).encode())


def test_what_a_silo_keeps_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devices.federated.silo.MOST_BYTES", 10)
    config = ConfigRecord({"task": TASK.to_bytes()})
    sizes = {}
    for size in (10, 11):
        message = Message(round_content(None, config, bytes(size)), 1, RECEIVE_TYPE)
        sizes[size] = answer_as_silo(folder, message, None).has_error()
    assert sizes == {10: False, 11: True} and (folder / "sums.bin").stat().st_size == 10
