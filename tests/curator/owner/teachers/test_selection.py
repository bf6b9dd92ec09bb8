from __future__ import annotations

import networkx
import numpy as np
import pytest

from ldpsim.curator.owner.teachers.answering import SELECTIONS, pagerank, query_order
from ldpsim.curator.owner.teachers.graph import PlainGraph


@pytest.mark.parametrize("how", SELECTIONS)
def test_every_candidate_once_and_the_same_order_again(public: PlainGraph, how: str) -> None:
    candidates = np.arange(3, 40)
    order = query_order(public, candidates, how, seed=1)
    np.testing.assert_array_equal(np.sort(order), candidates)
    np.testing.assert_array_equal(order, query_order(public, candidates, how, seed=1))


def test_degree_and_pagerank_come_largest_first(public: PlainGraph) -> None:
    degree = np.diff(public.indptr)
    order = query_order(public, np.arange(50), "degree", seed=0)
    assert np.all(np.diff(degree[order]) <= 0)
    rank = pagerank(public)
    assert np.all(np.diff(rank[query_order(public, np.arange(50), "pagerank", seed=0)]) <= 0)
    graph = networkx.Graph()
    graph.add_nodes_from(range(50))
    graph.add_edges_from(zip(np.repeat(np.arange(50), degree).tolist(), public.indices.tolist(), strict=True))
    theirs = networkx.pagerank(graph, tol=1e-12)
    np.testing.assert_allclose(rank, [theirs[node] for node in range(50)], atol=1e-9)
