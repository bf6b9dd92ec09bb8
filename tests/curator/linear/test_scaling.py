from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, issparse

from ldpsim.curator.linear.scaling import scale_public, standardise


def test_standardise_in_place() -> None:
    rng = np.random.default_rng(0)
    columns = (rng.random((200, 5)) * 3 + 10).astype(np.float32)
    columns[:, 2] = 0.1  # constant
    expected = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    standardise(columns)
    expected[:, 2] = 0
    np.testing.assert_allclose(columns, expected, atol=1e-4)


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
