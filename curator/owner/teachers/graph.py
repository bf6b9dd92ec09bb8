"""Plain graphs of an owner or of the public, and the pieces that a network is trained on."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ldpsim.devices.array_types import IntArray, check_rows, checked_array

Floats = NDArray[np.floating[Any]]
_ARRAYS = ("features", "indptr", "indices", "labels")


@dataclass(frozen=True, eq=False)
class PlainGraph:
    """A graph without noise.

    Args:
        features: float32 (n, d), dense.
        indptr, indices: CSR form of the symmetric adjacency without self-loops: int64
            (n + 1,), int64 (2 m,), sorted in a row.
        labels: int64 (n,), -1 for none.
    """

    features: NDArray[np.float32] = field(repr=False)
    indptr: IntArray = field(repr=False)
    indices: IntArray = field(repr=False)
    labels: IntArray = field(repr=False)

    def __len__(self) -> int:
        return len(self.features)

    @classmethod
    def build(cls, features: Any, edges: IntArray, labels: IntArray) -> PlainGraph:
        """Make a graph from (n, d) features, dense or sparse, and (2, m) undirected edges in any direction."""
        dense = features.toarray() if issparse(features) else features
        n = len(labels)
        left, right = np.concatenate([edges, edges[::-1]], axis=1)
        both = np.unique((left * n + right)[left != right])
        indptr = np.concatenate([[0], np.cumsum(np.bincount(both // n, minlength=n))]) if n else np.zeros(1, np.int64)
        return cls(np.ascontiguousarray(dense, np.float32), indptr, both % n if n else both, labels)

    @cached_property
    def mean_features(self) -> NDArray[np.float32]:
        """float32 (n, d): mean of the neighbours' features, 0 for a node that has none."""
        degree = np.diff(self.indptr)
        weights = np.repeat(1 / np.maximum(degree, 1), degree).astype(np.float32)
        mean = csr_array((weights, self.indices, self.indptr), shape=(len(self), len(self)))
        return np.asarray(mean @ self.features, np.float32)

    def neighbours(self, node: int) -> IntArray:
        """Return the neighbours of a node."""
        return self.indices[self.indptr[node] : self.indptr[node + 1]]

    def save(self, folder: Path) -> None:
        """Write plain ``.npy`` files that only their owner can read, each atomically; :meth:`load` maps them."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in _ARRAYS:
            save_array(folder / f"{name}.npy", getattr(self, name))

    @classmethod
    def load(cls, folder: Path) -> PlainGraph:
        """Memory-map the files of :meth:`save`; ValueError where they are no graph."""
        features, indptr, indices, labels = (
            np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in _ARRAYS
        )
        people = len(checked_array("features", features, "f", (None, None)))
        check_rows("neighbours", (people, people), indptr, indices)
        checked_array("labels", labels, "i", (people,))
        return cls(features, indptr, indices, labels)


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array atomically, readable by its owner alone."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@dataclass(frozen=True, eq=False)
class Piece:
    """A graph in the form of the training loop: nodes with neighbours come first.

    Args:
        features: (n, d).
        means: (m, d), mean of the neighbours' features, of the m nodes with neighbours.
        source, target: int64 (E,), directed edges in both directions.
        share: (E,), 1 / degree of the target.
        labels: int64 (n,), -1 for nodes without a label.
        order: int64 (n,), position of each row's node among the given ones.
    """

    features: Floats = field(repr=False)
    means: Floats = field(repr=False)
    source: IntArray = field(repr=False)
    target: IntArray = field(repr=False)
    share: Floats = field(repr=False)
    labels: IntArray = field(repr=False)
    order: IntArray = field(repr=False)

    def __len__(self) -> int:
        return len(self.features)

    @cached_property
    def spread(self) -> csr_array:
        """CSR (m, n): mean over neighbours, for the nodes with neighbours."""
        shape = (len(self.means), len(self))
        return csr_array((self.share, (self.target, self.source)), shape=shape)


def cut(graph: PlainGraph, nodes: IntArray, *, dtype: Any = np.float32) -> Piece:
    """Return the subgraph that ``nodes`` (distinct ids) induce."""
    number = np.full(len(graph), -1, np.int64)
    number[nodes] = np.arange(len(nodes))
    counts = graph.indptr[nodes + 1] - graph.indptr[nodes]
    starts = np.concatenate([[0], np.cumsum(counts)])
    at = np.arange(starts[-1]) + np.repeat(graph.indptr[nodes] - starts[:-1], counts)
    source, target = number[graph.indices[at]], np.repeat(np.arange(len(nodes)), counts)
    inside = source >= 0
    source, target = source[inside], target[inside]
    degree = np.bincount(target, minlength=len(nodes))
    order = np.argsort(degree == 0, kind="stable")
    place = np.empty(len(nodes), np.int64)
    place[order] = np.arange(len(nodes))
    source, target = place[source], place[target]
    by_target = np.argsort(target, kind="stable")
    source, target = source[by_target], target[by_target]
    degree = degree[order]
    features = np.ascontiguousarray(graph.features[nodes[order]], dtype)
    linked = int((degree > 0).sum())
    share = (1 / degree[target]).astype(dtype)
    mean = csr_array((share, (target, source)), shape=(linked, len(nodes)))
    return Piece(features, np.ascontiguousarray(mean @ features, dtype), source, target, share,
                 np.ascontiguousarray(graph.labels[nodes[order]]), order)  # fmt: skip
