"""Reports of a collection in parts: joined, saved and read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ldpsim.curator.methods import Question
from ldpsim.curator.reports.decoding import joined_reports
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR, NeighbourhoodVote, RandomizedResponse
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import pack_parts

FACTS = PublicFacts(6, 0, 3)
TABLE = np.eye(3)[[0, 1, 2, 0, 1, 2]]


def _vote(epsilon: float) -> Ask:
    return Ask("adjacency", (NeighbourhoodVote.from_probabilities(TABLE, epsilon, candidates=3, homophily=0.5),))


LABEL = Ask("label", (GRR.from_epsilon(1.0, categories=3),))


def _question(ask: Ask, people: list[int], part: int) -> Question:
    return Question(Query("c", ((ask,),)), np.array(people), part)


def _questions() -> tuple[Question, ...]:
    return (_question(LABEL, [0, 1], 0), _question(_vote(1.0), [0, 2, 4], 1), _question(_vote(2.0), [1, 3, 5], 2))


def _answers() -> dict[int, dict[str, tuple[bytes, ...]]]:
    found: dict[int, dict[str, tuple[bytes, ...]]] = {
        device: {"adjacency": (bytes([device % 3]),)} for device in range(5)
    }
    found[1]["label"] = ((2).to_bytes(2, "little"),)
    return found  # person 0 gave no label, person 5 no vote


def test_parts_are_one_collection() -> None:
    reports = Reports.from_bytes(FACTS, _questions(), _answers())
    assert reports.arrays["votes"].tolist() == [0, 1, 2, 0, 1, -1]
    assert reports.labels is not None and reports.labels.tolist() == [-1, 2, -1, -1, -1, -1]
    assert reports.answered.tolist() == [False, True, True, True, True, False]
    assert reports.asked["adjacency"].all() and np.flatnonzero(reports.asked["label"]).tolist() == [0, 1]
    assert [sorted(part.asks) for part in reports.parts] == [["label"], ["adjacency"], ["adjacency"]]
    assert [part.answered.sum() for part in reports.parts] == [1, 3, 2]


def test_nobody_is_in_two_parts_for_one_attribute() -> None:
    parts = Reports.from_bytes(FACTS, _questions(), _answers()).parts
    with pytest.raises(ValueError, match="part 2 asks person 0 about adjacency again"):
        joined_reports([parts[0], parts[1], parts[1]])


def test_sparse_rows_of_parts_are_added() -> None:
    asks = [Ask("adjacency", (RandomizedResponse.from_epsilon(e, n=6),)) for e in (1.0, 2.0)]
    questions = [_question(asks[0], [0, 1], 0), _question(asks[1], [2, 3], 1)]
    row = np.packbits([0, 1, 0, 1, 0]).tobytes()
    mechanism = asks[0].mechanisms[0]
    rows = {device: {"adjacency": (mechanism.encode(np.array([0, 1, 0, 1, 0], np.uint8)),)} for device in range(4)}
    assert pack_parts((row,))  # five bits take one byte
    reports = Reports.from_bytes(FACTS, questions, rows)
    assert reports.adjacency is not None
    assert np.diff(reports.adjacency.indptr).tolist() == [2, 2, 2, 2, 0, 0]


def test_saved_parts_are_read_again_with_their_people(tmp_path: Path) -> None:
    reports = Reports.from_bytes(FACTS, _questions(), _answers())
    reports.save(tmp_path)
    read = Reports.load(tmp_path)
    assert np.array_equal(read.arrays["votes"], reports.arrays["votes"])  # type: ignore[arg-type]
    assert np.array_equal(read.labels, reports.labels)  # type: ignore[arg-type]
    assert np.array_equal(read.answered, reports.answered)
    for ours, theirs in zip(_questions(), read.questions(), strict=True):
        assert ours.query.plan == theirs.query.plan and np.array_equal(ours.devices, theirs.devices)  # type: ignore[arg-type]
        assert ours.part == theirs.part
