"""Rows whose products are a Gaussian kernel of other rows, for ridge regression that is not linear (Nystroem).

With landmarks l_1 .. l_m among the people, K_ij = exp(-width |z_i - z_j|^2), and the m x m matrix of the landmarks
K_LL = U diag(s) U', the row of person i is

    (K_i,l1 .. K_i,lm) U diag(s)^-1/2,

without the columns in which s is next to 0. Products of two rows are K_ij for landmarks, and close to it for people
between landmarks. Ridge regression on these rows has its exact leave-one-out predictions, as no label is in them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ldpsim.devices.array_types import IntArray

LANDMARKS = 1024
_KERNEL_ENTRIES = 1 << 26  # of the rows; more people have fewer landmarks
_FEWEST_LANDMARKS = 64
_SMALLEST = 1e-6  # of the largest s


def landmarks_of(people: IntArray, n: int) -> IntArray:
    """Return landmarks, evenly spaced among ``people``: at most 1,024 of them, fewer where n is above 65,536."""
    count = min(LANDMARKS, max(_FEWEST_LANDMARKS, _KERNEL_ENTRIES // n), len(people))
    return people[np.linspace(0, len(people) - 1, count).astype(np.int64)]


def kernel_rows(rows: Any, landmarks: IntArray, width: float) -> NDArray[np.float32]:
    """float32 (n, up to m): rows whose products approximate the kernel.

    Args:
        rows: (n, d), numpy or CSR.
        landmarks: int64 (m,), m at least 1.
        width: Factor of the squared distance.
    """
    squares = np.asarray((rows.multiply(rows) if issparse(rows) else rows * rows).sum(axis=1)).ravel()
    products = rows @ rows[landmarks].T
    kernel = np.asarray(products.toarray() if issparse(products) else products, np.float32)
    kernel *= -2
    kernel += squares[:, None].astype(np.float32)
    kernel += squares[landmarks].astype(np.float32)
    np.maximum(kernel, 0, out=kernel)
    kernel *= -width
    np.exp(kernel, out=kernel)
    values, vectors = np.linalg.eigh(kernel[landmarks].astype(np.float64))
    large = values > _SMALLEST * values[-1]
    return kernel @ (vectors[:, large] / np.sqrt(values[large])).astype(np.float32)
