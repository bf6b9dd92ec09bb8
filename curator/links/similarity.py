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

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ldpsim.devices.array_types import BoolArray, FloatArray, IntArray

_CHUNK_BYTES = 1 << 21  # two gathered operands of this size stay in a core's cache
_ROWS_AT_ONCE = 1024


class Rows(Protocol):
    """Feature rows of n nodes.

    ``dense_share`` is the share of all pairs above which one block product over all of
    them is faster than the pairs one by one. ``slack`` bounds the error of a block product.
    """

    dense_share: ClassVar[float]
    slack: ClassVar[float]

    def __len__(self) -> int: ...

    @property
    def empty(self) -> BoolArray:
        """bool (n,): rows without a non-zero entry."""
        ...

    @property
    def entries(self) -> int:
        """Number of non-zero entries of all rows."""
        ...

    def cosine(self, left: IntArray, right: IntArray) -> FloatArray:
        """float64 (m,): cosines of the pairs (left[k], right[k])."""
        ...

    def block(self, rows: slice, columns: slice) -> FloatArray:
        """float64 (rows, columns): cosines of all pairs, within ``slack``."""
        ...

    def sparse(self) -> csr_array:
        """Return the rows as a CSR matrix of float64."""
        ...


@dataclass(frozen=True, eq=False)
class BitRows:
    """Rows of bits.

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

    @classmethod
    def from_csr(cls, matrix: Any) -> BitRows:
        """Pack the non-zero entries of a sparse matrix."""
        packed = np.zeros((matrix.shape[0], (matrix.shape[1] + 7) // 8), np.uint8)
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        masks = (0x80 >> (matrix.indices % 8)).astype(np.uint8)
        np.bitwise_or.at(packed, (rows, matrix.indices // 8), masks)
        return cls(packed)

    @cached_property
    def words(self) -> NDArray[np.uint64]:
        """uint64 (n, ceil(d / 64)): the same bits in words."""
        width = -(-self.packed.shape[1] // 8) * 8
        if width == self.packed.shape[1]:
            return np.ascontiguousarray(self.packed).view(np.uint64)
        padded = np.zeros((len(self), width), np.uint8)
        padded[:, : self.packed.shape[1]] = self.packed
        return padded.view(np.uint64)

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
        return self.ones == 0

    @property
    def entries(self) -> int:
        return int(self.ones.sum())

    def common(self, left: IntArray, right: IntArray) -> IntArray:
        """int64 (m,): number of shared ones of each pair."""
        counts = np.empty(len(left), np.int64)
        step = max(1, _CHUNK_BYTES // max(1, self.words.shape[1] * 8))
        for start in range(0, len(left), step):
            part = slice(start, start + step)
            both = self.words[left[part]]
            both &= self.words[right[part]]
            counts[part] = np.bitwise_count(both).sum(axis=1, dtype=np.uint32)
        return counts

    def cosine(self, left: IntArray, right: IntArray) -> FloatArray:
        return _cosine(self.common(left, right), self.ones[left] * self.ones[right])

    def block(self, rows: slice, columns: slice) -> FloatArray:
        counts = self._floats(rows) @ self._floats(columns).T
        return _cosine(counts, np.multiply.outer(self.ones[rows], self.ones[columns]))

    def _floats(self, rows: slice) -> NDArray[np.float32]:
        return np.unpackbits(self.packed[rows], axis=1).astype(np.float32)

    def sparse(self) -> csr_array:
        columns = []
        for start in range(0, len(self), _ROWS_AT_ONCE):
            block = np.unpackbits(self.packed[start : start + _ROWS_AT_ONCE], axis=1)
            columns.append(np.nonzero(block)[1].astype(np.int32))
        indices = np.concatenate(columns)
        indptr = np.concatenate([[0], np.cumsum(self.ones)])
        return csr_array((np.ones(len(indices)), indices, indptr), shape=(len(self), self.packed.shape[1] * 8))


@dataclass(frozen=True, eq=False)
class RealRows:
    """Rows of real numbers.

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


def public_rows(features: Any) -> Rows:
    """Return public features (scipy CSR) as rows; as rows of bits if every entry is 0 or 1."""
    matrix = csr_array(features).astype(np.float64)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return BitRows.from_csr(matrix) if np.all(matrix.data == 1) else RealRows(matrix)


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
    kept = np.flatnonzero(~rows.empty)
    if len(kept) < 2:
        return iter(())
    best: _Groups | None = _Blocks.fit(rows, kept, gap) if isinstance(rows, BitRows) else None
    if best is None or best.pairs > min(limit, 8 * len(kept)):
        other = _Prefixes.fit(rows, gap)
        if best is None or (other is not None and other.pairs < best.pairs):
            best = other
    return None if best is None or best.pairs > limit else _pairs(best)


class _Groups:
    """Members with keys; two members of one key are a candidate pair."""

    def lists(self) -> Iterator[tuple[Keys, IntArray]]:
        raise NotImplementedError

    @cached_property
    def pairs(self) -> float:
        """Number of candidate pairs, with repetitions."""
        total = 0.0
        for keys, _ in self.lists():
            sizes = np.unique(keys, return_counts=True)[1].astype(np.float64)
            total += float((sizes * (sizes - 1) / 2).sum())
        return total


class _Blocks(_Groups):
    """Hashes of every row's content, one for each block of columns."""

    def __init__(self, rows: BitRows, kept: IntArray, edges: NDArray[np.int64]) -> None:
        self.rows, self.kept, self.edges = rows, kept, edges

    @classmethod
    def fit(cls, rows: BitRows, kept: IntArray, gap: float) -> _Blocks | None:
        differ = 2 * float(rows.ones.max()) * gap
        width = rows.packed.shape[1]
        return None if differ >= width else cls(rows, kept, np.linspace(0, width, int(differ) + 2).astype(np.int64))

    def lists(self) -> Iterator[tuple[Keys, IntArray]]:
        # Equal rows have equal hashes; a collision of others only adds a candidate.
        odd = np.random.default_rng(0).integers(1 << 63, size=self.edges[-1], dtype=np.uint64) * np.uint64(2)
        for first, last in zip(self.edges[:-1], self.edges[1:], strict=True):
            keys = np.zeros(len(self.kept), np.uint64)
            for column in range(first, last):
                keys += self.rows.packed[self.kept, column].astype(np.uint64) * (odd[column] + np.uint64(1))
            yield keys, self.kept


class _Prefixes(_Groups):
    """The (column, row) entries of all rows' prefixes."""

    def __init__(self, keys: Keys, members: IntArray) -> None:
        self.keys, self.members = keys, members

    @classmethod
    def fit(cls, rows: Rows, gap: float) -> _Prefixes | None:
        if rows.entries > _MOST_ENTRIES:
            return None
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
        return cls(matrix.indices[order][needed].astype(np.uint64), row_of[needed])

    def lists(self) -> Iterator[tuple[Keys, IntArray]]:
        yield self.keys, self.members


def _pairs(groups: _Groups) -> Iterator[PairBatch]:
    for keys, members in groups.lists():
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
