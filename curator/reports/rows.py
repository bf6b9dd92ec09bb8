"""Rows of bits in the reports, under noise that flips each of them alike.

Pairs of people all of whose reported bits are 1.

Reports without the answers of some people, as if their devices had never answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, triu

from ldpsim.curator.reports.reports import CATEGORIES, Reports, joined_reports
from ldpsim.devices.array_types import BoolArray, IntArray
from ldpsim.devices.mechanisms import AdjacencyBits
from ldpsim.devices.mechanisms.stacked_reports import ones_at


class PairReports:
    """Knowledge of who reported which pairs; its dataclass has these fields.

    Args:
        reported: bool (n,): the people who reported their list.
        one_end: Person i reports about j < i only.
    """

    reported: BoolArray
    one_end: bool

    @property
    def n(self) -> int:
        """Number of people."""
        return len(self.reported)

    def reports(self, left: IntArray, right: IntArray) -> NDArray[np.int8]:
        """int8 (k,): number of reports about each pair, left < right."""
        own = self.reported[right].astype(np.int8)
        return own if self.one_end else own + self.reported[left]


@dataclass(frozen=True, eq=False)
class FlippedRows(PairReports):
    """Reported rows of bits, and the law of their noise.

    Args:
        ones: bool CSR (n, n), row i the ones that i reported.
        reported, one_end: As in :class:`PairReports`.
        flip: Probability that a bit is flipped; 0 for a row in clear.
        odds: flip / (1 - flip), exactly that of the threshold that the devices used.
    """

    ones: csr_array = field(repr=False)
    reported: BoolArray = field(repr=False)
    one_end: bool
    flip: float
    odds: float

    @property
    def lengths(self) -> IntArray:
        """int64 (n,): number of bits in each row."""
        return np.arange(self.n) if self.one_end else np.full(self.n, self.n - 1)

    @property
    def weights(self) -> IntArray:
        """int64 (n,): number of ones in each row."""
        return np.diff(self.ones.indptr).astype(np.int64)


def flipped_rows(reports: Reports) -> FlippedRows | None:
    """Return the rows of bits; None if the reports hold none, or if the flip probability is not known."""
    if reports.adjacency is None:
        return None
    mechanism = reports.source("adjacency")
    if not isinstance(mechanism, AdjacencyBits) or mechanism.flip_probability is None or mechanism.flip_odds is None:
        return None
    reported, one_end = reports.reported("adjacency"), mechanism.reporting == "one-end"
    return FlippedRows(reports.adjacency, reported, one_end, mechanism.flip_probability, mechanism.flip_odds)


def noisy_rows_of_bits(reports: Reports) -> FlippedRows:
    """Return the rows of bits, under noise.

    Raises:
        ValueError: for reports without rows of bits, or with rows under another noise or none.
    """
    reports.needed("adjacency")
    rows = flipped_rows(reports)
    if rows is None or not rows.flip:
        name = reports.source("adjacency").name
        raise ValueError(f"the reports hold no neighbour lists whose bits are flipped alike: {name} has another law")
    return rows


_ROWS_AT_ONCE = 1 << 16
_ONES_AT_ONCE = 1 << 25  # of a part of a transpose: 160 MiB


def as_numbers(ones: csr_array) -> csr_array:
    """Return a bool matrix as int8, whose entries can be added; places and values are shared, not copied.

    >>> as_numbers(csr_array(np.eye(2, dtype=bool))).toarray()
    array([[1, 0],
           [0, 1]], dtype=int8)
    """
    data = ones.data.view(np.int8) if ones.dtype == np.bool_ else ones.data.astype(np.int8)
    return csr_array((data, ones.indices, ones.indptr), shape=ones.shape)


def both_reports(ones: csr_array, step: int) -> Iterator[tuple[int, int, csr_array, csr_array]]:
    """Yield what both ends report about pairs, in blocks that cover the part of the matrix above its diagonal.

    The transpose is made in parts, so that it is never in memory as a whole.

    Args:
        ones: CSR (n, n) of numbers with sorted indices.
        step: Largest number of rows of a block.

    Yields:
        The first row and the first column of a block; its CSR in ``ones``, and in the transpose.

    >>> ones = csr_array(np.array([[0, 1], [1, 0]]))
    >>> [(row, column, a.toarray().tolist(), b.toarray().tolist()) for row, column, a, b in both_reports(ones, step=1)]
    [(0, 0, [[0, 1]], [[0, 1]]), (1, 0, [[1, 0]], [[1, 0]])]
    """
    n = ones.shape[0]
    width = -(-n // (max(1, -(-ones.nnz // _ONES_AT_ONCE)) * step)) * step
    for first in range(0, n, width):
        transposed = csr_array(ones[first:, first : first + width].T)
        for row in range(first, min(first + width, n), step):
            other = transposed[row - first : row - first + step]
            yield row, first, ones[row : row + other.shape[0], first:], other


def agreed_ones(ones: csr_array) -> csr_array:
    """bool CSR (n, n): ones that both ends report."""
    n, upper = ones.shape[0], []
    for row, first, own, other in both_reports(as_numbers(ones), _ROWS_AT_ONCE):
        both = triu(own.multiply(other), k=row - first + 1).tocoo()
        upper.append(np.stack([both.row + row, both.col + first]))
    left, right = np.concatenate(upper, axis=1)
    pairs = np.concatenate([left, right]), np.concatenate([right, left])
    both = csr_array((np.ones(2 * len(left), np.bool_), pairs), shape=(n, n))
    both.sort_indices()
    return both


def agreed_pairs(reports: Reports) -> csr_array:
    """Symmetric float32 CSR (n, n): 1 for pairs about which every end that reported said 1."""
    adjacency = reports.needed("adjacency")
    if reports.source("adjacency").reporting == "one-end":
        ones = as_numbers(adjacency)
        return csr_array(ones + ones.T).astype(np.float32)
    both, reported = agreed_ones(adjacency).astype(np.float32), reports.reported("adjacency")
    if reported.all():
        return both
    alone = adjacency.tocoo()
    pairs = ~reported[alone.col]
    single = csr_array((alone.data[pairs], (alone.row[pairs], alone.col[pairs])), shape=both.shape).astype(np.float32)
    return csr_array(both + single + single.T)


def reported_pairs(reports: Reports, rule: str) -> csr_array:
    """CSR (n, n) of ones: pairs that both ends report (``and``), or one (``or``); otherwise row i, the ones of i."""
    if rule == "and":
        return agreed_pairs(reports)
    ones = reports.needed("adjacency")
    return csr_array(ones + ones.T) if rule == "or" else ones


def agreed_edges(reports: Reports) -> IntArray:
    """int64 (2, m): the same pairs, each once, by left and then right end; left < right."""
    pairs = csr_array(triu(agreed_pairs(reports), k=1))
    pairs.sort_indices()
    left, right = pairs.tocoo().coords
    return np.stack([left, right]).astype(np.int64)


def silenced(reports: Reports, who: BoolArray) -> Reports:
    """Return the reports that the curator would have if these people, bool (n,), had not answered."""
    if not who.any():
        return reports
    if reports.parts:
        return joined_reports([silenced(part, who) for part in reports.parts])
    arrays = {name: _emptied(array, who, name) for name, array in reports.arrays.items()}
    return replace(reports, answered=reports.answered & ~who, arrays=arrays)


def without_ones(ones: csr_array, dropped: BoolArray) -> csr_array:
    """bool CSR: the ones without those at these places of ``indices``, bool (number of ones,)."""
    before = np.concatenate([[0], np.cumsum(~dropped)])
    rest: csr_array = ones_at(ones.shape, before[ones.indptr].astype(ones.indptr.dtype), ones.indices[~dropped])
    return rest


def _emptied(array: Any, who: BoolArray, name: str) -> Any:
    """Return an array of reports with nothing in the rows of these people."""
    if issparse(array):
        dropped = np.repeat(who, np.diff(array.indptr))
        rest = without_ones(array, dropped)
        if array.dtype == np.bool_:
            return rest
        return csr_array((array.data[~dropped], rest.indices, rest.indptr), shape=array.shape)
    left = array.copy()
    left[who] = -1 if name in CATEGORIES and left.ndim == 1 else 0
    return left
