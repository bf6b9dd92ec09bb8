"""Pairs of people all of whose reported bits are 1."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, triu, vstack

from ldpsim.curator.linear.ones import as_numbers
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import IntArray

_ROWS_AT_ONCE = 1 << 16


def agreed_ones(ones: csr_array) -> csr_array:
    """bool CSR (n, n): ones that both ends report."""
    numbers = as_numbers(ones)
    named = csr_array(numbers.T)
    starts = range(0, ones.shape[0], _ROWS_AT_ONCE)
    both = vstack([_rows(numbers, start).multiply(_rows(named, start)) for start in starts], format="csr")
    both = both.astype(np.bool_)
    both.sort_indices()
    return csr_array(both)


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
    kept = ~reported[alone.col]
    single = csr_array((alone.data[kept], (alone.row[kept], alone.col[kept])), shape=both.shape).astype(np.float32)
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


def _rows(matrix: csr_array, start: int) -> csr_array:
    """Return the block of rows that begins at ``start``."""
    return csr_array(matrix[start : start + _ROWS_AT_ONCE])
