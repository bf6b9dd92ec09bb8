"""Statistics of a graph: right on graphs small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.devices.data.population import Population, build_population
from tests.devices.datasets.graph_statistics import clustering, feature_auc


def made(edges: list[tuple[int, int]], words: list[list[int]], labels: list[int]) -> Population:
    return build_population(
        "small", n=len(labels), d=4, edges=np.array(edges).T,
        feature_indptr=np.concatenate([[0], np.cumsum([len(row) for row in words])]),
        feature_indices=np.concatenate(words), feature_values=None, labels=np.array(labels), classes=2,
    )  # fmt: skip


def test_clustering_by_hand() -> None:
    """A triangle with a tail: 1, 1, 1/3 and 0."""
    people = made([(0, 1), (1, 2), (0, 2), (2, 3)], [[0]] * 4, [0, 0, 0, 1])
    assert clustering(people) == pytest.approx((1 + 1 + 1 / 3 + 0) / 4)


def test_friends_who_share_their_word() -> None:
    """Friends have cosine 1. A random pair has the same of four words in a quarter of the cases: .75 + .25 / 2."""
    edges = [(k, k + 1) for k in range(0, 800, 2)]
    people = made(edges, [[k // 2 % 4] for k in range(800)], [0] * 800)
    assert feature_auc(people) == pytest.approx(0.875, abs=0.06)  # more than five standard deviations
    assert feature_auc(made(edges, [[0]] * 800, [0] * 800)) == 0.5
