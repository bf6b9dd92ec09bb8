"""Measures of a reconstructed graph, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from devices.data.population import build_population
from strategies.attacks.poison.edges import edge_measures, rank_of

PEOPLE = build_population(
    "path", n=5, d=1, edges=np.array([[0, 1, 2, 3], [1, 2, 3, 4]]), feature_indptr=np.zeros(6, np.int64),
    feature_indices=np.zeros(0, np.int32), feature_values=None, labels=np.zeros(5, np.int64), classes=2,
)  # fmt: skip


def test_pairs_of_liars() -> None:
    kept = np.array([[0, 1, 0, 2, 4, 0], [1, 0, 2, 0, 0, 4]])  # 0-1, and the false pairs 0-2 and 0-4
    found = edge_measures(kept, PEOPLE, np.array([0, 1]), np.array([2, 4]))
    assert found["fakes_accepted"] == 1.0  # 0-2 and 0-4, two liars
    assert found["true"] == 1.0 and found["true_lost"] == 0.5  # 0-1 and 1-2, of which 1-2 is lost
    assert found["connected"] == 2 / 3  # 0-2, 0-4 and 1-4 are no edges; 1-2 is one


def test_without_liars_there_is_nothing_to_count() -> None:
    nobody = np.zeros(0, np.int64)
    assert set(edge_measures(PEOPLE.edges, PEOPLE, nobody, np.array([2])).values()) == {None}
    assert edge_measures(np.zeros((2, 0), np.int64), PEOPLE, np.array([0]), np.array([3]))["connected"] == 0.0


def test_rank_of_chosen_people() -> None:
    assert rank_of(PEOPLE.edges, 5, np.array([0, 4])) == {"degree": 1.0, "rank": 0.2}
    assert rank_of(PEOPLE.edges, 5, np.array([2])) == {"degree": 2.0, "rank": 0.7}
    assert rank_of(PEOPLE.edges, 5, np.zeros(0, np.int64)) == {"degree": None, "rank": None}


def test_accounts_have_no_rank() -> None:
    edges = np.array([[0, 0, 3, 3, 4], [1, 2, 1, 2, 3]])
    everybody, honest = rank_of(edges, 5, np.array([0])), rank_of(edges, 5, np.array([0]), among=3)
    assert everybody["degree"] == honest["degree"] == 2
    assert everybody["rank"] == pytest.approx((1 + 1.5) / 5) and honest["rank"] == pytest.approx(0.5)
