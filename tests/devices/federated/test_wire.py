"""Messages of a training: everything that a device is told is read back, and nothing else is accepted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, RecordDict

from ldpsim.devices.federated.wire import checked_record, read_round, record_of, round_content
from ldpsim.devices.query import InvalidQuery
from ldpsim.devices.training_task import Task

TASK = Task("first", "own", 40, 5, 3, 0.3, 4, scaling="unit")


def told(**config: Any) -> RecordDict:
    return round_content(None, ConfigRecord({"task": TASK.to_bytes(), **config}))


def test_a_round_is_read_back() -> None:
    found = read_round(told(**{"server-round": 3, "proximal-mu": 0.25}))
    assert (found.task, found.number, found.mu, found.weights, found.own) == (TASK, 3, 0.25, None, None)
    assert (read_round(told()).number, read_round(told()).mu) == (0, 0.0)


def test_nothing_rides_along() -> None:
    for content in (
        RecordDict(),
        RecordDict({"config": ConfigRecord({})}),
        RecordDict({"config": ConfigRecord({"task": TASK.to_bytes(), "rider": 1})}),
        RecordDict({"config": ConfigRecord({"task": TASK.to_bytes()}), "rider": ConfigRecord({})}),
        RecordDict({"config": ConfigRecord({"task": "text"})}),
    ):
        with pytest.raises(InvalidQuery):
            read_round(content)


def test_all_that_devices_are_told_is_in_the_fingerprint() -> None:
    """Noise is bound to it: another mu, round or task must draw other noise."""
    configs = [{}, {"proximal-mu": 0.5}, {"server-round": 1}, {"proximal-mu": 1.0}]
    prints = {read_round(told(**config)).fingerprint for config in configs}
    assert len(prints) == len(configs)
    one = read_round(told())
    assert one.question() == one.fingerprint


OWN = [None, record_of(), record_of(rows=np.zeros(2)), record_of(rows=np.zeros(1)), record_of(rows=np.ones(1)),
       record_of(more=np.ones(1)), record_of(rows=np.ones(1, np.float32))]  # fmt: skip


def test_what_one_party_is_told_is_read_back_and_noise_is_bound_to_it() -> None:
    config, first = ConfigRecord({"task": TASK.to_bytes()}), read_round(told())
    rounds = [read_round(round_content(None, config, own)) for own in OWN]
    assert [each.own for each in rounds] == OWN
    questions = [each.question() for each in rounds]
    assert len(set(questions)) == len(OWN) and [first.for_party(own).question() for own in OWN] == questions
    with pytest.raises(InvalidQuery):
        first.for_party(ConfigRecord({}))


@pytest.mark.parametrize("wrong", [
    {}, {"a": np.zeros(2)}, {"a": np.zeros(2), "b": np.zeros(2), "c": np.zeros(2)},
    {"a": np.zeros(2), "c": np.zeros(2)},
    {"a": np.zeros(2, np.float32), "b": np.zeros(2)}, {"a": np.zeros(2, np.int64), "b": np.zeros(2)},
    {"a": np.array([1.0, np.nan]), "b": np.zeros(2)}, {"a": np.zeros(2), "b": np.array([-np.inf])},
], ids=str)  # fmt: skip
def test_arrays_of_other_names_types_or_numbers_are_refused(wrong: dict[str, np.ndarray]) -> None:
    types = {"a": ("float64",), "b": ("float64", "float32")}
    found = checked_record("they", record_of(a=np.zeros(2), b=np.ones(1, np.float32)), **types)
    assert [found[name].tolist() for name in ("a", "b")] == [[0.0, 0.0], [1.0]]
    with pytest.raises(InvalidQuery, match="^they "):
        checked_record("they", record_of(**wrong), **types)
