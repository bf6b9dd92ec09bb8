"""Files of arrays: ``.npz`` of any layout, and ``.pt`` with a PyG ``Data`` object or a dict of tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ldpsim.devices.datasets.npz_file import load_arrays
from ldpsim.devices.datasets.pyg_file import load_plain


def read_arrays(path: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the arrays of a file by name, and notes on what stays unread.

    Python objects in a ``.npz`` stay unread, since reading them runs code from the file.

    Raises:
        ValueError: one line: no such file, or nothing that can be read safely.
    """
    if path.suffix.lower() == ".npz":
        arrays, objects = load_arrays(path)
        if not arrays and objects:
            raise ValueError(
                f"{path.name}: {', '.join(objects)} holds Python objects: reading them runs code from the file; "
                "save arrays (np.savez), or tensors (torch.save)"
            )
        notes = [f"{path.name}: {name} holds Python objects and is not read" for name in objects]
        return arrays, tuple(notes)
    held = load_plain(path)
    if isinstance(held, tuple) and len(held) > 1 and held[1] is None:
        held = held[0]  # a processed file of PyG: (data, no slices, ...)
    if hasattr(held, "to_dict"):
        held = held.to_dict()
    if not isinstance(held, Mapping):
        raise ValueError(f"{path.name} holds a {type(held).__name__}, not a PyG Data object or a dict of tensors")
    return dict(_flat(held)), ()


def _flat(held: Mapping[Any, Any], front: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (name, array) of a dict of tensors; names inside a dict have a dot between."""
    for key, value in held.items():
        name = f"{front}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, tuple | list) and any(hasattr(part, "numpy") for part in value):
            yield from _flat(dict(enumerate(value)), f"{name}.")
        elif hasattr(value, "numpy"):
            dense = value.to_dense() if value.layout != _strided() else value
            yield name, dense.detach().numpy()
        elif value is not None:
            yield name, np.asarray(value)


def _strided() -> Any:
    import torch

    return torch.strided
