from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from ldpsim.curator.linear.propagation import (
    adjacency_matrix,
    bit_strips,
    gcn_matrix,
    label_propagation,
    mean_matrix,
    propagate,
    spread_rows,
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


def test_gcn_matrix_is_kipf_and_wellings() -> None:
    sparse, dense = _graph()
    looped = dense + np.eye(30)
    root = np.diag(looped.sum(axis=1) ** -0.5)
    np.testing.assert_allclose(gcn_matrix(sparse).toarray(), root @ looped @ root, atol=1e-6)


def test_mean_matrix_has_rows_of_one_and_a_zero_row_for_an_isolated_node() -> None:
    sparse, dense = _graph()
    sums = mean_matrix(sparse).toarray().sum(axis=1)
    np.testing.assert_allclose(sums, dense.sum(axis=1) > 0, atol=1e-6)


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


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_rows_spread_by_means_and_known_ones_are_restored(steps: int) -> None:
    sparse, dense = _graph()
    mean = dense / np.maximum(dense.sum(axis=1, keepdims=True), 1)
    sources = np.array([0, 3, 4, 11])
    known = np.random.default_rng(2).random((4, 3)).astype(np.float32)
    expected = np.zeros((30, 3))
    expected[sources] = known
    for _ in range(steps):
        expected = mean @ expected
        expected[sources] = known
    np.testing.assert_allclose(spread_rows(sparse, known, sources, steps), expected, atol=1e-6)
