"""Rounds read from messages: each part of the wrong type or size is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message, RecordDict

from devices.federated.wire import read_round, round_content
from devices.query import InvalidQuery
from devices.training_task import Task

TASK = Task("first", "own", 40, 5, 3, 0.3, 4, scaling="unit")


def message(**config: Any) -> Message:
    return Message(round_content(None, ConfigRecord({"task": TASK.to_bytes(), **config})), 1, "train")


def test_a_round_is_read_back() -> None:
    found = read_round(message(**{"server-round": 3, "proximal-mu": 0.25}))
    assert (found.task, found.number, found.mu, found.weights, found.own) == (TASK, 3, 0.25, None, None)
    assert (read_round(message()).number, read_round(message()).mu) == (0, 0.0)


@pytest.mark.parametrize("mu", [-0.1, math.nan, math.inf, -math.inf, 1, "0.1", b"1", True, [0.5]])
def test_a_malformed_mu_is_refused(mu: object) -> None:
    """FedProx's weight is a finite float of 0 or more: nan would send nan weights out of every device."""
    with pytest.raises(InvalidQuery, match="the round is malformed"):
        read_round(message(**{"proximal-mu": mu}))


@pytest.mark.parametrize("number", [1.0, "1", True, [1]])
def test_a_malformed_number_of_the_round_is_refused(number: object) -> None:
    with pytest.raises(InvalidQuery, match="the round is malformed"):
        read_round(message(**{"server-round": number}))


def test_nothing_rides_along() -> None:
    for content in (
        RecordDict(),
        RecordDict({"config": ConfigRecord({})}),
        RecordDict({"config": ConfigRecord({"task": TASK.to_bytes(), "rider": 1})}),
        RecordDict({"config": ConfigRecord({"task": TASK.to_bytes()}), "rider": ConfigRecord({})}),
        RecordDict({"config": ConfigRecord({"task": "text"})}),
    ):
        with pytest.raises(InvalidQuery):
            read_round(Message(content, 1, "train"))


def test_all_that_devices_are_told_is_in_the_fingerprint() -> None:
    """Noise is bound to it: another mu, round or task must draw other noise."""
    told = [{}, {"proximal-mu": 0.5}, {"server-round": 1}, {"proximal-mu": 1.0}]
    prints = {read_round(message(**config)).fingerprint for config in told}
    assert len(prints) == len(told)
    one = read_round(message())
    assert one.question() != one.for_device(b"x").question() and np.array_equal(one.question(), one.fingerprint)
