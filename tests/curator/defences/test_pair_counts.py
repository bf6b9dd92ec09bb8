"""Laws of agreement and disagreement, by enumeration of every report about every graph."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import binom

from curator.defences.pair_counts import RowPairs, distance, drop_and_repeat

FLIP = 0.2
PLACES = [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]


@pytest.mark.parametrize("edges", list(product((False, True), repeat=3)))
def test_the_laws_hold_whatever_the_graph_is(edges: tuple[bool, bool, bool]) -> None:
    truth = dict(zip([(0, 1), (0, 2), (1, 2)], edges, strict=True))
    law = np.zeros((3, 3))  # disagreements of person 0, own claims among them
    for bits in product((False, True), repeat=6):
        rows = np.zeros((3, 3), np.bool_)
        chance = 1.0
        for (i, j), bit in zip(PLACES, bits, strict=True):
            rows[i, j] = bit
            chance *= 1 - FLIP if bit == truth[min(i, j), max(i, j)] else FLIP
        counts = RowPairs(csr_array(rows)).among(np.ones(3, np.bool_))
        law[counts.disagreements[0], counts.unconfirmed[0]] += chance
    x = np.arange(3)
    pq = FLIP * (1 - FLIP)
    np.testing.assert_allclose(law.sum(axis=1), binom.pmf(x, 2, 2 * pq), atol=1e-15)
    np.testing.assert_allclose(law.sum(axis=0), binom.pmf(x, 2, pq), atol=1e-15)
    for differ in x:
        np.testing.assert_allclose(law[differ] / law[differ].sum(), binom.pmf(x, differ, 0.5), atol=1e-15)


def test_only_the_people_named_are_counted() -> None:
    rows = np.array([[0, 1, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], np.bool_)
    counts = RowPairs(csr_array(rows)).among(np.array([True, True, True, False]))
    assert (counts.others[0], counts.own[0], counts.about[0], counts.both[0]) == (2, 2, 1, 1)
    assert (counts.unconfirmed[0], counts.unclaimed[0], counts.disagreements[0]) == (1, 0, 1)


def test_the_worst_are_dropped_before_others_are_judged() -> None:
    """Person 3 lies and moves the others beyond 1; without 3, they pass."""

    def excess(left: np.ndarray) -> np.ndarray:
        return np.array([2.0, 2.0, 0.0, 8.0]) if left[3] else np.zeros(4)

    assert drop_and_repeat(excess, np.ones(4, np.bool_)).tolist() == [False, False, False, True]
    assert not drop_and_repeat(excess, np.array([True, True, True, False])).any()


def test_a_distance_without_spread_is_large() -> None:
    near, far = distance(np.array([0, 2]), np.zeros(2), np.zeros(2)).tolist()
    assert 0 < near < 1e-4 and far > 1e4
