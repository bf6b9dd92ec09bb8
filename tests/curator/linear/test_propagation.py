"""Adjacency matrices, propagation, and personalised PageRank beside its plain sum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from ldpsim.curator.linear.propagation import (
    adjacency_matrix,
    bit_strips,
    label_propagation,
    mean_matrix,
    personalized_pagerank,
    propagate,
    walk_matrix,
)


def _graph(n: int = 30, seed: int = 0) -> tuple[csr_array, np.ndarray]:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < 0.1, 1)
    upper[4] = upper[:, 4] = False  # an isolated node
    dense = (upper | upper.T).astype(float)
    return csr_array(dense.astype(np.float32)), dense


def test_adjacency_matrix_puts_the_target_in_the_row() -> None:
    edges = np.array([[0, 0, 2], [1, 1, 0]])
    matrix = adjacency_matrix(3, edges, np.array([1, 2, 5]))
    assert np.array_equal(matrix.toarray(), [[0, 0, 5], [3, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize("hops", [0, 1, 3])
def test_propagate_by_strips_is_the_matrix_power(hops: int) -> None:
    sparse, _ = _graph()
    matrix = mean_matrix(sparse)
    features = np.random.default_rng(1).random((30, 300)).astype(np.float32)
    expected = np.linalg.matrix_power(matrix.toarray().astype(float), hops) @ features
    np.testing.assert_allclose(propagate(matrix, features, hops), expected, atol=1e-5)
    kept = propagate(matrix, csr_array(features), hops)
    assert issparse(kept)
    np.testing.assert_allclose(kept.toarray(), expected, atol=1e-5)


@pytest.mark.parametrize("d", [1, 8, 127, 128, 129, 300])
def test_strips_of_bits_cover_every_column_once(d: int) -> None:
    bits = np.random.default_rng(0).random((5, d)) < 0.5
    strips = list(bit_strips(np.packbits(bits, axis=1), d))
    assert np.array_equal(np.concatenate([strip for _, strip in strips], axis=1), bits)
    assert [columns.start for columns, _ in strips] == [0] + [columns.stop for columns, _ in strips[:-1]]


def test_a_node_that_no_label_reaches_gets_the_most_frequent_class() -> None:
    alone = csr_array((4, 4), dtype=np.float32)
    labels = np.array([2, 2, 1, -1])
    assert label_propagation(alone, labels, np.arange(3), classes=3)[3] == 2


N, D = 50, 70


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
