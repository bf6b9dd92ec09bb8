"""Cosine similarity of feature rows, the same double on every path.

Two rows of bits with a and b ones, c of them shared, have s = c / sqrt(a b), from exact integers.
The counts come from a popcount of packed words (a list of pairs) or from a float32 product
of raw zeros and ones (a block of pairs; exact below 2**24), so both give the same s.

For rows of real numbers (public features) the products are added in rising order of
columns, in double, and s = sum / sqrt(q_i q_j). A block product adds in another order. It only
selects the pairs that may pass; these are then computed again.

Rows without a non-zero entry have s = 0. A negative sum gives s = 0.

Pairs of rows whose cosine may reach a bound close to 1, without a look at all pairs.

A HoGS pair without a reported one needs such a cosine. There are two exact filters. Each may
return pairs below the bound; neither loses a pair that reaches it.

*Blocks* (bits). Rows with a and b ones and cosine s differ in a + b - 2 s sqrt(a b)
positions. With s >= s0 that is at most r = floor(2 a_max (1 - s0)), since min(a, b) >= s0^2
max(a, b) and the number grows with the smaller of the two. Cut the columns into r + 1
blocks: a pair that differs in at most r positions agrees exactly in one of them. r = 0
leaves identical rows only.

*Prefixes* (any rows). Order the columns from the rarest. A row's prefix ends where the rest
of the row has a norm below s0 times the row's. If two rows share no column of either prefix,
all shared columns lie in the rest, and by Cauchy-Schwarz their cosine is below s0. So
the rarest shared column lies in both prefixes (Chaudhuri et al. 2006; Bayardo
et al. 2007).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


# Above this number of entries, sorting takes more memory and time than the filter saves.
_MOST_ENTRIES = 1 << 22
# Far above the rounding errors of s and of the bound.
_ROUNDING = 1e-12
_GROUPED_AT_ONCE = 1 << 20

PairBatch = tuple[IntArray, IntArray]
Keys = NDArray[np.uint64]


def candidates(rows: Rows, gap: float, limit: float) -> Iterator[PairBatch] | None:
    """Return batches of pairs (left < right) that hold every pair with cosine >= 1 - gap.

    Args:
        rows: The rows; empty ones are in no pair.
        gap: 1 - s0, at least 0.
        limit: Largest number of pairs worth looking at.

    Returns:
        Batches, in which a pair may occur more than once; None if every filter
        would return more than ``limit`` pairs.
    """
    gap += _ROUNDING
    people = np.flatnonzero(~rows.empty)
    if len(people) < 2:
        return iter(())
    best = _blocks(rows, people, gap) if isinstance(rows, BitRows) else None
    count = np.inf if best is None else _number_of_pairs(best)
    if count > min(limit, 8 * len(people)) and rows.entries <= _MOST_ENTRIES:
        other = _prefixes(rows, gap)
        if (number := _number_of_pairs(other)) < count:
            best, count = other, number
    return None if best is None or count > limit else _pairs(best)


# Members with keys, list by list; two members of one key are a candidate pair.
_Groups = Callable[[], Iterator[tuple[Keys, IntArray]]]


def _number_of_pairs(groups: _Groups) -> float:
    """Return the number of candidate pairs, with repetitions."""
    sizes = [np.unique(keys, return_counts=True)[1].astype(np.float64) for keys, _ in groups()]
    return float(sum((size * (size - 1) / 2).sum() for size in sizes))


def _blocks(rows: BitRows, people: IntArray, gap: float) -> _Groups | None:
    """Return hashes of the rows' content in each block of columns; None where there are more blocks than columns."""
    differ, width = 2 * float(rows.ones.max()) * gap, rows.packed.shape[1]
    if differ >= width:
        return None
    edges = np.linspace(0, width, int(differ) + 2).astype(np.int64)
    # Equal rows have equal hashes; a collision of others only adds a candidate.
    odd: Any = np.random.default_rng(0).integers(1 << 63, size=width, dtype=np.uint64) * np.uint64(2) + np.uint64(1)

    def lists() -> Iterator[tuple[Keys, IntArray]]:
        for first, last in zip(edges[:-1], edges[1:], strict=True):
            keys = np.zeros(len(people), np.uint64)
            for column in range(first, last):
                keys += rows.packed[people, column].astype(np.uint64) * odd[column]
            yield keys, people

    return lists


def _prefixes(rows: Rows, gap: float) -> _Groups:
    """Return the (column, row) entries of all rows' prefixes."""
    matrix = rows.sparse()
    holders = np.bincount(matrix.indices, minlength=matrix.shape[1])
    rank = np.empty(len(holders), np.int64)
    rank[np.argsort(holders, kind="stable")] = np.arange(len(holders))
    row_of = np.repeat(np.arange(len(rows)), np.diff(matrix.indptr))
    order = np.lexsort((rank[matrix.indices], row_of))
    squares = matrix.data[order] ** 2
    squares /= np.bincount(row_of, weights=squares, minlength=len(rows))[row_of]
    before = np.cumsum(squares) - squares
    before -= before[matrix.indptr[:-1][row_of]]
    # The entry is needed while it and what follows have norm s0 or more.
    needed = 1 - before >= (1 - gap) ** 2 - 1e-9
    keys, members = matrix.indices[order][needed].astype(np.uint64), row_of[needed]
    return lambda: iter([(keys, members)])


def _pairs(groups: _Groups) -> Iterator[PairBatch]:
    for keys, members in groups():
        order = np.argsort(keys, kind="stable")
        keys, members = keys[order], members[order]
        places = np.flatnonzero(keys[1:] == keys[:-1])  # members whose successor has the same key
        distance = 1
        while len(places):
            for start in range(0, len(places), _GROUPED_AT_ONCE):
                part = places[start : start + _GROUPED_AT_ONCE]
                one, other = members[part], members[part + distance]
                yield np.minimum(one, other), np.maximum(one, other)
            distance += 1
            places = places[places + distance < len(keys)]
            places = places[keys[places + distance] == keys[places]]
