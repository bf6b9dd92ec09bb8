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

import numpy as np

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.npz_file import population_of


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
    for attribute in ("x", "edge_index", "y"):
        if getattr(data, attribute, None) is None:
            raise ValueError(f"{name}: the Data object has no {attribute} (it needs x, edge_index and y)")
    labels = data.y.numpy()
    given = {
        "x": (data.x.to_dense() if hasattr(data.x, "to_dense") else data.x).numpy(),
        "edge_index": data.edge_index.numpy(),
        "labels": labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels,
    }
    given |= {key: np.asarray(data[key]) for key in ("feature_range", "num_classes") if key in data}
    masks = {part: getattr(data, f"{part}_mask", None) for part in ("train", "val", "test")}
    if all(mask is not None for mask in masks.values()):
        given |= {part: mask.numpy().astype(bool) for part, mask in masks.items()}  # type: ignore[union-attr]
    return population_of(name, name, given)


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
