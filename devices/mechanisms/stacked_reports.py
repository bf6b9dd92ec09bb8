"""Many reports of one mechanism, decoded into one array or sparse matrix with one row for each person.

Every function takes the reports as bytes by device and a ``read(data, device=...)`` that
decodes one of them. A ValueError of ``read`` is raised again with the device's number.
scipy is imported where it is needed: a device never stacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import IntArray

DataOf = Mapping[int, bytes]
AT_ONCE = 1 << 16
ReadMany = Callable[[Sequence[bytes], IntArray], tuple[IntArray, IntArray]]  # of reports, and their devices


class Read(Protocol):
    """Decoder of one report."""

    def __call__(self, data: bytes, *, device: int) -> Any: ...


class ReportStack(Protocol):
    """Reports of one mechanism, which are decoded as they come.

    Attributes:
        wrong: Errors by device: its bytes are malformed, and it is left out.
    """

    wrong: dict[int, ValueError]

    def add(self, rows: DataOf) -> None:
        """Take reports of further devices, whose numbers rise from call to call."""

    def done(self) -> Any:
        """Return the array or sparse matrix with one row for each person."""


class Kept:
    """Reports that are kept as bytes and decoded at the end."""

    def __init__(self, read: Read, stack: Callable[[DataOf], Any]) -> None:
        self._read, self._stack = read, stack
        self._rows: dict[int, bytes] = {}
        self.wrong: dict[int, ValueError] = {}

    def add(self, rows: DataOf) -> None:
        """Keep the bytes."""
        self._rows.update(rows)

    def done(self) -> Any:
        """Decode all of them."""
        try:
            return self._stack(self._rows)
        except ValueError:
            readable = dict(_readable(self._rows, self._read, self.wrong))
            if not self.wrong:
                raise
            return self._stack({device: self._rows[device] for device in readable})


class Filled:
    """Reports of one size, each a row of an array.

    Args:
        read: Decoder of one report.
        into: The array.
        read_many: Returns the rows of several reports; ValueError where one is malformed.
    """

    def __init__(self, read: Read, into: NDArray, read_many: Callable[[Sequence[bytes]], NDArray]) -> None:
        self._read, self._into, self._read_many = read, into, read_many
        self.wrong: dict[int, ValueError] = {}

    def add(self, rows: DataOf) -> None:
        """Fill the rows of these devices."""
        try:
            self._into[list(rows)] = self._read_many(list(rows.values()))
        except ValueError:
            for device, report in _readable(rows, self._read, self.wrong):
                self._into[device] = report

    def done(self) -> NDArray:
        """Return the array."""
        return self._into


class SparseOnes:
    """Places of ones, as a bool CSR matrix; the list of columns grows in place.

    Args:
        read: Decoder of one report into its sorted columns.
        shape: Of the matrix.
        read_many: Returns the columns of several reports, joined, and the number of each; ValueError where one
            is malformed. None reads one by one.
    """

    def __init__(self, read: Read, shape: tuple[int, int], read_many: ReadMany | None = None) -> None:
        self._read, self._shape, self._read_many = read, shape, read_many
        self.wrong: dict[int, ValueError] = {}
        self._columns = np.empty(0, np.int32)
        self._used = 0
        self._counts = np.zeros(shape[0], np.int64)

    def add(self, rows: DataOf) -> None:
        """Append the columns of these devices."""
        for some in _in_chunks(rows):
            self._append(some)

    def _append(self, rows: DataOf) -> None:
        devices = np.fromiter(rows, np.int64, len(rows))
        found = None
        if self._read_many is not None:
            with suppress(ValueError):  # below, the device with malformed bytes is found
                found = self._read_many(list(rows.values()), devices)
        if found is None:
            read = dict(_readable(rows, self._read, self.wrong))
            devices = np.fromiter(read, np.int64, len(read))
            each = [np.zeros(0, np.int64), *read.values()]
            found = np.concatenate(each), np.array([len(places) for places in each[1:]], np.int64)
        columns, self._counts[devices] = found
        end = self._used + len(columns)
        if end > len(self._columns):
            # By an eighth: realloc moves no pages of a large array, and little stays unused.
            self._columns.resize(max(end, len(self._columns) * 9 // 8), refcheck=False)
        self._columns[self._used : end] = columns
        self._used = end

    def done(self) -> Any:
        """Return the matrix."""
        self._columns.resize(self._used, refcheck=False)
        indptr = np.concatenate([[0], np.cumsum(self._counts)])
        small = self._used < 1 << 31
        return ones_at(self._shape, indptr.astype(np.int32) if small else indptr, self._columns)


def _in_chunks(rows: DataOf) -> Iterator[DataOf]:
    """Yield the reports in groups of about :data:`AT_ONCE` bytes, so that decoding needs little memory."""
    some: dict[int, bytes] = {}
    size = 0
    for device, data in rows.items():
        some[device] = data
        size += len(data)
        if size > AT_ONCE:
            yield some
            some, size = {}, 0
    if some:
        yield some


def decoded(rows: DataOf, read: Read) -> Iterator[tuple[int, Any]]:
    """Yield (device, decoded report); ValueError names the device."""
    for device, data in rows.items():
        try:
            report = read(data, device=device)
        except ValueError as error:
            raise ValueError(f"device {device}: {error}") from error
        yield device, report


def _readable(rows: DataOf, read: Read, wrong: dict[int, ValueError]) -> Iterator[tuple[int, Any]]:
    """Yield (device, decoded report); errors of the others are added to ``wrong``."""
    for device, data in rows.items():
        try:
            report = read(data, device=device)
        except ValueError as error:
            wrong[device] = error
            continue
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


def numbers_or_rows(rows: DataOf, read: Read, n: int) -> NDArray:
    """Stack whole numbers into int64 (n,), -1 where no report came; arrays as :func:`same_shape`."""
    for _, first in decoded(rows, read):
        return same_shape(rows, read, n) if np.ndim(first) else filled(rows, read, np.full(n, -1, np.int64))
    return np.full(n, -1, np.int64)


def sparse_ones(rows: DataOf, read: Read, shape: tuple[int, int], read_many: ReadMany | None = None) -> Any:
    """bool CSR with ones at each device's sorted columns; ``read`` returns them."""
    stack = SparseOnes(read, shape, read_many)
    stack.add(rows)
    for device, error in stack.wrong.items():
        raise ValueError(f"device {device}: {error}") from error
    return stack.done()


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
