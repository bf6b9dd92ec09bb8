"""Values that devices and silos send one another through the server, as bytes (little-endian).

``representation``  a device of ``ego``: how many neighbours and their ids (the first time),
                    then 2 x hidden floats
``neighbours``      to a device of ``ego``: a row of 2 x hidden floats from each neighbour
``contribution``    a device of ``sums``: neighbours and scaled features
``sums``            to a party of ``sums``: rows of S X, and the weights of its own sum
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray, check_rows
from ldpsim.devices.data.population import Record
from ldpsim.devices.facts import LARGEST_SIZE
from ldpsim.devices.federated.local_steps import scaled_record
from ldpsim.devices.network import are_usable, usable
from ldpsim.devices.query import InvalidQuery, malformed
from ldpsim.devices.training_task import Task

QUOTA = 1 << 26  # bytes that a device keeps of what others send it, over all trainings
_COUNT = struct.Struct("<I")
_NONE = 0xFFFFFFFF


def pack_representation(first: FloatArray, second: FloatArray, neighbours: NDArray[np.int32] | None) -> bytes:
    """Return the bytes of a representation; ``neighbours`` None: they were told before."""
    listed = b"" if neighbours is None else np.ascontiguousarray(neighbours, "<i4").tobytes()
    count = _COUNT.pack(_NONE if neighbours is None else len(neighbours))
    return count + listed + usable(first).tobytes() + usable(second).tobytes()


def read_representation(data: bytes, hidden: int, dtype: np.dtype) -> tuple[NDArray[np.int64] | None, FloatArray]:
    """Return the neighbours, where they are told, and the 2 x hidden floats; ValueError for other bytes."""
    try:
        (count,) = _COUNT.unpack_from(data)
        listed = 0 if count == _NONE else count
        if len(data) != _COUNT.size + 4 * listed + 2 * hidden * dtype.itemsize:
            raise ValueError("a representation is cut off")
        neighbours = np.frombuffer(data, "<i4", listed, _COUNT.size).astype(np.int64)
        values = np.frombuffer(data, dtype, 2 * hidden, _COUNT.size + 4 * listed)
    except struct.error as error:
        raise ValueError("a representation is cut off") from error
    return None if count == _NONE else neighbours, values


def read_neighbours(data: bytes, hidden: int, dtype: np.dtype) -> tuple[FloatArray, FloatArray]:
    """Return the sums of what neighbours sent, (hidden,) and (hidden,); InvalidQuery for other bytes."""
    if len(data) % (2 * hidden * dtype.itemsize):
        raise InvalidQuery("the neighbours' representations are cut off")
    rows = np.frombuffer(data, dtype).reshape(-1, 2 * hidden)
    if not are_usable(rows):
        raise InvalidQuery("the neighbours' representations are too large, or no finite numbers")
    total = rows.sum(axis=0, dtype=dtype)
    return total[:hidden], total[hidden:]


def pack_contribution(record: Record, task: Task) -> bytes:
    """Return the bytes of a device's neighbours and scaled features."""
    columns, values = scaled_record(record, task, np.dtype(np.float32))
    listed = np.ascontiguousarray(record.neighbours, "<i4").tobytes()
    features = columns.astype("<i4").tobytes() + usable(values).astype("<f4").tobytes()
    return _COUNT.pack(len(record.neighbours)) + listed + _COUNT.pack(len(columns)) + features


def read_contribution(data: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return neighbours, columns and values; ValueError for other bytes."""
    try:
        (degree,) = _COUNT.unpack_from(data)
        (count,) = _COUNT.unpack_from(data, 4 + 4 * degree)
        if len(data) != 8 + 4 * degree + 8 * count:
            raise ValueError("a contribution is cut off")
        columns = np.frombuffer(data, "<i4", count, 8 + 4 * degree).astype(np.int64)
        values = np.frombuffer(data, "<f4", count, 8 + 4 * degree + 4 * count)
        return np.frombuffer(data, "<i4", degree, 4).astype(np.int64), columns, values
    except struct.error as error:
        raise ValueError("a contribution is cut off") from error


@dataclass(frozen=True, eq=False)
class Sums:
    """Rows of S X, S = D^-1/2 (A + I) D^-1/2, and the entries of S by which a party sums them.

    Args:
        indptr, columns, values: CSR rows.
        weights: float32 (rows,).
    """

    indptr: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float32] = field(repr=False)
    weights: NDArray[np.float32] = field(repr=False)

    def to_bytes(self) -> bytes:
        """Return the bytes."""
        head = _COUNT.pack(len(self.weights)) + _COUNT.pack(len(self.columns))
        ends = self.indptr[1:].astype("<u4").tobytes()
        return head + ends + self.weights.tobytes() + self.columns.astype("<i4").tobytes() + self.values.tobytes()

    @staticmethod
    def from_bytes(data: bytes) -> Sums:
        """Read the bytes; InvalidQuery for any others, or for more than a device keeps."""
        if len(data) > QUOTA:
            raise InvalidQuery("the sums are larger than a device keeps")
        if len(data) < 8:
            raise InvalidQuery("the sums are cut off")
        (rows,), (count,) = _COUNT.unpack_from(data), _COUNT.unpack_from(data, 4)
        if not rows or len(data) != 8 + 8 * rows + 8 * count:
            raise InvalidQuery("the sums are cut off")
        indptr = np.concatenate([[0], np.frombuffer(data, "<u4", rows, 8).astype(np.int64)])
        weights = np.frombuffer(data, "<f4", rows, 8 + 4 * rows)
        columns = np.frombuffer(data, "<i4", count, 8 + 8 * rows).astype(np.int64)
        values = np.frombuffer(data, "<f4", count, 8 + 8 * rows + 4 * count)
        with malformed("the sums"):
            check_rows("the sums", (rows, LARGEST_SIZE), indptr, columns, values)
        if not (are_usable(values) and are_usable(weights)):
            raise InvalidQuery("the sums are malformed")
        return Sums(indptr, columns, values, weights)
