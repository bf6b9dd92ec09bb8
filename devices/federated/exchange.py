"""Values that parties of a training send one another through the server, as named arrays.

``representation``  a device of ``ego``: its 2 x hidden values, and (the first time) its neighbours
``rows``            to a device of ``ego``: a row of 2 x hidden values from each neighbour
``variate``         a device of SCAFFOLD, and back to it: its control variate
``contribution``    a device of ``sums``: its neighbours and scaled features, one row;
                    a silo: rows of sums by global id, its members and their degrees
``sums``            rows of S X, S = D^-1/2 (A + I) D^-1/2: to a device with the entries of S by which it sums
                    them; to a silo with the global ids and degrees of the rows' people
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray, check_rows, checked_numbers
from ldpsim.devices.atomic_files import private_folder, write_atomically
from ldpsim.devices.federated.local_steps import SparseRows, variate_size
from ldpsim.devices.federated.wire import checked_record, record_of
from ldpsim.devices.network import usable
from ldpsim.devices.query import InvalidQuery, malformed
from ldpsim.devices.training_task import Task

QUOTA, SILOS_QUOTA = 1 << 26, 1 << 31  # bytes that a device, or a silo, keeps of what it is sent, over all trainings
_WHOLE, _SINGLE = ("int32",), ("float32",)
_ROWS = {"starts": _WHOLE, "columns": _WHOLE, "values": _SINGLE}


@dataclass(frozen=True, eq=False)
class Shared:
    """Rows that parties exchange, and the arrays beside them, by name."""

    rows: SparseRows
    more: dict[str, NDArray[Any]]


def rows_record(rows: SparseRows, **more: NDArray[Any]) -> ArrayRecord:
    """Return rows, and other arrays, as a record of 32-bit numbers."""
    arrays = vars(rows) | more
    types = {name: array.astype(f"{array.dtype.kind}4") for name, array in arrays.items()}
    return record_of(**{name: usable(array) if array.dtype.kind == "f" else array for name, array in types.items()})


def read_representation(record: object, task: Task, dtype: str) -> tuple[NDArray[np.int64] | None, FloatArray]:
    """Return the neighbours, where they are told, and the 2 x hidden values; InvalidQuery for another record."""
    has_list = isinstance(record, ArrayRecord) and "neighbours" in record
    arrays = checked_record(
        "the values of the representation", record, values=(dtype,), **({"neighbours": _WHOLE} if has_list else {})
    )
    if len(arrays["values"]) != 2 * task.hidden:
        raise InvalidQuery("the representation is of another size")
    return arrays["neighbours"].astype(np.int64) if has_list else None, arrays["values"]


def read_neighbours(record: ArrayRecord, task: Task, dtype: str) -> tuple[FloatArray, FloatArray]:
    """Return the sums of what neighbours sent, (hidden,) and (hidden,); InvalidQuery for another record."""
    values = checked_record("the neighbours' representations", record, rows=(dtype,))["rows"]
    if len(values) % (2 * task.hidden):
        raise InvalidQuery("the neighbours' representations are cut off")
    total = values.reshape(-1, 2 * task.hidden).sum(axis=0, dtype=dtype)
    return total[: task.hidden], total[task.hidden :]


def read_variate(record: object, task: Task, dtype: str) -> FloatArray:
    """Return a device's control variate; InvalidQuery for another record."""
    variate = checked_record("the numbers of the control variate", record, variate=(dtype,))["variate"]
    if len(variate) != variate_size(task):
        raise InvalidQuery("the control variate is of another size")
    return variate


def read_contribution(record: object, task: Task, people: int) -> Shared:
    """Return a party's rows and its other arrays, which name people; ValueError for another record."""
    names = ("ids", "members", "degrees") if task.of_silos else ("neighbours",)
    contribution = _read_rows("the contribution", record, task, dict.fromkeys(names, _WHOLE))
    more = {name: checked_numbers(name, numbers, people) for name, numbers in contribution.more.items()}
    if not task.of_silos:
        check_neighbours(more["neighbours"], people)
    elif len(more["members"]) != len(more["degrees"]) or np.any(np.diff(more["ids"]) <= 0):
        raise ValueError("the contribution names somebody twice, or is cut off")
    if len(contribution.rows) != (len(more["ids"]) if task.of_silos else 1):
        raise ValueError("the contribution has rows of nobody")
    return contribution


def check_neighbours(neighbours: NDArray[Any], people: int) -> None:
    """Refuse (ValueError) a list of neighbours that names nobody, or one twice.

    Each name brings a row: a list of a few bytes would bring a lot.
    """
    checked_numbers("neighbours", neighbours, people)
    if len(np.unique(neighbours)) < len(neighbours):
        raise ValueError("the values for others name a neighbour twice")


def read_sums(record: object, task: Task) -> Shared:
    """Return the rows of S X, and what a party sums them by; InvalidQuery for another record, or more than it keeps."""
    if not isinstance(record, ArrayRecord) or sum(len(array.data) for array in record.values()) > _quota(task):
        raise InvalidQuery("the sums are missing, or larger than a party keeps")
    types = {"ids": _WHOLE, "degrees": _WHOLE} if task.of_silos else {"weights": _SINGLE}
    with malformed("the sums"):
        sums = _read_rows("the sums", record, task, types)
        rows, more = sums.rows, sums.more
        if not len(rows) or any(len(each) != len(rows) for each in more.values()):
            raise InvalidQuery("the sums are cut off")
        if task.of_silos and (np.any(np.diff(more["ids"]) <= 0) or np.any(more["degrees"] < 0)):
            raise InvalidQuery("the sums are out of order")
    return sums


def _read_rows(what: str, record: object, task: Task, types: Mapping[str, tuple[str, ...]]) -> Shared:
    arrays = checked_record(f"the arrays of {what}", record, **_ROWS, **types)
    arrays = {name: array.astype(np.int64) if array.dtype.kind == "i" else array for name, array in arrays.items()}
    rows = SparseRows(*(arrays.pop(name) for name in _ROWS))
    check_rows(what, (len(rows), task.d), rows.starts, rows.columns, rows.values)
    return Shared(rows, arrays)


def _quota(task: Task) -> int:
    return SILOS_QUOTA if task.of_silos else QUOTA


def keep_sums(folder: Path, task: Task, index: int, record: ArrayRecord | None) -> None:
    """Keep the sums that a party was sent; those of its oldest trainings make room under the quota.

    Raises:
        InvalidQuery: for something else than sums, or more than the quota.
    """
    if task.sees != "sums":
        raise InvalidQuery("there is nothing to keep")
    read_sums(record, task)
    assert record is not None
    path = _place(folder, task.collection, index)
    others = sorted(set(folder.glob(f"*/{path.name}")) - {path}, key=lambda file: file.stat().st_mtime_ns)
    arrays: dict[str, Any] = {name: array.numpy() for name, array in record.items()}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    data = buffer.getvalue()
    room = _quota(task) - len(data) - sum(file.stat().st_size for file in others)
    while room < 0 and others:
        room += others[0].stat().st_size
        others.pop(0).unlink()
    private_folder(folder)
    private_folder(path.parent)
    write_atomically(path, data, durable=False)
    kept_sums.cache_clear()


@lru_cache(maxsize=1 << 15)  # read every round, by every device of a fleet
def kept_sums(folder: Path, task: Task, index: int) -> Shared | None:
    """Return the sums that a party was sent, None if it was sent none; InvalidQuery for those of another task."""
    path = _place(folder, task.collection, index)
    if not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as arrays:
        return read_sums(record_of(**arrays), task)


def _place(folder: Path, collection: str, index: int) -> Path:
    # a digest, for a collection may be called ".."
    return folder / hashlib.sha256(collection.encode()).hexdigest()[:32] / f"{index}.npz"
