"""From plain arrays and PyG ``Data`` objects to a population."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.facts import Split


def csr_of(name: str, x: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Return row starts, columns and values of the non-zero entries of a dense (n, d) array.

    NaN counts as non-zero, so that it reaches the check that names its row and column.

    Raises:
        ValueError: where ``x`` is no table of numbers.
    """
    if x.ndim != 2 or x.dtype.kind not in "buif":
        raise ValueError(f"{name}: x must be a table of numbers (n, d), not {x.dtype} {x.shape}")
    rows, columns = np.nonzero(x)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(x)))])
    return indptr, columns, x[rows, columns]


def split_of(name: str, population: Population, parts: dict[str, NDArray[Any]]) -> Population:
    """Attach a data set's own split: ``parts`` has train, val and test, as masks or node ids.

    Raises:
        ValueError: where a mask has the wrong length, a node does not exist, is in two
            parts or has no label, or a part is empty.
    """
    n = len(population)
    seen = np.full(n, "", dtype="<U5")
    ids = {}
    for part in ("train", "val", "test"):
        given = np.asarray(parts[part])
        if given.dtype == bool:
            if given.shape != (n,):
                raise ValueError(f"{name}: the {part} mask has shape {given.shape}, there are {n} nodes")
            given = np.flatnonzero(given)
        if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given):
            raise ValueError(f"{name}: {part} must be a mask or a list of node numbers that is not empty")
        nodes = np.unique(given).astype(np.int64)
        if nodes[0] < 0 or nodes[-1] >= n:
            wrong = nodes[0] if nodes[0] < 0 else nodes[-1]
            raise ValueError(f"{name}: {part} names node {wrong}, but nodes are 0..{n - 1}")
        for node in nodes[seen[nodes] != ""][:1]:
            raise ValueError(f"{name}: node {node} is in {seen[node]} and in {part}")
        for node in nodes[population.labels[nodes] < 0][:1]:
            raise ValueError(f"{name}: node {node} is in {part} but has no label")
        seen[nodes] = part
        ids[part] = nodes
    return replace(population, own_split=Split(**ids))


def from_pyg(
    name: str,
    data: Any,
    *,
    classes: int,
    feature_range: tuple[float, float] = (0.0, 1.0),
) -> Population:
    """Make a population of a PyG ``Data`` object with ``x`` (n, d), ``edge_index`` and ``y``.

    ``train_mask``, ``val_mask`` and ``test_mask``, where all three are there, become the
    population's own split.

    Raises:
        ValueError: naming what is missing, has the wrong shape or a value outside its range.
    """
    for attribute in ("x", "edge_index", "y"):
        if getattr(data, attribute, None) is None:
            raise ValueError(f"{name}: the Data object has no {attribute} (it needs x, edge_index and y)")
    x, labels = data.x, data.y
    x = (x.to_dense() if hasattr(x, "to_dense") else x).numpy()
    labels = labels.numpy()
    labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
    indptr, indices, values = csr_of(name, x)
    population = build_population(
        name, n=x.shape[0], d=x.shape[1], edges=edges_of(name, data.edge_index.numpy()), feature_indptr=indptr,
        feature_indices=indices, feature_values=values, labels=labels_of(name, labels, len(x)), classes=classes,
        feature_range=feature_range,
    )  # fmt: skip
    masks: dict[str, Any] = {part: getattr(data, f"{part}_mask", None) for part in ("train", "val", "test")}
    if any(mask is None for mask in masks.values()):
        return population
    return split_of(name, population, {part: mask.numpy().astype(bool) for part, mask in masks.items()})


def edges_of(name: str, edges: NDArray[Any]) -> NDArray[np.int64]:
    """Check that an edge list is whole numbers (2, m) and return it as int64."""
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(f"{name}: edge_index must be whole numbers of shape (2, m), not {edges.dtype} {edges.shape}")
    return edges.astype(np.int64)


def labels_of(name: str, labels: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Check that labels are one whole number a node and return them as int64."""
    if labels.shape != (n,) or labels.dtype.kind not in "iub":
        raise ValueError(f"{name}: labels must be {n} whole numbers, not {labels.dtype} {labels.shape}")
    return labels.astype(np.int64)
