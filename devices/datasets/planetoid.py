"""Cora, CiteSeer and PubMed in the Planetoid files (Yang, Cohen and Salakhudinov, 2016): pickles of arrays."""

from __future__ import annotations

from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.datasets.arrays import split_of
from ldpsim.devices.datasets.files import DatasetEntry, Form
from ldpsim.devices.datasets.plain_pickle import load_plain_pickle

_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
_URL = "https://github.com/kimiyoung/planetoid/raw/master/data"
_VALIDATION = 500  # nodes of the published split

# PubMed's features are TF-IDF weights. The range is a constant of this package, stated
# once for the published corpus; it is never computed from the values that devices hold.
PUBMED_RANGE = (0.0, 1.3)


def _read(title: str, classes: int, feature_range: tuple[float, float], name: str, folder: Path) -> Population:
    from scipy.sparse import csr_array, vstack

    def file(part: str) -> Path:
        return folder / f"ind.{title.lower()}.{part}"

    allx, tx, y, ally, ty = (_table(file(part)) for part in ("allx", "tx", "y", "ally", "ty"))
    tested = np.loadtxt(file("test.index"), dtype=np.int64, ndmin=1)
    first, many = ally.shape[0], ally.shape[0] + len(tested)
    fits = allx.shape[0] == first and tx.shape == (len(tested), allx.shape[1])
    fits = fits and ally.shape == (first, classes) and ty.shape == (len(tested), classes)
    if not fits or len(np.unique(tested)) < len(tested) or np.any((tested < first) | (tested >= 2 * many)):
        raise ValueError(f"{name}: the files ind.{title.lower()}.* do not belong together")
    # Row i of tx is node tested[i]. Some nodes of CiteSeer are in no file: they have no feature, and class 0.
    nodes = np.concatenate([np.arange(first), tested])
    n = max(first, int(nodes.max(initial=-1)) + 1)
    x = vstack([allx, tx]).tocoo()
    features = csr_array((x.data, (nodes[x.row], x.col)), shape=(n, allx.shape[1]))
    labels = np.zeros(n, np.int64)
    labels[nodes] = vstack([ally, ty]).toarray().argmax(axis=1)
    population = build_population(
        name, n=n, d=features.shape[1], edges=_edges(file("graph")), feature_indptr=features.indptr,
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


def _fetch(title: str, root: Path) -> object:
    from torch_geometric.data import download_url

    folder = root / title / "raw"  # not by PyG's class: it also opens the pickles
    return [download_url(f"{_URL}/ind.{title.lower()}.{part}", str(folder), log=False) for part in _PARTS]


def _entry(
    title: str, nodes: int, edges: int, features: int, classes: int, span: tuple[float, float] = (0.0, 1.0)
) -> DatasetEntry:
    name = title.lower()
    files = tuple(f"ind.{name}.{part}" for part in _PARTS)
    form = Form(f"{title}/raw", files, partial(_read, title, classes, span))
    return DatasetEntry(
        name, f"{_URL} (PyG Planetoid)", nodes, edges, features, classes, (form,), partial(_fetch, title),
        f"{_URL}/{files[0]}",
    )  # fmt: skip


ENTRIES = (
    _entry("Cora", 2708, 5278, 1433, 7),
    _entry("CiteSeer", 3327, 4552, 3703, 6),
    _entry("PubMed", 19717, 44324, 500, 3, PUBMED_RANGE),
)
