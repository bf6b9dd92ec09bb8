"""Scaled columns, strips of columns, rows of length 1, and adjacency matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from ldpsim.curator.linear.propagation import adjacency_matrix, bit_strips, label_propagation
from ldpsim.curator.linear.scaling import is_text, scale_public, standardise, standardised_rows, weighted_rows
from ldpsim.curator.linear.strips import columns_at_once, strips


def test_rows_that_do_not_count_become_the_mean() -> None:
    columns = np.array([[1.0], [3.0], [99.0]], np.float32)
    standardise(columns, np.array([True, True, False]))
    np.testing.assert_allclose(columns.ravel(), [-1, 1, 0])
    nobody = np.ones((2, 1), np.float32)
    standardise(nobody, np.zeros(2, np.bool_))
    assert not nobody.any()


def test_public_scalings() -> None:
    features = csr_array(np.array([[1, 3], [0, 0], [2, 0]], np.float32))
    rows = scale_public(features, "row-normalised")
    assert issparse(rows)
    np.testing.assert_allclose(rows.toarray(), [[0.25, 0.75], [0, 0], [1, 0]])
    assert scale_public(features, "literal") is features
    dense = scale_public(features, "standardised")
    np.testing.assert_allclose(dense.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(dense.std(axis=0), 1, atol=1e-6)
    assert features.toarray()[0, 1] == 3  # the input is left alone


@pytest.mark.parametrize("rows", [1, 3000, 1 << 17, 200_001, 10**6, 10**8])
@pytest.mark.parametrize("columns", [0, 1, 8, 129, 300])
def test_strips_cover_every_column_once_from_a_whole_byte(rows: int, columns: int) -> None:
    found = list(strips(rows, columns))
    assert [column for strip in found for column in range(strip.start, strip.stop)] == list(range(columns))
    assert all(strip.start % 8 == 0 for strip in found)


def test_a_strip_of_many_people_takes_at_most_64_mib() -> None:
    assert columns_at_once(1 << 17) == 128
    assert all(4 * rows * columns_at_once(rows) <= 1 << 26 for rows in (1 << 17, 500_000, 10**6, 2 * 10**6))
    assert columns_at_once(10**6, most=256) == 16


WORDS = np.array([[1, 0, 2, 0, 0], [0, 0, 3, 0, 0], [0, 0, 1, 4, 0], [0, 0, 0, 0, 0]], np.float32)


def test_rows_of_words_are_counts_times_rarity_over_their_length() -> None:
    expected = WORDS * np.log(5 / (1 + np.array([1, 0, 3, 1, 0])))
    expected[:3] /= np.linalg.norm(expected[:3], axis=1, keepdims=True)
    for features in (WORDS, csr_array(WORDS)):
        rows = weighted_rows(features)
        assert rows.dtype == np.float32
        np.testing.assert_allclose(rows.toarray(), expected, atol=1e-6)
    assert rows.min() >= 0


@pytest.mark.parametrize("features, text", [(WORDS, True), (-WORDS, False), (WORDS + 1, False), (0 * WORDS, True)])
def test_text_is_sparse_and_has_no_negative_entry(features: np.ndarray, text: bool) -> None:
    assert is_text(features) is text
    assert is_text(csr_array(features)) is text


def test_other_features_do_not_depend_on_unit_and_zero_of_a_column() -> None:
    features = np.random.Generator(np.random.PCG64(1)).normal(size=(20, 6)).astype(np.float32)
    features[:, 2] = 5  # a constant column says nothing
    rows = weighted_rows(features)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    assert (rows[:, 2] == 0).all()
    moved = weighted_rows(features * np.float32([1, 100, 1, 0.01, 3, 7]) + np.float32([0, 2, 9, -1, 4, 30]))
    np.testing.assert_allclose(moved, rows, atol=1e-4)


def test_sparse_features_with_negative_entries_stay_sparse() -> None:
    signs = csr_array(np.array([[1, 0, 0], [0, -3, 0], [0, 0, 0], [-1, 0, 0]], np.float32))
    rows = standardised_rows(signs)
    assert issparse(rows) and rows.dtype == np.float32
    np.testing.assert_allclose(rows.toarray(), [[1, 0, 0], [0, -1, 0], [0, 0, 0], [-1, 0, 0]], atol=1e-6)


def test_adjacency_matrix_puts_the_target_in_the_row() -> None:
    edges = np.array([[0, 0, 2], [1, 1, 0]])
    matrix = adjacency_matrix(3, edges, np.array([1, 2, 5]))
    assert np.array_equal(matrix.toarray(), [[0, 0, 5], [3, 0, 0], [0, 0, 0]])


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
