"""Plain graphs of an owner or of the public, and the pieces that a network is trained on."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ldpsim.devices.array_types import IntArray, check_rows, checked_array
from ldpsim.devices.atomic_files import write_atomically

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
    def mean(self) -> csr_array:
        """CSR (n, n): the mean over neighbours, 0 for a node that has none."""
        degree = np.diff(self.indptr)
        shares = np.repeat(1 / np.maximum(degree, 1), degree).astype(self.features.dtype)
        return csr_array((shares, self.indices, self.indptr), shape=(len(self), len(self)))

    @cached_property
    def mean_features(self) -> NDArray[np.float32]:
        """float32 (n, d): mean of the neighbours' features, 0 for a node that has none."""
        return np.asarray(self.mean @ self.features, self.features.dtype)

    def part(self, nodes: IntArray) -> PlainGraph:
        """Return the subgraph that ``nodes`` (distinct ids) induce."""
        inside = self.mean[nodes][:, nodes]
        inside.sort_indices()
        return PlainGraph(self.features[nodes], inside.indptr, inside.indices, self.labels[nodes])

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
    data = io.BytesIO()
    np.save(data, array, allow_pickle=False)
    write_atomically(path, data.getvalue())
