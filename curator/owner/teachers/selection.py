"""Choice and order of the public nodes to ask about; a shorter list is the start of a longer one.

``random``, ``pagerank`` and ``degree`` (largest first). The choice depends on the public graph alone, so it costs no
privacy.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.draws import derive
from ldpsim.curator.owner.teachers.graph import Floats, PlainGraph
from ldpsim.devices.array_types import IntArray

SELECTIONS = ("random", "pagerank", "degree")
_DAMPING, _PAGERANK_ROUNDS = 0.85, 100


def query_order(public: PlainGraph, candidates: IntArray, how: str, *, seed: int) -> IntArray:
    """Return the candidates (public nodes) in the order of the queries.

    Raises:
        ValueError: for an unknown order.
    """
    if how not in SELECTIONS:
        raise ValueError(f"--set query_selection={how}: must be one of {', '.join(SELECTIONS)}")
    rng = np.random.Generator(np.random.PCG64(derive(seed, "selection")))
    shuffled = rng.permutation(candidates)
    if how == "random":
        return shuffled
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
