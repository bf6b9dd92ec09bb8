"""The public table of a vote: bytes, evidence of a neighbour, order of the classes."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.devices.mechanisms import NeighbourhoodVote
from ldpsim.devices.mechanisms.class_table import MOST_BYTES, UNKNOWN, ClassTable, as_text, from_text, quantised
from ldpsim.devices.query import MAX_BYTES, Ask, Query

Q = np.array([[0.7, 0.2, 0.1], [0, 0, 0], [0, 0, 3.0], [0.3, 0.3, 0.4]])
OM = np.array([[30000, 5000, 7000], [1, 65536, 9], [800, 900, 1000]])


ROWS = from_text(quantised(Q), Q.size).reshape(Q.shape)


def test_a_byte_is_a_sixteenth_of_a_nat_below_the_likeliest_class() -> None:
    assert ROWS[1].tolist() == [UNKNOWN] * 3 and ROWS[2].tolist() == [254, 254, 0]
    given = np.log(Q[[0, 3]] / Q[[0, 3]].max(axis=1, keepdims=True))
    assert np.abs(given + ROWS[[0, 3]] / 16).max() <= 1 / 32 + 1e-12


def test_evidence_is_the_logarithm_of_the_mixture() -> None:
    table = ClassTable(ROWS, OM)
    weights = np.exp(ROWS / -16)
    expected = np.log(OM @ weights.T) + np.log(1 << 24)
    found = table.evidence / (1 << 16)
    known = [0, 2, 3]
    assert np.abs(found[:, known] - expected[:, known]).max() < 1e-4
    assert found[:, 1].tolist() == [0, 0, 0]
    assert np.abs(table.own[known] / (1 << 16) + ROWS[known] / 16).max() == 0 and not table.own[1].any()
    assert table.ranked.tolist() == [[0, 1, 2], [0, 1, 2], [2, 0, 1], [2, 0, 1]]


@pytest.mark.parametrize("text", ["", "AAA", "AAAA=", "AA==", "AAB=", "A A=", "AAAA", None, 7, "A" * 10**6])
def test_there_is_one_text_for_some_bytes(text: object) -> None:
    assert from_text(as_text(np.zeros(2, np.uint8)), 2).tolist() == [0, 0] and as_text(np.zeros(2, np.uint8)) == "AAA="
    with pytest.raises(ValueError):
        from_text(text, 2)


@pytest.mark.parametrize("rows", [[[0, UNKNOWN, 3]], [[UNKNOWN, UNKNOWN, 0]]])
def test_a_row_that_is_no_distribution_is_refused(rows: list) -> None:
    with pytest.raises(ValueError, match="row 0 of the table"):
        ClassTable(np.array(rows, np.uint8), OM)


@pytest.mark.parametrize("q", [[[0.5, -0.1]], [[np.nan, 1]], [[np.inf, 1]], [0.5, 0.5]])
def test_probabilities_that_are_none_are_refused(q: list) -> None:
    with pytest.raises(ValueError):
        quantised(np.array(q))
    with pytest.raises(ValueError):
        quantised(Q, "half")


def test_a_table_that_no_question_can_hold_is_not_made() -> None:
    largest = NeighbourhoodVote.from_probabilities(
        np.broadcast_to(np.arange(1.0, 11), (MOST_BYTES // 10, 10)), 1.0, homophily=0.5, candidates=10
    )
    assert len(Query("c" * 64, ((Ask("adjacency", (largest,)),),)).to_bytes()) < MAX_BYTES
    many = np.broadcast_to(np.ones(10), (MOST_BYTES // 10 + 1, 10))
    with pytest.raises(ValueError, match="of the form codes it takes at most one byte a person"):
        quantised(many)
    assert len(quantised(many, "codes")) < 250_000


def test_codes_say_of_everybody_what_the_full_table_says() -> None:
    rng = np.random.default_rng(5)
    for classes in (2, 3, 7, 8, 40):
        kinds = np.concatenate([np.eye(classes), rng.dirichlet(np.ones(classes), classes), np.zeros((1, classes))])
        q = kinds[np.append(np.arange(len(kinds)), rng.integers(len(kinds), size=150))]
        affinity = rng.integers(1, 1 << 16, (classes, classes))
        full, codes = (ClassTable.read(quantised(q, form), form, len(q), affinity) for form in ("full", "codes"))
        who = codes.row_of(np.arange(len(q)))
        assert len(codes.rows) == 2 * classes + 1 and np.array_equal(codes.rows[who], full.rows)
        assert np.array_equal(codes.evidence[:, who], full.evidence) and np.array_equal(codes.own[who], full.own)
        assert np.array_equal(codes.ranked, full.ranked)
        assert codes.row_of(np.array([len(q)])) == len(codes.rows) and full.row_of(np.array([len(q)])) == len(q)


def test_a_million_people_of_seven_classes_fit_into_a_sixth_of_a_question() -> None:
    kinds = np.concatenate([np.eye(7), np.eye(7) + 1, np.zeros((1, 7))])
    text = quantised(kinds[np.arange(1_000_000) % 15], "codes")
    assert len(text) == -(-(1 + 15 * 7 + 500_000) // 3) * 4 < MAX_BYTES / 6
