"""Pairs of people all of whose reported bits are 1."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, vstack

from curator.linear.ones import as_numbers
from curator.reports.reports import Reports

_ROWS_AT_ONCE = 1 << 16


def agreed_pairs(reports: Reports) -> csr_array:
    """Symmetric float32 CSR (n, n): 1 for pairs about which every end that reported said 1."""
    adjacency = reports.needed("adjacency")
    one_end = reports.source("adjacency").reporting == "one-end"
    ones, reported = as_numbers(adjacency), reports.reported("adjacency")
    if one_end:
        return csr_array(ones + ones.T).astype(np.float32)
    named = csr_array(ones.T)
    starts = range(0, ones.shape[0], _ROWS_AT_ONCE)
    both = vstack([_rows(ones, start).multiply(_rows(named, start)) for start in starts], format="csr")
    both = both.astype(np.float32)
    if reported.all():
        return csr_array(both)
    alone = ones.tocoo()
    kept = ~reported[alone.col]
    single = csr_array((alone.data[kept], (alone.row[kept], alone.col[kept])), shape=ones.shape).astype(np.float32)
    return csr_array(both + single + single.T)


def _rows(matrix: csr_array, start: int) -> csr_array:
    """Return the block of rows that begins at ``start``."""
    return csr_array(matrix[start : start + _ROWS_AT_ONCE])
