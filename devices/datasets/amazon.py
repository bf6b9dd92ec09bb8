"""Amazon Computers, the co-purchase graph of Shchur et al. (2018)."""

from __future__ import annotations

from pathlib import Path

from devices.data.population import Population
from devices.datasets.arrays import from_pyg
from devices.datasets.files import DatasetEntry, Form

_FILE = "amazon_electronics_computers.npz"
_URL = f"https://github.com/shchur/gnn-benchmark/raw/master/data/npz/{_FILE}"
_CLASSES = 10


def _read(name: str, folder: Path) -> Population:
    from torch_geometric.io import read_npz

    return from_pyg(name, read_npz(str(folder / _FILE)), classes=_CLASSES)


def _fetch(root: Path) -> object:
    from torch_geometric.datasets import Amazon

    return Amazon(str(root), "Computers")


ENTRIES = (
    DatasetEntry(
        "computers", f"{_URL} (PyG Amazon)", 13752, 245861, 767, _CLASSES,
        (Form("Computers/raw", (_FILE,), _read),), _fetch, _URL,
    ),
)  # fmt: skip
