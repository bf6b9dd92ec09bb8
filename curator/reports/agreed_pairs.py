"""Pairs of people all of whose reported bits are 1."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from curator.reports.reports import Reports


def agreed_pairs(reports: Reports) -> csr_array:
    """Symmetric float32 CSR (n, n): 1 for pairs about which every end that reported said 1."""
    adjacency = reports.needed("adjacency")
    one_end = reports.source("adjacency").reporting == "one-end"
    ones = adjacency.astype(np.float32)
    reported = reports.reported("adjacency")
    if one_end:
        return csr_array(ones + ones.T)
    both = csr_array(ones.multiply(ones.T))
    alone = ones.tocoo()
    kept = ~reported[alone.col]
    single = csr_array((alone.data[kept], (alone.row[kept], alone.col[kept])), shape=ones.shape)
    return csr_array(both + single + single.T)
