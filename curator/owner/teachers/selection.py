"""Choice and order of the public nodes to ask about; a shorter list is the start of a longer one.

``random``, ``pagerank`` and ``degree`` (largest first), ``cluster``: k-means on the
features, then round by round the node nearest to each centre, so that all regions are
asked about. The choice depends on the public graph alone, so it costs no privacy.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.owner.teachers.graph import Floats, PlainGraph
from ldpsim.curator.owner.teachers.randomness import derive
from ldpsim.devices.array_types import IntArray

SELECTIONS = ("random", "pagerank", "degree", "cluster")
_DAMPING, _PAGERANK_ROUNDS = 0.85, 100
_CLUSTERS, _ROUNDS = 50, 20


def query_order(public: PlainGraph, candidates: IntArray, how: str, *, seed: int) -> IntArray:
    """Return the candidates (public nodes) in the order of the queries.

    Raises:
        ValueError: for an unknown order.
    """
    if how not in SELECTIONS:
        raise ValueError(f"--query-selection {how}: must be one of {', '.join(SELECTIONS)}")
    rng = np.random.Generator(np.random.PCG64(derive(seed, "selection")))
    shuffled = rng.permutation(candidates)
    if how == "random":
        return shuffled
    if how == "cluster":
        return _by_cluster(public.features[shuffled].astype(np.float64), shuffled, rng)
    weight = np.diff(public.indptr).astype(np.float64) if how == "degree" else pagerank(public)
    return shuffled[np.argsort(-weight[shuffled], kind="stable")]


def pagerank(graph: PlainGraph) -> Floats:
    """float64 (n,): PageRank, sum 1; from a node without neighbours the walk jumps to any node."""
    n, degree = len(graph), np.diff(graph.indptr)
    weights = 1 / np.repeat(np.maximum(degree, 1), degree)
    flow = csr_array((weights, graph.indices, graph.indptr), shape=(n, n)).T
    rank = np.full(n, 1 / n)
    for _ in range(_PAGERANK_ROUNDS):
        loose = rank[degree == 0].sum()
        rank = (1 - _DAMPING) / n + _DAMPING * (flow @ rank + loose / n)
    return rank


def _by_cluster(points: Floats, nodes: IntArray, rng: np.random.Generator) -> IntArray:
    count = min(_CLUSTERS, len(nodes))
    centres = points[rng.choice(len(nodes), count, replace=False)]
    squares = np.einsum("ij,ij->i", points, points)
    for _ in range(_ROUNDS):
        distance = squares[:, None] - 2 * points @ centres.T + np.einsum("ij,ij->i", centres, centres)
        home = distance.argmin(1)
        for at in np.unique(home):  # an empty cluster keeps its centre
            centres[at] = points[home == at].mean(0)
    own = distance[np.arange(len(nodes)), home]
    by_home = np.lexsort((own, home))
    starts = np.searchsorted(home[by_home], np.arange(count))
    turn = np.empty(len(nodes), np.int64)
    turn[by_home] = np.arange(len(nodes)) - starts[home[by_home]]
    return nodes[np.lexsort((home, turn))]
