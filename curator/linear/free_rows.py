"""Rows of a network that reads no features (FeatFree): random ones, or one free row a person, smoothed over the graph.

With S = D^-1/2 A D^-1/2, without self-loops, and K hops, rows X become

    hoa     (1/K) (S X + ... + S^K X)
    kprop   S^K X

and K = 0 leaves X. ``random`` rows are independent N(0, 1), smoothed once. ``identity`` is X = I: the first layer has
one free row a person. P = (1/K) (S + ... + S^K) is then never built: P W is K sparse products with W.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, eye_array

from ldpsim.curator.linear.factored import product_of
from ldpsim.curator.linear.mean_of_hops import MeanOfHops
from ldpsim.curator.linear.propagation import kprop_matrix, propagate

ROWS, SMOOTHERS = ("identity", "random"), ("hoa", "kprop")


def free_rows(adjacency: csr_array, rows: str, smoother: str, hops: int, *, width: int, seed: int) -> Any:
    """Return the smoothed rows: float32 (n, width), or a product (n, n) that is never multiplied out.

    Args:
        adjacency: float32 CSR (n, n).
        rows: ``identity`` or ``random``.
        smoother: ``hoa`` or ``kprop``.
        hops: K.
        width: Columns of random rows.
        seed: Seed of random rows.
    """
    n = adjacency.shape[0]
    matrix = kprop_matrix(adjacency)
    unsmoothed: Any
    if rows == "identity":
        unsmoothed = product_of(csr_array(eye_array(n, dtype=np.float32)), matrix, 0)
    else:
        unsmoothed = np.random.Generator(np.random.PCG64(seed)).standard_normal((n, width), np.float32)
    if smoother == "hoa" and hops:
        return propagate(MeanOfHops(matrix, hops), unsmoothed)
    return propagate(matrix, unsmoothed, hops)
