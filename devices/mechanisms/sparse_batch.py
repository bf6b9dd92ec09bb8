"""Sparse rows of several people: values and reports of which most entries are nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import BoolArray, IntArray

ROW = 32  # a number is row << 32 | column


@dataclass(frozen=True, eq=False)
class SparseBatch:
    """Rows with entries at some columns, and 0 or False at all others; ``rows[k]`` is row k, dense.

    Args:
        columns: Sorted columns of the entries of each row, joined.
        counts: int64 (rows,): entries of each row.
        width: Length of the longest row that there may be.
        values: The entries; None for bits, which are all True.
        lengths: int64 (rows,): length of each row; None where all are ``width`` long.

    >>> rows = SparseBatch(np.array([0, 2, 1]), np.array([2, 1]), 3)
    >>> rows[0].tolist(), rows[1].tolist()
    ([True, False, True], [False, True, False])
    """

    columns: NDArray[Any]
    counts: IntArray
    width: int
    values: NDArray[Any] | None = None
    lengths: IntArray | None = None

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, row: int) -> NDArray[Any]:
        row = range(len(self))[row]
        end = int(self.counts[: row + 1].sum())
        own = slice(end - int(self.counts[row]), end)
        dense = np.zeros(int(self.sizes[row]), np.bool_ if self.values is None else self.values.dtype)
        dense[self.columns[own]] = True if self.values is None else self.values[own]
        return dense

    @property
    def sizes(self) -> IntArray:
        """int64 (rows,): length of each row."""
        return np.full(len(self), self.width) if self.lengths is None else self.lengths

    @property
    def rows(self) -> IntArray:
        """int64 (entries,): the row of each entry."""
        return np.repeat(np.arange(len(self)), self.counts)

    @property
    def numbers(self) -> IntArray:
        """int64 (entries,): row << 32 | column of each entry, rising."""
        return self.rows << ROW | self.columns

    def dense(self) -> NDArray[Any]:
        """Return all rows, (rows, width); a shorter row has nothing behind its end."""
        dense = np.zeros((len(self), self.width), np.bool_ if self.values is None else self.values.dtype)
        dense[self.rows, self.columns] = True if self.values is None else self.values
        return dense

    def with_bits(self, bits: BoolArray) -> SparseBatch:
        """Return bits (rows, any width) as rows of the lengths of these; what is behind a row's end is left out."""
        if self.lengths is not None:
            bits = bits & (np.arange(bits.shape[1]) < self.lengths[:, None])
        columns = np.flatnonzero(bits) % max(1, bits.shape[1])  # many times as quick as np.nonzero
        return SparseBatch(columns, np.count_nonzero(bits, axis=1), self.width, lengths=self.lengths)

    def with_numbers(self, numbers: IntArray) -> SparseBatch:
        """Return bits at these sorted numbers row << 32 | column, in rows of the lengths of these."""
        starts = np.searchsorted(numbers, np.arange(len(self) + 1) << ROW)
        return SparseBatch(numbers.astype(np.uint32), np.diff(starts), self.width, lengths=self.lengths)

    @staticmethod
    def of(rows: Sequence[NDArray[Any]]) -> SparseBatch:
        """Return dense rows, of bits or of numbers, as sparse ones."""
        columns = [np.flatnonzero(row) for row in rows]
        bits = all(row.dtype == np.bool_ for row in rows)
        values = None if bits else np.concatenate([row[own] for row, own in zip(rows, columns, strict=True)])
        lengths = np.array([len(row) for row in rows], np.int64)
        return SparseBatch(
            np.concatenate([np.zeros(0, np.int64), *columns]), np.array([len(own) for own in columns], np.int64),
            int(lengths.max(initial=0)), values, lengths,
        )  # fmt: skip
