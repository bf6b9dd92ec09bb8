"""Propagation on sparse matrices: the GCN, KProp and mean matrices, and label propagation.

A matrix multiplies features from the left: entry (i, j) is the weight of node j's row for node i.

Personalised PageRank of features: every person's mean over the graph, near people first.

    Z = sum_{k >= 0} alpha (1 - alpha)^k T^k X,    T = D^(r-1) A D^-r,

so Z solves (I - rho T) Z = alpha X with rho = 1 - alpha. T has the eigenvalues of the symmetric
D^-1/2 A D^-1/2, which lie in [-1, 1]. Chebyshev's iteration uses that: its error falls by
rho / (1 + sqrt(1 - rho^2)) a step, where a step of the plain sum leaves rho. At alpha = 0.1
the same error takes a quarter of the steps.

Golub and Varga 1961, https://doi.org/10.1007/BF01386013
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array, issparse

from ldpsim.curator.linear.factored import Factored
from ldpsim.curator.linear.scaling import strips
from ldpsim.devices.array_types import IntArray

_LABEL_STEPS = 50
_DENSE = 0.1  # share of entries from which a dense matrix is faster


def both_directions(edges: IntArray) -> IntArray:
    """int64 (2, 2m) from the undirected edges, each once, int64 (2, m)."""
    return np.concatenate([edges, edges[::-1]], axis=1)


def adjacency_matrix(n: int, edge_index: IntArray, edge_weight: Any = None) -> csr_array:
    """float32 CSR (n, n): entry (target, source) is the edge's weight; repeated edges add up.

    >>> adjacency_matrix(2, np.array([[0], [1]])).toarray()  # one edge, from 0 to 1
    array([[0., 0.],
           [1., 0.]], dtype=float32)
    """
    weight = np.ones(edge_index.shape[1], np.float32) if edge_weight is None else np.asarray(edge_weight, np.float32)
    target, source = (np.asarray(ends, np.int32) for ends in (edge_index[1], edge_index[0]))
    matrix = csr_array((weight, (target, source)), shape=(n, n))
    matrix.sum_duplicates()
    return matrix


def gcn_matrix(adjacency: csr_array) -> csr_array:
    """D^-1/2 (A + I) D^-1/2, D the row sums of A + I (Kipf and Welling 2017)."""
    looped = csr_array(adjacency + eye_array(adjacency.shape[0], dtype=np.float32, format="csr"))
    root = 1 / np.sqrt(_row_sums(looped))
    return _scaled(looped, root, root)


def kprop_matrix(adjacency: csr_array, *, self_loops: bool = False) -> csr_array:
    """D^-1/2 A D^-1/2 *without* self-loops (LPGNN's KProp), D the row sums of A; 0 for a node without neighbours.

    With ``self_loops`` it is :func:`gcn_matrix`. A directed graph has one D, its row sums.
    """
    if self_loops:
        return gcn_matrix(adjacency)
    sums = _row_sums(adjacency)
    root = np.divide(1, np.sqrt(sums), out=np.zeros_like(sums), where=sums > 0)
    return _scaled(adjacency, root, root)


def mean_matrix(adjacency: csr_array) -> csr_array:
    """D^-1 A: the weighted mean over the neighbours; 0 for a node without neighbours."""
    sums = _row_sums(adjacency)
    inverse = np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0)
    return _scaled(adjacency, inverse)


def _scaled(matrix: csr_array, rows: NDArray[np.float64], columns: NDArray[np.float64] | None = None) -> csr_array:
    """float32 CSR: each entry times the factors of its row and column, in double; the places are shared."""
    values = np.repeat(rows, np.diff(matrix.indptr))
    values *= matrix.data
    if columns is not None:
        values *= columns[matrix.indices]
    return csr_array((values.astype(np.float32), matrix.indices, matrix.indptr), shape=matrix.shape)


def _row_sums(matrix: csr_array) -> NDArray[np.float64]:
    return np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()


def propagate(matrix: csr_array, features: Any, hops: int = 1) -> Any:
    """Return matrix^hops @ features; float32, sparse for sparse features.

    Dense features are processed in strips of columns, so the result is the only full copy. A
    :class:`ldpsim.curator.linear.factored.Factored` stays factored.
    """
    if isinstance(features, Factored):
        for _ in range(hops):
            features = features.propagated(matrix)
        return features
    if issparse(features):
        for _ in range(hops):
            features = csr_array(matrix @ features)
        return features
    result = np.empty(features.shape, np.float32)
    for columns in strips(*features.shape):
        strip = features[:, columns]
        for _ in range(hops):
            strip = matrix @ strip
        result[:, columns] = strip
    return result


def smoothed_rows(rows: Any, links: csr_array) -> Any:
    """float32 (n, d): D^-1 (P + I) Z, D the row sums of P + I; numpy if more than a tenth of the entries are not 0."""
    mean = mean_matrix(csr_array(links + eye_array(links.shape[0], dtype=np.float32, format="csr")))
    product = mean @ rows
    if issparse(product) and product.nnz > _DENSE * np.prod(product.shape):
        return product.toarray()
    return csr_array(product) if issparse(product) else product


def bit_strips(packed: NDArray[np.uint8], d: int) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Yield (columns, float32 (n, columns)): packed bits in strips of columns."""
    for columns in strips(len(packed), d):
        held = packed[:, columns.start // 8 : (columns.stop + 7) // 8]
        bits = np.unpackbits(held, axis=1, count=columns.stop - columns.start)
        yield columns, bits.astype(np.float32)


def label_propagation(
    adjacency: csr_array, labels: IntArray, sources: IntArray, classes: int, steps: int = _LABEL_STEPS,
    *, rows: NDArray[np.float64] | None = None,
) -> NDArray[np.int64]:  # fmt: skip
    """Spread the labels of ``sources`` over the graph and return every node's class.

    A node that no label reaches gets the most frequent class.

    Args:
        adjacency: Symmetric CSR (n, n).
        labels: int64 (n,); only those of ``sources`` are read, -1 is no label.
        sources: Node indices.
        classes: Number of classes.
        steps: Number of steps.
        rows: float64 (n, classes): rows to spread in the place of one-hot labels; None for labels.
    """
    sources = sources[labels[sources] >= 0]
    start = np.eye(classes, dtype=np.float32)[labels[sources]] if rows is None else rows[sources].astype(np.float32)
    spread = spread_rows(adjacency, start, sources, steps)
    spread[spread.sum(axis=1) == 0] = start.sum(axis=0)
    return np.argmax(spread, axis=1).astype(np.int64)


def spread_rows(
    adjacency: csr_array, rows: NDArray[np.float32], sources: IntArray, steps: int = _LABEL_STEPS
) -> NDArray[np.float32]:
    """float32 (n, classes): each step takes the mean over the neighbours and restores the known rows.

    A node that no known row reaches has a row of zeros (Zhu and Ghahramani 2002).

    Args:
        adjacency: Symmetric CSR (n, n).
        rows: float32 (len(sources), classes).
        sources: Node indices.
        steps: Number of steps.
    """
    spread = np.zeros((adjacency.shape[0], rows.shape[1]), np.float32)
    spread[sources] = rows
    mean = mean_matrix(adjacency)
    for _ in range(steps):
        spread = mean @ spread
        spread[sources] = rows
    return spread


_COLUMNS_AT_ONCE = 64
TOLERANCE = 1e-5


def walk_matrix(adjacency: csr_array, r: float) -> csr_array:
    """float32 CSR (n, n): D^(r-1) A D^-r; r = 0 is the mean over neighbours, r = 1/2 is symmetric.

    Rows and columns of a node without neighbours are 0.
    """
    degrees = np.asarray(adjacency.sum(axis=1, dtype=np.float64)).ravel()
    some = np.maximum(degrees, 1)
    left, right = diags_array(some ** (r - 1)), diags_array(some**-r)
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
        result[:, columns] = _solved(walk, dense.astype(np.float32), alpha, tolerance)
    return result


def _solved(walk: csr_array, right: NDArray[np.float32], alpha: float, tolerance: float) -> NDArray[np.float32]:
    rho = 1 - alpha
    right = np.float32(alpha) * right
    before, now = np.zeros_like(right), right
    omega = 2.0
    for _ in range(_steps(rho, tolerance)):
        omega = 1 / (1 - rho**2 * omega / 4)
        after = walk @ now
        after *= np.float32(rho)
        after += right
        after -= before
        after *= np.float32(omega)
        after += before
        before, now = now, after
    return now


def _steps(rho: float, tolerance: float) -> int:
    """Number of steps after which the error is below ``tolerance``."""
    return math.ceil(math.log(tolerance / 2) / math.log(rho / (1 + math.sqrt(1 - rho**2)))) if rho > 0 else 0
