"""Rows for the link scorer: PageRank of features over both directions of every edge. Covers curator/graph."""

from __future__ import annotations

import numpy as np
import pytest

from curator.graph import Graph
from curator.pairs.rows import ALPHA, spread_over, undirected

EDGES = np.array([[0, 1, 2], [1, 0, 3]])  # 0 - 1 in both directions, 2 -> 3 in one


def graph() -> Graph:
    nobody = np.zeros(0, np.int64)
    return Graph(np.eye(4, dtype=np.float32), EDGES, None, np.full(4, -1), nobody, nobody)


def test_each_pair_once() -> None:
    assert undirected(graph()).tolist() == [[0, 2], [1, 3]]


def test_features_are_spread_both_ways() -> None:
    walk = np.kron(np.eye(2), np.array([[0, 1], [1, 0]]))  # every degree is one of two equal numbers of its pair
    assert spread_over(graph()) == pytest.approx(ALPHA * np.linalg.inv(np.eye(4) - (1 - ALPHA) * walk), abs=1e-4)
