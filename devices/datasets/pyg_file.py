"""Graphs of PyG on disk: a ``Data`` object, as ``torch.save(data, "graph.pt")`` writes it, or tensors in a dict.

Names, and what may be missing, are those of :mod:`ldpsim.devices.datasets.array_layouts`: ``x`` (n, d), ``edge_index``
(2, m), ``y`` (n,); ``train_mask``, ``val_mask`` and ``test_mask`` for ``--split file``; ``feature_range``, the public
smallest and largest value, default 0 and 1; ``num_classes``, else counted in the labels, which is taken from the data.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import check_growth, check_rows
from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.array_layouts import of_layout
from ldpsim.devices.datasets.npz_file import population_of
from ldpsim.devices.facts import LARGEST_SIZE

_MOST_PARTS = 10_000
_MOST_DIMENSIONS = 64  # numpy's


def read_pyg_file(name: str, path: Path) -> Population:
    """Read a file; no code from it is run.

    Raises:
        ValueError: one line: no such file, no graph, or the first fault in it.
    """
    return people_of(name, load_plain(path), path.name)


def people_of(name: str, data: Any, file: str | None = None) -> Population:
    """Return the people of a ``Data`` object or a dict of tensors, one a node; the module says what it may have.

    Raises:
        ValueError: one line: the first fault in it.
    """
    file = name if file is None else file
    return population_of(name, file, of_layout(file, arrays_of(file, data))[0])


def arrays_of(file: str, held: Any) -> dict[str, Any]:
    """Return the tensors of a ``Data`` object or a dict as arrays by name; sparse ones stay sparse (scipy's).

    Raises:
        ValueError: one line, for anything else, or a tensor that is no array of numbers.
    """
    if isinstance(held, tuple) and len(held) > 1 and held[1] is None:
        held = held[0]  # a processed file of PyG: (data, no slices, ...)
    if hasattr(held, "to_dict"):
        held = held.to_dict()
    if not isinstance(held, Mapping):
        raise ValueError(f"{file} holds a {type(held).__name__}, not a PyG Data object or a dict of tensors")
    return dict(_flat(file, held))


def _flat(file: str, held: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, array); names inside a dict have a dot between."""
    parts: list[tuple[str, Any]] = [("", held)]
    for _ in range(_MOST_PARTS):
        if not parts:
            return
        name, value = parts.pop()
        if isinstance(value, tuple | list) and any(hasattr(part, "numpy") for part in value):
            value = dict(enumerate(value))
        if isinstance(value, Mapping):
            front = f"{name}." if name else ""
            parts += reversed([(f"{front}{key}", part) for key, part in value.items()])
        elif value is not None:
            try:
                yield name, _array(value.detach()) if hasattr(value, "numpy") else _array_of_list(value)
            except (TypeError, RuntimeError, ValueError) as error:
                reason = " ".join(str(error).split())
                raise ValueError(f"{file}: {name} cannot be read as an array of numbers: {reason}") from None
    raise ValueError(f"{file} has more than {_MOST_PARTS:,} parts; a graph is a few tensors")


def _array_of_list(value: Any) -> NDArray[Any]:
    """Return a value or a list as an array; in a file one list or text can stand in many places of others."""
    lists: dict[int, int] = {}  # numbers and texts in each
    texts: dict[int, int] = {}  # signs of each
    count = _count(value, lists, texts)
    longest = max(texts.values(), default=1)
    given = len(lists) + len(texts) + sum(texts.values()) + (len(value) if isinstance(value, tuple | list) else 0)
    check_growth(f"{count:,} entries of lists, up to {longest:,} signs long", count * longest, given)
    return np.asarray(value)


def _count(value: Any, lists: dict[int, int], texts: dict[int, int], depth: int = 0) -> int:
    """Return the number of entries of lists in lists; each list is read once."""
    if isinstance(value, str):
        texts[id(value)] = len(value)
    if not isinstance(value, tuple | list):
        return 1
    if depth > _MOST_DIMENSIONS:
        raise ValueError("lists in lists, too deep for an array")
    if id(value) not in lists:
        lists[id(value)] = sum(_count(part, lists, texts, depth + 1) for part in value)
    return lists[id(value)]


def _array(tensor: Any) -> Any:
    """Return a tensor as an array; the parts of a sparse one are checked before anything works with them."""
    import torch
    from scipy.sparse import coo_array, csc_array, csr_array

    if tensor.is_complex():
        raise ValueError("complex numbers")
    if tensor.layout == torch.strided:
        # one number of a file can stand in every place of a tensor
        size, stored = tensor.numel() * tensor.element_size(), tensor.untyped_storage().nbytes()
        check_growth(f"a tensor of the shape {tuple(tensor.shape)} of {stored:,} bytes", size, stored)
        exact = tensor.float() if tensor.dtype == torch.bfloat16 else tensor
        return exact.numpy()
    if len(tensor.shape) != 2 or max(tensor.shape) > LARGEST_SIZE:
        raise ValueError(f"a sparse tensor of the shape {tuple(tensor.shape)}")
    check_growth(f"a sparse tensor of the shape {tuple(tensor.shape)}", max(tensor.shape), tensor._nnz())
    rows, columns = tensor.shape
    if tensor.layout == torch.sparse_coo:
        return coo_array((_array(tensor._values()), tuple(_array(tensor._indices()))), shape=(rows, columns)).tocsr()
    if tensor.layout not in (torch.sparse_csr, torch.sparse_csc):
        raise ValueError(f"a tensor of the layout {tensor.layout}")
    by_rows = tensor.layout == torch.sparse_csr
    starts = _array(tensor.crow_indices() if by_rows else tensor.ccol_indices())
    inner = _array(tensor.col_indices() if by_rows else tensor.row_indices())
    check_rows("a sparse tensor", (rows, columns) if by_rows else (columns, rows), starts, inner)
    return (csr_array if by_rows else csc_array)(
        (_array(tensor.values()), inner, starts), shape=(rows, columns)
    ).tocsr()


def load_plain(path: Path) -> Any:
    """Return a ``Data`` object, or tensors in dicts, lists and tuples; no code from the file is run (``weights_only``).

    Raises:
        ValueError: one line: no such file, or it holds something else.
    """
    if not path.is_file():
        raise ValueError(f"no such file: {path}")
    import torch
    from torch.serialization import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import AttrType, EdgeStorage, GlobalStorage, NodeStorage

    try:
        # The parts of a Data object that PyG itself does not declare to torch as plain data. What a transform noted is
        # in a dict with defaults, which torch does not fill: it becomes a plain one.
        parts = [AttrType, DataEdgeAttr, DataTensorAttr, EdgeStorage, GlobalStorage, NodeStorage]
        with safe_globals([]):  # afterwards all is as before
            declared = [entry for entry in get_safe_globals() if entry is not defaultdict]
            clear_safe_globals()
            add_safe_globals([*declared, *parts, (_plain_dict, "collections.defaultdict")])
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        foreign = re.search(r"GLOBAL (\S+)", str(error))
        reason = f"it holds {foreign[1]}, which is not plain data" if foreign else type(error).__name__
        raise ValueError(f"{path} cannot be read safely as a PyG Data object: {reason}") from error


def _plain_dict(*_: object) -> dict[Any, Any]:
    return {}
