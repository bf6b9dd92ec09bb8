"""Personalised PageRank of features: every person's mean over the graph, near people first.

    Z = sum_{k >= 0} alpha (1 - alpha)^k T^k X,    T = D^(r-1) A D^-r,

so Z solves (I - rho T) Z = alpha X with rho = 1 - alpha. T has the eigenvalues of the symmetric
D^-1/2 A D^-1/2, which lie in [-1, 1]. Chebyshev's iteration uses that: its error falls by
rho / (1 + sqrt(1 - rho^2)) a step, where a step of the plain sum leaves rho. At alpha = 0.1
the same error takes a quarter of the steps.

Golub and Varga 1961, https://doi.org/10.1007/BF01386013
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

_COLUMNS_AT_ONCE = 64
TOLERANCE = 1e-5


def walk_matrix(adjacency: csr_array, r: float) -> csr_array:
    """float32 CSR (n, n): D^(r-1) A D^-r; r = 0 is the mean over neighbours, r = 1/2 is symmetric.

    Rows and columns of a node without neighbours are 0.
    """
    degrees = np.asarray(adjacency.sum(axis=1, dtype=np.float64)).ravel()
    divisors = np.maximum(degrees, 1)
    left, right = diags_array(divisors ** (r - 1)), diags_array(divisors**-r)
    return csr_array(left @ adjacency @ right).astype(np.float32)


def personalized_pagerank(
    walk: csr_array, rows: Any, alpha: float, tolerance: float = TOLERANCE
) -> NDArray[np.float32]:
    """float32 (n, d): Z of rows X, in strips of columns; beside the result no dense n x d array exists.

    Args:
        walk: T, of :func:`walk_matrix` for a symmetric adjacency.
        rows: X, (n, d), numpy or sparse.
        alpha: Chance of a return, in (0, 1].
        tolerance: The error at the end, as a share of X.

    >>> path = walk_matrix(csr_array(np.array([[0, 1], [1, 0]], np.float32)), 0.5)
    >>> personalized_pagerank(path, np.eye(2, dtype=np.float32), 0.5).astype(np.float64).round(4).tolist()
    [[0.6667, 0.3333], [0.3333, 0.6667]]
    """
    by_column = rows.tocsc() if issparse(rows) else rows
    result = np.empty(rows.shape, np.float32)
    for start in range(0, rows.shape[1], _COLUMNS_AT_ONCE):
        columns = slice(start, start + _COLUMNS_AT_ONCE)
        strip = by_column[:, columns]
        dense = strip.toarray() if issparse(strip) else np.asarray(strip)
        result[:, columns] = _solve(walk, dense.astype(np.float32), alpha, tolerance)
    return result


def _solve(walk: csr_array, rows: NDArray[np.float32], alpha: float, tolerance: float) -> NDArray[np.float32]:
    """float32 (n, d): Z of (I - rho T) Z = alpha X, by Chebyshev's iteration."""
    rho = 1 - alpha
    right = np.float32(alpha) * rows
    previous, current = np.zeros_like(right), right
    omega = 2.0
    for _ in range(_steps(rho, tolerance)):
        omega = 1 / (1 - rho**2 * omega / 4)
        following = walk @ current
        following *= np.float32(rho)
        following += right
        following -= previous
        following *= np.float32(omega)
        following += previous
        previous, current = current, following
    return current


def _steps(rho: float, tolerance: float) -> int:
    """Number of steps after which the error is below ``tolerance``."""
    return math.ceil(math.log(tolerance / 2) / math.log(rho / (1 + math.sqrt(1 - rho**2)))) if rho > 0 else 0
