"""Agreed pairs of reported rows, and the keys of questions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.reports.budget import Budget
from ldpsim.curator.reports.pairs import agreed_edges, agreed_pairs
from ldpsim.curator.reports.question import Question, keys_of
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import flipped_rows, noisy_rows_of_bits
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR, Degree, RandomizedResponse
from ldpsim.devices.query import Ask, Query
from tests.curator import worlds
from tests.curator.defences.lies import reports_of


def _reports(ones: list[tuple[int, int]], n: int, silent: list[int], reporting: str = "both") -> Reports:
    matrix = csr_array((np.ones(len(ones), np.bool_), tuple(np.array(ones).T)), shape=(n, n))
    response = RandomizedResponse.from_epsilon(2, n=n, reporting=reporting)
    answered = np.isin(np.arange(n), silent, invert=True)
    return worlds.reports_of(PublicFacts(n, 1, 2), {"adjacency": response}, answered=answered, adjacency=matrix)


def test_agreed_pairs_are_those_whose_every_report_is_a_one() -> None:
    reports = _reports([(0, 1), (1, 0), (0, 2), (2, 3)], n=4, silent=[3])
    expected = np.zeros((4, 4))
    expected[[0, 1, 2, 3], [1, 0, 3, 2]] = 1  # 0-1 agreed; 3 is silent, so 2's word stands; 0-2 denied by 2
    assert np.array_equal(agreed_pairs(reports).toarray(), expected)
    assert agreed_edges(reports).tolist() == [[0, 2], [1, 3]]
    one_end = _reports([(1, 0), (3, 2)], n=4, silent=[], reporting="one-end")
    expected = np.zeros((4, 4))
    expected[[0, 1, 2, 3], [1, 0, 3, 2]] = 1
    assert np.array_equal(agreed_pairs(one_end).toarray(), expected)
    assert agreed_edges(one_end).tolist() == [[0, 2], [1, 3]]


ROWS = np.zeros((5, 5), np.bool_)


def test_the_law_is_that_of_the_question() -> None:
    mechanism = RandomizedResponse.from_epsilon(3.0, n=5, reporting="one-end")
    rows = flipped_rows(reports_of(ROWS, 3.0, "one-end"))
    assert rows is not None and rows.one_end and rows.flip == noisy_rows_of_bits(reports_of(ROWS, 3.0, "one-end")).flip
    assert (rows.flip, rows.odds) == (mechanism.flip_probability, mechanism.flip_odds)
    assert rows.lengths.tolist() == [mechanism.targets(person) for person in range(5)]


def test_without_rows_there_is_nothing() -> None:
    reports = reports_of(ROWS, 3.0).with_arrays(adjacency=None)
    assert flipped_rows(reports) is None
    with pytest.raises(ValueError, match="the reports hold no adjacency"):
        noisy_rows_of_bits(reports)


ROW, DEGREE, LABEL = (
    RandomizedResponse.from_epsilon(1.0, n=9), Degree.from_epsilon(1.0, n=9), GRR.from_epsilon(1.0, categories=3)
)  # fmt: skip


PLAN = ((Ask("adjacency", (ROW, DEGREE)), Ask("label", (LABEL,))), (Ask("adjacency", (ROW,)),))


QUESTION = Question(Query("c", PLAN, 1), np.array([1, 4]), part=3)


def test_a_key_names_the_question_and_its_people_and_no_collection() -> None:
    def key(**changed: Any) -> object:
        return keys_of([replace(QUESTION, **changed)])

    same = replace(QUESTION.query, collection="other")
    assert key(query=same) == key() == key(part=7) == key(devices=np.array([1, 4], np.int32))
    different = [
        key(query=replace(QUESTION.query, stage=0)), key(devices=None),
        key(devices=np.array([1, 5])), key(devices=np.array([], np.int64)), keys_of([QUESTION, QUESTION]), keys_of([]),
    ]  # fmt: skip
    assert all(each != key() for each in different) and len({*different}) == len(different)


@pytest.mark.parametrize("name", ["epsilon", "eps_adjacency", "eps_features", "eps_labels"])
def test_budgets_that_are_none(name: str) -> None:
    for value in (0.0, -1.0, math.nan, -math.inf):
        with pytest.raises(ValueError, match=f"--{name.replace('_', '-')} must be a finite number above 0"):
            Budget(**{name: value})  # type: ignore[arg-type]
    assert getattr(Budget(**{name: 1e-9}), name) == 1e-9  # type: ignore[arg-type]
    if name in ("eps_features", "eps_labels"):  # in clear
        assert getattr(Budget(**{name: math.inf}), name) == math.inf  # type: ignore[arg-type]
    else:
        with pytest.raises(ValueError, match="finite"):
            Budget(**{name: math.inf})  # type: ignore[arg-type]
