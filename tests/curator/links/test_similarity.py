from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.links.similarity import BitRows, RealRows, public_rows


def _bits(seed: int = 0, n: int = 60, d: int = 131, share: float = 0.2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    bits = rng.random((n, d)) < share
    bits[3] = False
    bits[5] = bits[6]
    return bits


@pytest.mark.parametrize("d", [1, 7, 8, 9, 64, 65, 131])
def test_pairs_and_blocks_of_bits_give_the_same_double(d: int) -> None:
    bits = _bits(d=d)
    rows = BitRows(np.packbits(bits, axis=1))
    left, right = (side.ravel() for side in np.indices((60, 60)))
    block = rows.block(slice(0, 60), slice(0, 60))
    assert np.array_equal(rows.cosine(left, right), block.ravel())
    counts = bits.astype(int) @ bits.T.astype(int)
    assert np.array_equal(rows.common(left, right), counts.ravel())
    norms = np.linalg.norm(bits, axis=1)
    with np.errstate(invalid="ignore"):
        expected = np.nan_to_num(counts / np.outer(norms, norms))
    np.testing.assert_allclose(block, expected, rtol=1e-12)


def test_identical_rows_have_cosine_one_exactly() -> None:
    rng = np.random.default_rng(0)
    for ones in (1, 2, 3, 7, 1003, 4714):
        bits = np.zeros((2, 5000), bool)
        bits[:, rng.permutation(5000)[:ones]] = True
        assert BitRows(np.packbits(bits, axis=1)).cosine(np.array([0]), np.array([1]))[0] == 1
    real = rng.random((1, 300)) * 1e-3
    rows = RealRows(csr_array(np.repeat(real, 2, axis=0)))
    assert rows.cosine(np.array([0]), np.array([1]))[0] == 1


def test_real_rows_add_in_rising_order_of_columns() -> None:
    rng = np.random.default_rng(1)
    dense = rng.random((40, 90)) * (rng.random((40, 90)) < 0.5)
    rows = RealRows(csr_array(dense))
    sums = np.zeros((40, 40))
    for column in dense.T:
        sums += np.outer(column, column)
    left, right = (side.ravel() for side in np.indices((40, 40)))
    squares = np.outer(np.diag(sums), np.diag(sums))
    expected = np.clip(sums / np.sqrt(squares), 0, 1)
    assert np.array_equal(rows.cosine(left, right), expected.ravel())
    assert np.abs(rows.block(slice(0, 40), slice(0, 40)) - expected).max() < rows.slack


def test_binary_public_features_are_packed_and_real_ones_are_not() -> None:
    bits = _bits()
    packed = public_rows(csr_array(bits.astype(np.float32)))
    assert isinstance(packed, BitRows) and np.array_equal(packed.packed, np.packbits(bits, axis=1))
    assert isinstance(public_rows(csr_array(bits * 0.5)), RealRows)
