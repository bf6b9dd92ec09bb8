"""People with similar features, as a weighted graph: k nearest rows by cosine, among some of the people.

A mean over similar people's rows says more about a person with few words than its own row does, and it needs no
label. All rows take part, those of unlabelled people too. Above 4,096 people, neighbours are looked for among evenly
spaced ones only, so time grows with n times 4,096, and above 32,768 people not faster than n.

Rows whose products are a Gaussian kernel of other rows, for ridge regression that is not linear (Nystroem).

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
from scipy.sparse import csr_array, issparse

from ldpsim.devices.array_types import IntArray

NEIGHBOURS = 30
_MOST = 4096  # people to look among
_FEWEST = 512
_ENTRIES = 1 << 27  # cosines in all
_AT_ONCE = 1 << 23
_DENSE = 1024  # columns up to which a dense product is faster


def near_rows(rows: Any, neighbours: int = NEIGHBOURS) -> csr_array:
    """float32 CSR (n, n): row i has the cosines of up to ``neighbours`` people most similar to i, without i.

    Args:
        rows: (n, d) of length 1 or 0, numpy or CSR.
        neighbours: Largest number of neighbours.

    >>> near_rows(np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]), 1).toarray().round(1)
    array([[0. , 0.8, 0. ],
           [0.8, 0. , 0. ],
           [0. , 0.6, 0. ]], dtype=float32)
    """
    n = rows.shape[0]
    among = np.linspace(0, n - 1, min(n, _MOST, max(_FEWEST, _ENTRIES // n))).astype(np.int64)
    place = np.full(n, -1, np.int64)
    place[among] = np.arange(len(among))
    if issparse(rows) and rows.shape[1] <= _DENSE:
        rows = rows.toarray()
    others = rows[among].T
    count = min(neighbours, len(among))
    step = max(1, _AT_ONCE // len(among))
    columns, cosines = [], []
    for start in range(0, n, step):
        products = rows[start : start + step] @ others
        block = np.asarray(products.toarray() if issparse(products) else products, np.float32)
        own = place[start : start + step]
        some = np.flatnonzero(own >= 0)
        block[some, own[some]] = 0
        best = np.argpartition(-block, count - 1, axis=1)[:, :count]
        columns.append(among[best])
        cosines.append(np.maximum(np.take_along_axis(block, best, axis=1), 0))
    chosen, weights = np.concatenate(columns).ravel(), np.concatenate(cosines).ravel()
    graph = csr_array((weights, (np.repeat(np.arange(n), count), chosen)), shape=(n, n))
    graph.eliminate_zeros()
    return graph


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
