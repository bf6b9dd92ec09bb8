"""Partners that two people have in common: friends of friends are friends more often than strangers are.

With the probability w_ik of each pair of S, the expected number of common partners of i and j is

    t_ij = sum_k w_ik w_jk.

The pair's own weight is no part of it, so t is a score for the prior of an edge that does not hear the reports about
the pair itself. Most pairs of a sparse graph have t = 0, and ln(t + .02) tells the others apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ldpsim.devices.array_types import FloatArray, IntArray

_PARTNERS_OFFSET = 0.02
_ENTRIES_AT_ONCE = 1 << 22


def common_partners(weights: csr_array, left: IntArray, right: IntArray) -> NDArray[np.float64]:
    """float64 (k,): t of each pair.

    Args:
        weights: Symmetric CSR (n, n) with an empty diagonal: w.
        left, right: int64 (k,).
    """
    counts = np.empty(len(left))
    widths = np.diff(weights.indptr)
    ends = np.cumsum(widths[left] + widths[right])
    start = 0
    while start < len(left):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _ENTRIES_AT_ONCE, side="right")))
        part = slice(start, stop)
        counts[part] = np.asarray(weights[left[part]].multiply(weights[right[part]]).sum(axis=1)).ravel()
        start = stop
    return counts


def closure_score(weights: csr_array, left: IntArray, right: IntArray) -> FloatArray:
    """float64 (k,): ln(t + .02) of each pair."""
    return np.asarray(np.log(common_partners(weights, left, right) + _PARTNERS_OFFSET))
