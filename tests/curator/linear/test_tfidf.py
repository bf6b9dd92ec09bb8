"""Rows of length 1: weights of words, and standardised columns of everything else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from ldpsim.curator.linear.scaling import is_text, standardised_rows, weighted_rows

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
