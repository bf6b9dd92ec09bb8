"""A record handed over, raw, to an owner: once, in owner mode alone, in the ledger with an infinite loss."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.ledger.chain import seals
from ldpsim.devices.mechanisms import GRR
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.query import Ask, InvalidQuery, Query
from ldpsim.devices.raw_record import HandedOver, hand_over, is_hand_over, read_question, read_record
from ldpsim.devices.report import Report, unpack_report

REPORT = Query("first", ((Ask("label", (GRR.from_epsilon(1.0, categories=5),)),),))


@pytest.fixture(scope="module")
def people() -> Population:
    return generate(20, seed=1)


@pytest.fixture
def owners(tmp_path: Path, people: Population) -> Iterator[State]:
    state = enrol(tmp_path / "owners", people, policy_for([hand_over("first")], people.facts, mode="owner"), seed=2)
    yield state
    state.close()


@pytest.fixture
def reporters(tmp_path: Path, people: Population) -> Iterator[State]:
    state = enrol(tmp_path / "reporters", people, policy_for([REPORT], people.facts), seed=2)
    yield state
    state.close()


def test_the_record_comes_back_as_it_is(owners: State, people: Population) -> None:
    for index in (0, 7, 19):
        answer = owners.device(index).answer(hand_over("first").to_bytes())
        assert isinstance(answer, Report) and not answer.replayed
        found, truth = read_record(unpack_report(answer.data, hand_over("first")), people.facts), people.record(index)
        np.testing.assert_array_equal(found.neighbours, truth.neighbours)
        np.testing.assert_array_equal(found.feature_indices, truth.feature_indices)
        np.testing.assert_array_equal(found.feature_values, truth.feature_values)
        assert found.label == truth.label


def test_it_is_a_release_without_protection_in_the_ledger(owners: State) -> None:
    device = owners.device(3)
    first = device.answer(hand_over("first").to_bytes())
    assert isinstance(first, Report)
    (row,) = owners.ledger(3).answers(3)
    assert [part.attribute for part in row.parts] == ["adjacency", "features", "label"]
    assert all(part.loss.vector == math.inf and part.loss.bit == math.inf for part in row.parts)
    assert [row.seal] == seals([row], [b""], [owners.seal_key(3)])
    retry = device.answer(hand_over("first").to_bytes())
    assert retry == Report(first.data, replayed=True)
    assert device.answer(hand_over("second").to_bytes()) is Refusal.REPORT_COLLECTED
    assert len(owners.ledger(3).answers(3)) == 1


def test_each_mode_refuses_the_other_s_question(owners: State, reporters: State) -> None:
    """In this process and on the wire; a query that has the raw mechanism in a part is no hand-over."""
    part = Query("first", (hand_over("first").asks[:1],))
    for question in (REPORT, REPORT.to_bytes(), part):
        assert owners.device(0).answer(question) is Refusal.MODE_REFUSED
    for question in (hand_over("first"), hand_over("first").to_bytes()):
        assert reporters.device(0).answer(question) is Refusal.MODE_REFUSED
    assert reporters.device(0).answer(part) is Refusal.POLICY_REFUSED
    assert owners.device(0).answer(part.to_bytes()) is Refusal.UNKNOWN_QUERY
    assert reporters.device(0).answer(part.to_bytes()) is Refusal.UNKNOWN_QUERY
    assert not reporters.ledger().answers(0) and not owners.ledger().answers(0)


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", hand_over("first").to_bytes() + b" ",
                                  hand_over("first").to_bytes().replace(b"null", b"[1]"),
                                  hand_over("first").to_bytes().replace(b"first", b"a b")])  # fmt: skip
def test_anything_else_is_no_hand_over(owners: State, data: bytes) -> None:
    with pytest.raises(InvalidQuery):
        read_question(data)
    assert owners.device(0).answer(data) is Refusal.UNKNOWN_QUERY


def test_no_query_can_carry_the_raw_mechanism() -> None:
    with pytest.raises(InvalidQuery):
        Query.from_bytes(hand_over("first").to_bytes())
    assert is_hand_over(hand_over("c")) and not is_hand_over(REPORT)
    assert HandedOver("label").loss().vector == math.inf


def told(features: bytes = b"", neighbours: Sequence[int] = (), label: int = 0) -> dict[str, tuple[bytes, ...]]:
    """Return what a device hands over."""
    return {"features": (features or bytes(4),), "adjacency": (np.array(neighbours, "<i4").tobytes(),),
            "label": (struct.pack("<q", label),)}  # fmt: skip


def feature(column: int, value: float = 1.0) -> bytes:
    """Return the bytes of one feature."""
    return struct.pack("<Iif", 1, column, value)


WRONG_RECORDS = [
    *(told(feature(column)) for column in (-1, 1 << 20, 200_000_000, -(1 << 31))),
    *(told(feature(0, value)) for value in (math.nan, math.inf, 3e38)),
    *(told(neighbours=[1, wrong]) for wrong in (-1, 20, (1 << 31) - 1)),
    *(told(label=wrong) for wrong in (-2, 1 << 40, 99)),
]


@pytest.mark.parametrize("parts", WRONG_RECORDS)
def test_a_record_that_nobody_has_is_refused(people: Population, parts: dict[str, tuple[bytes, ...]]) -> None:
    """The owner makes a matrix of all records: a column outside it would be other memory."""
    d = people.facts.d
    assert read_record(told(feature(d - 1), [19], -1), people.facts).feature_indices.tolist() == [d - 1]
    with pytest.raises(ValueError):
        read_record(parts, people.facts)
