"""Rows that the link scorer compares, for methods whose network spreads the features itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from curator.graph import Graph
from curator.linear.pagerank import personalized_pagerank, walk_matrix
from curator.linear.propagation import adjacency_matrix

ALPHA, R = 0.1, 0.5  # of PrivGE's link task on Cora


def spread_over(graph: Graph) -> Any:
    """float32 (n, d): personalised PageRank of the graph's features over its edges, both directions of each."""
    n = graph.features.shape[0]
    directed = adjacency_matrix(n, graph.edge_index, graph.edge_weight)
    return personalized_pagerank(walk_matrix((directed + directed.T).tocsr(), R), graph.features, ALPHA)


def undirected(graph: Graph) -> Any:
    """int64 (2, m): the pairs with an edge of the graph, each once, row 0 < row 1."""
    n = graph.features.shape[0]
    keys = np.unique(graph.edge_index.min(axis=0) * n + graph.edge_index.max(axis=0))
    return np.stack(np.divmod(keys, n))
