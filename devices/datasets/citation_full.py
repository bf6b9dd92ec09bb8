"""CiteSeer (4,230 nodes) and DBLP of the CitationFull collection (Bojchevski and Günnemann, 2018).

Features are word counts in the files; as everywhere these sets are used, a word is there
or not.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.arrays import from_pyg
from ldpsim.devices.datasets.files import DatasetEntry, Form

_URL = "https://github.com/abojchevski/graph2gauss/raw/master/data"


def read(classes: int, file: str, name: str, folder: Path) -> Population:
    """Read a ``.npz`` of word counts, as the collection publishes its sets."""
    from torch_geometric.io import read_npz

    return from_pyg(name, read_npz(str(folder / file)), classes=classes)


def _fetch(below: str, title: str, root: Path) -> object:
    from torch_geometric.datasets import CitationFull

    return CitationFull(str(root / below), title)


def _entry(name: str, title: str, below: str, nodes: int, edges: int, features: int, classes: int) -> DatasetEntry:
    # CiteSeer lies in a folder of its own: "CiteSeer" (Planetoid) and "citeseer" are one
    # name on some file systems
    file = f"{title.lower()}.npz"
    form = Form(str(Path(below) / title.lower() / "raw"), (file,), partial(read, classes, file))
    return DatasetEntry(
        name, f"{_URL}/{file} (PyG CitationFull)", nodes, edges, features, classes, (form,),
        partial(_fetch, below, title), f"{_URL}/{file}",
    )  # fmt: skip


ENTRIES = (
    _entry("citeseer-full", "CiteSeer", "citeseer_full", 4230, 5337, 602, 6),
    _entry("dblp", "DBLP", ".", 17716, 52867, 1639, 4),
)
