"""Cora, CiteSeer and PubMed in the Planetoid files (Yang, Cohen and Salakhudinov, 2016): pickles of arrays."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.datasets.npz_file import split_of
from ldpsim.devices.datasets.plain_pickle import load_plain_pickle

PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
_VALIDATION = 500  # nodes of the published split


def read_planetoid(classes: int, feature_range: tuple[float, float], name: str, *paths: Path) -> Population:
    """Read the files of :data:`PARTS`, in this order."""
    from scipy.sparse import csr_array, vstack

    file = dict(zip(PARTS, paths, strict=True))
    allx, tx, y, ally, ty = (_table(file[part]) for part in ("allx", "tx", "y", "ally", "ty"))
    tested = np.loadtxt(file["test.index"], dtype=np.int64, ndmin=1)
    first, many = ally.shape[0], ally.shape[0] + len(tested)
    fits = allx.shape[0] == first and tx.shape == (len(tested), allx.shape[1])
    fits = fits and ally.shape == (first, classes) and ty.shape == (len(tested), classes)
    if not fits or len(np.unique(tested)) < len(tested) or np.any((tested < first) | (tested >= 2 * many)):
        raise ValueError(f"{name}: the files ind.{name}.* do not belong together")
    # Row i of tx is node tested[i]. Some nodes of CiteSeer are in no file: they have no feature, and class 0.
    nodes = np.concatenate([np.arange(first), tested])
    n = max(first, int(nodes.max(initial=-1)) + 1)
    x = vstack([allx, tx]).tocoo()
    features = csr_array((x.data, (nodes[x.row], x.col)), shape=(n, allx.shape[1]))
    labels = np.zeros(n, np.int64)
    labels[nodes] = vstack([ally, ty]).toarray().argmax(axis=1)
    population = build_population(
        name, n=n, d=features.shape[1], edges=_edges(file["graph"]), feature_indptr=features.indptr,
        feature_indices=features.indices, feature_values=features.data, labels=labels, classes=classes,
        feature_range=feature_range,
    )  # fmt: skip
    train = np.arange(y.shape[0])
    return split_of(name, population, {"train": train, "val": len(train) + np.arange(_VALIDATION), "test": tested})


def _table(file: Path) -> Any:
    """Return the CSR array that a pickle holds, dense or sparse."""
    from scipy.sparse import csr_array

    table = load_plain_pickle(file)
    if getattr(table, "ndim", 0) != 2:
        raise ValueError(f"{file.name} is no table of numbers")
    return csr_array(table)


def _edges(file: Path) -> NDArray[np.int64]:
    """Return the edges (2, m) of a dict of lists."""
    lists = load_plain_pickle(file)
    try:
        sizes = [len(ends) for ends in lists.values()]
        if sum(sizes) > file.stat().st_size:  # one long list, named by many nodes: an honest edge takes two bytes
            raise ValueError
        left = np.repeat(np.array(list(lists), np.int64), sizes)
        return np.stack([left, np.fromiter(chain.from_iterable(lists.values()), np.int64)])
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise ValueError(f"{file.name} is no dict of lists of node numbers") from None
