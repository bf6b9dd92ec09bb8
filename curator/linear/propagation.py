"""Propagation on sparse matrices: the GCN, KProp and mean matrices, and label propagation.

A matrix multiplies features from the left: entry (i, j) is the weight of node j's row for node i.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, issparse

from ldpsim.curator.linear.factored import Factored
from ldpsim.curator.linear.strips import strips
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
        strip = packed[:, columns.start // 8 : (columns.stop + 7) // 8]
        bits = np.unpackbits(strip, axis=1, count=columns.stop - columns.start)
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
