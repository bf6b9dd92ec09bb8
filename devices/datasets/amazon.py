"""Amazon Computers, the co-purchase graph of Shchur et al. (2018)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ldpsim.devices.datasets.citation_full import read
from ldpsim.devices.datasets.files import DatasetEntry, Form

_FILE = "amazon_electronics_computers.npz"
_URL = f"https://github.com/shchur/gnn-benchmark/raw/master/data/npz/{_FILE}"
_CLASSES = 10


def _fetch(root: Path) -> object:
    from torch_geometric.datasets import Amazon

    return Amazon(str(root), "Computers")


ENTRIES = (
    DatasetEntry(
        "computers", f"{_URL} (PyG Amazon)", 13752, 245861, 767, _CLASSES,
        (Form("Computers/raw", (_FILE,), partial(read, _CLASSES, _FILE)),), _fetch, _URL,
    ),
)  # fmt: skip
