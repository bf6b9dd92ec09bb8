"""Cosine similarity of feature rows, the same double on every path.

Two rows of bits with a and b ones, c of them shared, have s = c / sqrt(a b), from exact integers.
The counts come from a popcount of packed words (a list of pairs) or from a float32 product
of raw zeros and ones (a block of pairs; exact below 2**24), so both give the same s.

For rows of real numbers (public features) the products are added in rising order of
columns, in double, and s = sum / sqrt(q_i q_j). A block product adds in another order. It only
selects the pairs that may pass; these are then computed again.

Rows without a non-zero entry have s = 0. A negative sum gives s = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from ldpsim.devices.array_types import BoolArray, FloatArray, IntArray

_CHUNK_BYTES = 1 << 21  # two gathered operands of this size stay in a core's cache
_ROWS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class BitRows:
    """Rows of bits.

    ``dense_share`` is the share of all pairs above which one block product over all of them is faster than the pairs
    one by one. ``slack`` bounds the error of a block product.

    Args:
        packed: uint8 (n, ceil(d / 8)), rows of ``np.packbits``, trailing bits 0.

    >>> rows = BitRows(np.packbits([[1, 1, 0, 0], [1, 1, 1, 1]], axis=1))
    >>> rows.cosine(np.array([0]), np.array([1])).round(4)
    array([0.7071])
    """

    packed: NDArray[np.uint8] = field(repr=False)

    dense_share: ClassVar[float] = 0.45
    slack: ClassVar[float] = 0.0

    def __len__(self) -> int:
        return len(self.packed)

    @cached_property
    def words(self) -> NDArray[np.uint64]:
        """uint64 (n, ceil(d / 64)): the same bits in words."""
        missing = -self.packed.shape[1] % 8
        padded = np.pad(self.packed, ((0, 0), (0, missing))) if missing else self.packed
        return np.ascontiguousarray(padded).view(np.uint64)

    @cached_property
    def ones(self) -> IntArray:
        """int64 (n,): number of ones in each row."""
        counts = np.empty(len(self), np.int64)
        for start in range(0, len(self), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            counts[part] = np.bitwise_count(self.words[part]).sum(axis=1, dtype=np.int64)
        return counts

    @property
    def empty(self) -> BoolArray:
        """bool (n,): rows without a non-zero entry."""
        return self.ones == 0

    @property
    def entries(self) -> int:
        """Number of non-zero entries of all rows."""
        return int(self.ones.sum())

    def common(self, left: IntArray, right: IntArray) -> IntArray:
        """int64 (m,): number of shared ones of each pair."""
        counts = np.empty(len(left), np.int64)
        step = max(1, _CHUNK_BYTES // max(1, self.words.shape[1] * 8))
        for start in range(0, len(left), step):
            part = slice(start, start + step)
            both = np.take(self.words, left[part], axis=0)
            both &= np.take(self.words, right[part], axis=0)
            # einsum adds the few numbers of a row 3 times as fast as sum, take copies rows twice as fast as an index
            counts[part] = np.einsum("ij->i", np.bitwise_count(both), dtype=np.uint32)
        return counts

    def cosine(self, left: IntArray, right: IntArray) -> FloatArray:
        """float64 (m,): cosines of the pairs (left[k], right[k])."""
        return _cosine(self.common(left, right), self.ones[left] * self.ones[right])

    def block(self, rows: slice, columns: slice) -> FloatArray:
        """float64 (rows, columns): cosines of all pairs, within ``slack``."""
        one, other = (np.unpackbits(self.packed[part], axis=1).astype(np.float32) for part in (rows, columns))
        return _cosine(one @ other.T, np.multiply.outer(self.ones[rows], self.ones[columns]))

    def sparse(self) -> csr_array:
        """Return the rows as a CSR matrix of float64."""
        parts = range(0, len(self), _ROWS_AT_ONCE)
        return vstack([csr_array(np.unpackbits(self.packed[start : start + _ROWS_AT_ONCE], axis=1), dtype=np.float64)
                       for start in parts], format="csr")  # fmt: skip


@dataclass(frozen=True, eq=False)
class RealRows:
    """Rows of real numbers; its members are those of :class:`BitRows`.

    Args:
        matrix: scipy CSR (n, d) of float64, columns sorted, no stored zeros.
    """

    matrix: csr_array = field(repr=False)

    dense_share: ClassVar[float] = 0.02
    # float32 sums of at most a few thousand products of unit vectors' entries
    slack: ClassVar[float] = 1e-4

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @cached_property
    def squares(self) -> FloatArray:
        """float64 (n,): the sum of squares of each row."""
        return self._sums(self.matrix.multiply(self.matrix))

    @property
    def empty(self) -> BoolArray:
        return self.squares == 0

    @property
    def entries(self) -> int:
        return int(self.matrix.nnz)

    @staticmethod
    def _sums(products: Any) -> FloatArray:
        # A sparse product with a vector adds in rising order of columns; ``sum`` need not.
        return csr_array(products) @ np.ones(products.shape[1])

    def cosine(self, left: IntArray, right: IntArray) -> FloatArray:
        sums = np.empty(len(left))
        for start in range(0, len(left), 1 << 15):
            part = slice(start, start + (1 << 15))
            sums[part] = self._sums(self.matrix[left[part]].multiply(self.matrix[right[part]]))
        return _cosine(sums, self.squares[left] * self.squares[right])

    @cached_property
    def _unit(self) -> csr_array:
        scale = np.zeros(len(self))
        np.divide(1, np.sqrt(self.squares), out=scale, where=self.squares > 0)
        unit = self.matrix.copy()
        unit.data *= np.repeat(scale, np.diff(unit.indptr))
        return unit.astype(np.float32)

    def block(self, rows: slice, columns: slice) -> FloatArray:
        product = self._unit[rows].toarray() @ self._unit[columns].toarray().T
        return np.clip(product.astype(np.float64), 0, 1)

    def sparse(self) -> csr_array:
        return self.matrix


Rows = BitRows | RealRows


def public_rows(features: Any) -> Rows:
    """Return public features (scipy CSR) as rows; as rows of bits if every entry is 0 or 1."""
    matrix = csr_array(features).astype(np.float64)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return BitRows(packed_ones(matrix)) if np.all(matrix.data == 1) else RealRows(matrix)


def packed_ones(matrix: csr_array) -> NDArray[np.uint8]:
    """uint8 (n, ceil(d / 8)): the non-zero entries of a sparse matrix as packed bits."""
    packed = np.zeros((matrix.shape[0], (matrix.shape[1] + 7) // 8), np.uint8)
    for start in range(0, len(packed), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        packed[part] = np.packbits(matrix[part].toarray() != 0, axis=1)
    return packed


def _cosine(sums: Any, squares: Any) -> FloatArray:
    """sums / sqrt(squares) in double, 0 where the product of squares is 0, never outside [0, 1]."""
    roots = np.sqrt(squares, dtype=np.float64)
    cosines = np.zeros_like(roots)
    np.divide(sums, roots, out=cosines, where=roots > 0)
    return np.clip(cosines, 0, 1, out=cosines)


PairBatch = tuple[IntArray, IntArray]
Keys = NDArray[np.uint64]
