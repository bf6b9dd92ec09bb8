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


def test_a_random_order_is_drawn_by_the_seed(public: PlainGraph) -> None:
    """Neither the order of the candidates nor the same for two seeds; equal degrees are in a drawn order too."""
    candidates = np.arange(3, 40)
    orders = [query_order(public, candidates, "random", seed=seed) for seed in range(20)]
    assert len({tuple(order.tolist()) for order in orders}) == 20
    # the mean place of the first query, over twenty seeds: 4.9 standard deviations
    first = np.mean([order[0] for order in orders])
    assert abs(first - candidates.mean()) < 4.9 * np.sqrt((37**2 - 1) / 12 / 20)
    alone = PlainGraph.build(public.features, np.zeros((2, 0), np.int64), public.labels)
    ties = {tuple(query_order(alone, candidates, "degree", seed=seed).tolist()) for seed in range(3)}
    assert len(ties) == 3


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


def test_an_unknown_way() -> None:
    with pytest.raises(ValueError, match="random, pagerank, degree"):
        query_order(PlainGraph.build(np.zeros((1, 1)), np.zeros((2, 0), np.int64), np.zeros(1, np.int64)),
                    np.arange(1), "best", seed=0)  # fmt: skip
