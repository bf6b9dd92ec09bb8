"""Personalised PageRank beside its plain sum and beside the backward push of PrivGE's code."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.linear.propagation import (
    adjacency_matrix,
    kprop_matrix,
    mean_matrix,
    personalized_pagerank,
    walk_matrix,
)

N, D = 50, 70
ALPHA = 0.1


@pytest.fixture
def adjacency() -> csr_array:
    """Fifty nodes, one of them without an edge."""
    rng = np.random.default_rng(4)
    pairs = np.array([(i, j) for i in range(N - 1) for j in range(i) if rng.random() < 0.08]).T
    return adjacency_matrix(N, np.concatenate([pairs, pairs[::-1]], axis=1))


@pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0])
def test_it_is_the_plain_sum(adjacency: csr_array, alpha: float) -> None:
    walk = walk_matrix(adjacency, 0.2)
    rows = csr_array(np.eye(N, D, dtype=np.float32))
    wanted, term = np.zeros((N, D)), alpha * rows.toarray().astype(np.float64)
    for _ in range(600):
        wanted, term = wanted + term, (1 - alpha) * (walk @ term)
    found = personalized_pagerank(walk, rows, alpha)
    assert found.dtype == np.float32 and found.shape == (N, D)
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    assert found[N - 1, N - 1] == pytest.approx(alpha)  # nobody is near


def test_the_walk_lies_between_the_mean_and_the_symmetric_matrix(adjacency: csr_array) -> None:
    for r, matrix in ((0.0, mean_matrix(adjacency)), (0.5, kprop_matrix(adjacency))):
        np.testing.assert_allclose(walk_matrix(adjacency, r).toarray(), matrix.toarray(), atol=1e-6)
