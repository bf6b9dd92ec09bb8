"""Cora, CiteSeer and PubMed in the Planetoid files (Yang, Cohen and Salakhudinov, 2016).

The files are Python pickles: read them only from a source you trust.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from devices.data.population import Population
from devices.datasets.arrays import from_pyg
from devices.datasets.files import DatasetEntry, Form

_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
_URL = "https://github.com/kimiyoung/planetoid/raw/master/data"

# PubMed's features are TF-IDF weights. The range is a constant of this package, stated
# once for the published corpus; it is never computed from the values that devices hold.
PUBMED_RANGE = (0.0, 1.3)


def _read(title: str, classes: int, feature_range: tuple[float, float], name: str, folder: Path) -> Population:
    from torch_geometric.io import read_planetoid_data

    data = read_planetoid_data(str(folder), title)
    return from_pyg(name, data, classes=classes, feature_range=feature_range)


def _fetch(title: str, root: Path) -> object:
    from torch_geometric.datasets import Planetoid

    return Planetoid(str(root), title)


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
