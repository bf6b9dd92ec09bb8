"""Many reports of one mechanism, decoded into one array or sparse matrix with one row for each person.

Every function takes the reports as bytes by device and a ``read(data, device=...)`` that
decodes one of them. A ValueError of ``read`` is raised again with the device's number.
scipy is imported where it is needed: a device never stacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from devices.array_types import IntArray

DataOf = Mapping[int, bytes]


class Read(Protocol):
    """Decoder of one report."""

    def __call__(self, data: bytes, *, device: int) -> Any: ...


def decoded(rows: DataOf, read: Read) -> Iterator[tuple[int, Any]]:
    """Yield (device, decoded report); ValueError names the device."""
    for device, data in rows.items():
        try:
            report = read(data, device=device)
        except ValueError as error:
            raise ValueError(f"device {device}: {error}") from error
        yield device, report


def filled(rows: DataOf, read: Read, into: NDArray) -> NDArray:
    """Write each report into its device's row of ``into``, and return it."""
    for device, report in decoded(rows, read):
        into[device] = report
    return into


def same_shape(rows: DataOf, read: Read, n: int) -> NDArray:
    """Stack reports that are arrays of one shape; whole numbers are kept in 32 bits where these hold them."""
    reports = {device: np.asarray(report) for device, report in decoded(rows, read)}
    first = next(iter(reports.values()), np.zeros(0, np.int64))
    small = first.dtype == np.int64 and all(abs(r).max(initial=0) < 1 << 31 for r in reports.values())
    into = np.zeros((n, *first.shape), np.int32 if small else first.dtype)
    for device, report in reports.items():
        into[device] = report
    return into


def sparse_ones(rows: DataOf, read: Read, shape: tuple[int, int]) -> Any:
    """bool CSR with ones at each device's sorted columns; ``read`` returns them."""
    columns = {device: places.astype(np.int32) for device, places in decoded(rows, read)}
    return ones_at(shape, *_joined(shape[0], columns))


def sparse_values(rows: DataOf, read: Read, shape: tuple[int, int], dtype: type) -> Any:
    """CSR of each device's values; ``read`` returns the sorted columns and their values."""
    from scipy.sparse import csr_array

    columns: dict[int, IntArray] = {}
    values: list[NDArray] = [np.zeros(0, dtype)]
    for device, (places, given) in decoded(rows, read):
        columns[device] = places.astype(np.int32)
        values.append(given)
    indptr, indices = _joined(shape[0], columns)
    return csr_array((np.concatenate(values), indices, indptr), shape=shape)


def ones_at(shape: tuple[int, int], indptr: NDArray, indices: NDArray) -> Any:
    """bool CSR of ones at these places."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(indices), np.bool_), indices, indptr), shape=shape)


def _joined(n: int, columns: Mapping[int, IntArray]) -> tuple[NDArray, NDArray]:
    """(indptr, indices) of a CSR matrix from each device's sorted columns, devices in rising order."""
    indptr = np.zeros(n + 1, np.int64)
    for device, places in columns.items():
        indptr[device + 1] = len(places)
    indptr = np.cumsum(indptr)
    indices = np.concatenate([np.zeros(0, np.int32), *columns.values()], dtype=np.int32)
    return indptr.astype(np.int32) if indptr[-1] < 1 << 31 else indptr, indices
