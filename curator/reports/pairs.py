"""Pairs of people all of whose reported bits are 1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array, triu

from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import IntArray

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
            block = transposed[row - first : row - first + step]
            yield row, first, ones[row : row + block.shape[0], first:], block


def agreed_ones(ones: csr_array) -> csr_array:
    """bool CSR (n, n): ones that both ends report."""
    n, upper = ones.shape[0], []
    for row, first, block, transposed in both_reports(as_numbers(ones), _ROWS_AT_ONCE):
        agreed = triu(block.multiply(transposed), k=row - first + 1).tocoo()
        upper.append(np.stack([agreed.row + row, agreed.col + first]))
    left, right = np.concatenate(upper, axis=1)
    pairs = np.concatenate([left, right]), np.concatenate([right, left])
    agreed = csr_array((np.ones(2 * len(left), np.bool_), pairs), shape=(n, n))
    agreed.sort_indices()
    return agreed


def agreed_pairs(reports: Reports) -> csr_array:
    """Symmetric float32 CSR (n, n): 1 for pairs about which every end that reported said 1."""
    adjacency = reports.needed("adjacency")
    if reports.source("adjacency").reporting == "one-end":
        ones = as_numbers(adjacency)
        return csr_array(ones + ones.T).astype(np.float32)
    agreed, reported = agreed_ones(adjacency).astype(np.float32), reports.reported("adjacency")
    if reported.all():
        return agreed
    ones = adjacency.tocoo()
    is_single = ~reported[ones.col]  # the other end did not report
    places = ones.row[is_single], ones.col[is_single]
    single = csr_array((ones.data[is_single], places), shape=agreed.shape).astype(np.float32)
    return csr_array(agreed + single + single.T)


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
