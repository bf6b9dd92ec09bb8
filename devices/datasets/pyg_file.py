"""A PyG ``Data`` object on disk, as ``torch.save(data, "graph.pt")`` writes it.

Needed: ``x`` (n, d), ``edge_index`` (2, m), ``y`` (n,). Optional: ``train_mask``,
``val_mask`` and ``test_mask`` for ``--split file``; ``feature_range``, the public smallest
and largest value, default 0 and 1; ``num_classes``, else the largest label + 1 (a number
taken from the data: state it if it is not public).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.arrays import from_pyg


def read_pyg_file(name: str, path: Path) -> Population:
    """Read a ``Data`` object; no code from the file is run.

    Raises:
        ValueError: one line: no such file, not a ``Data`` object, or the first fault in it.
    """
    data = load_plain(path)
    from torch_geometric.data import Data

    if not isinstance(data, Data):
        what = type(data).__name__
        raise ValueError(f"{path} holds a {what}, not a PyG Data object (ldpsim import reads dicts of tensors)")
    return people_of(name, data)


def people_of(name: str, data: Any) -> Population:
    """Return the people of a ``Data`` object, one a node; the module says what it may have.

    Raises:
        ValueError: one line: the first fault in it.
    """
    span = [float(value) for value in data["feature_range"]] if "feature_range" in data else [0.0, 1.0]
    if len(span) != 2 or not span[0] < span[1]:
        raise ValueError(f"{name}: feature_range must be two numbers, the smaller one first")
    classes = 0
    if "num_classes" in data:
        classes = int(data["num_classes"])
    elif data.y is not None and data.y.numel():
        classes = int(data.y.max()) + 1
    return from_pyg(name, data, classes=classes, feature_range=(span[0], span[1]))


def load_plain(path: Path) -> Any:
    """Return a ``Data`` object, or tensors in dicts, lists and tuples; no code from the file is run (``weights_only``).

    Raises:
        ValueError: one line: no such file, or it holds something else.
    """
    if not path.is_file():
        raise ValueError(f"no such file: {path}")
    import torch
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    try:
        # the parts of a Data object that PyG itself does not declare to torch as plain data
        with torch.serialization.safe_globals([DataEdgeAttr, DataTensorAttr, GlobalStorage]):
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        foreign = re.search(r"GLOBAL (\S+)", str(error))
        reason = f"it holds {foreign[1]}, which is not plain data" if foreign else type(error).__name__
        raise ValueError(f"{path} cannot be read safely as a PyG Data object: {reason}") from error
