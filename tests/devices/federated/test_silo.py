"""Messages to a silo: a malformed training is refused (computations: tests/strategies/runs/test_silos.py)."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

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


def asked(**config: float | str) -> Message:
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


def test_what_a_silo_keeps_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devices.federated.silo.MOST_BYTES", 10)
    config = ConfigRecord({"task": TASK.to_bytes()})
    sizes = {}
    for size in (10, 11):
        message = Message(round_content(None, config, bytes(size)), 1, RECEIVE_TYPE)
        sizes[size] = answer_as_silo(folder, message, None).has_error()
    assert sizes == {10: False, 11: True} and (folder / "sums.bin").stat().st_size == 10
