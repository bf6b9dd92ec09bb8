"""Agreed pairs: every report about the pair is a one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.reports.rows import agreed_edges, agreed_pairs, flipped_rows, noisy_rows_of_bits
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import RandomizedResponse
from ldpsim.devices.query import Ask
from tests.curator.defences.lies import reports_of


def _reports(ones: list[tuple[int, int]], n: int, silent: list[int], reporting: str = "both") -> Reports:
    rows, columns = np.array(ones).T
    matrix = csr_array((np.ones(len(ones), np.bool_), (rows, columns)), shape=(n, n))
    asks = {"adjacency": Ask("adjacency", (RandomizedResponse.from_epsilon(2, n=n, reporting=reporting),))}  # type: ignore[arg-type]
    answered = np.ones(n, np.bool_)
    answered[silent] = False
    return Reports(PublicFacts(n, 1, 2), asks, {"adjacency": np.ones(n, np.bool_)}, answered, {"adjacency": matrix})


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
