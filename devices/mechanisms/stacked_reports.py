"""Many reports of one mechanism, decoded into one array or sparse matrix with one row for each person.

Reports come as bytes by device, batch by batch, in rising order of devices. A ``read(data, device=...)`` decodes one of
them. scipy is imported where it is needed: a device never stacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import IntArray

DataOf = Mapping[int, bytes]
AT_ONCE = 1 << 16
ReadMany = Callable[[Sequence[bytes], IntArray], tuple[NDArray, ...]]  # of reports, and their devices


class Read(Protocol):
    """Decoder of one report."""

    def __call__(self, data: bytes, *, device: int) -> Any: ...


def one_by_one(read: Read) -> Callable[[Sequence[bytes], IntArray], list[Any]]:
    """Return a decoder of several reports from one of one report."""
    return lambda rows, devices: [
        read(data, device=device) for data, device in zip(rows, devices.tolist(), strict=True)
    ]


def sparse_one_by_one(read: Read) -> ReadMany:
    """Return a decoder of several sparse reports from one that returns sorted columns, and values if there are some."""

    def read_many(rows: Sequence[bytes], devices: IntArray) -> tuple[NDArray, ...]:
        each = one_by_one(read)(rows, devices)
        columns, *values = (np.concatenate(parts) for parts in zip(*each, strict=True))
        return columns, np.array([len(one[0]) for one in each]), *values

    return read_many


class ReportStack:
    """Reports of one mechanism, which are decoded as they come.

    Attributes:
        wrong: Errors by device: its bytes are malformed, and it is left out.
    """

    def __init__(self) -> None:
        self.wrong: dict[int, ValueError] = {}

    def add(self, rows: DataOf) -> None:
        """Take reports of further devices, whose numbers rise from call to call."""
        for some in _in_chunks(rows):
            try:
                self._take(some)
            except ValueError as error:
                if len(some) == 1:
                    self.wrong[next(iter(some))] = error
                    continue
                for device, data in some.items():  # to find the device
                    self.add({device: data})

    def _take(self, rows: DataOf) -> None:
        """Take reports together; ValueError, and nothing has changed, where one is malformed."""
        raise NotImplementedError

    def done(self) -> Any:
        """Return the array or the sparse matrix; nothing is added after that."""
        raise NotImplementedError


def stacked(stack: ReportStack, rows: DataOf) -> Any:
    """Return these reports as one array; ValueError naming the device, for bytes that are no report."""
    stack.add(rows)
    for device, error in stack.wrong.items():
        raise ValueError(f"device {device}: {error}") from error
    return stack.done()


class Decoded(ReportStack):
    """Reports that are one number each, or arrays of one shape; whole numbers have 32 bits where these hold them.

    Args:
        read: Decoder of one report.
        n: Number of people.
        labels: Whether numbers are labels: int64, -1 where no report came.
    """

    def __init__(self, read: Read, n: int, *, labels: bool) -> None:
        super().__init__()
        self._read, self._n, self._labels = read, n, labels
        self._reports: dict[int, NDArray] = {}

    def _take(self, rows: DataOf) -> None:
        self._reports |= {device: np.asarray(self._read(data, device=device)) for device, data in rows.items()}

    def done(self) -> NDArray:
        reports = self._reports
        first = next(iter(reports.values()), np.zeros(() if self._labels else 0, np.int64))
        if self._labels and first.ndim == 0:
            into = np.full(self._n, -1, np.int64)
        else:
            small = first.dtype == np.int64 and all(abs(r).max(initial=0) < 1 << 31 for r in reports.values())
            into = np.zeros((self._n, *first.shape), np.int32 if small else first.dtype)
        for device, report in reports.items():
            into[device] = report
        return into


class Filled(ReportStack):
    """Reports of one size, each a row of an array.

    Args:
        read_many: Returns the rows of several reports; ValueError where one is malformed.
        into: The array.
    """

    def __init__(self, read_many: Callable[[Sequence[bytes], IntArray], Any], into: NDArray) -> None:
        super().__init__()
        self._read_many, self._into = read_many, into

    def _take(self, rows: DataOf) -> None:
        devices = np.fromiter(rows, np.int64, len(rows))
        self._into[devices] = self._read_many(list(rows.values()), devices)

    def done(self) -> NDArray:
        return self._into


class SparseStack(ReportStack):
    """Sparse reports, as a CSR matrix; the list of columns grows in place.

    Args:
        read_many: Returns the sorted columns of several reports, joined, and the number of each, and their values if
            these are not all True; ValueError where one is malformed.
        shape: Of the matrix.
        dtype: Of its values; bool has ones alone.
    """

    def __init__(self, read_many: ReadMany, shape: tuple[int, int], dtype: type = np.bool_) -> None:
        super().__init__()
        self._read_many, self._shape = read_many, shape
        self._columns = np.empty(0, np.int32)
        self._used = 0
        self._counts = np.zeros(shape[0], np.int64)
        self._values: list[NDArray] = [np.zeros(0, dtype)]

    def _take(self, rows: DataOf) -> None:
        devices = np.fromiter(rows, np.int64, len(rows))
        columns, self._counts[devices], *values = self._read_many(list(rows.values()), devices)
        self._values += values
        end = self._used + len(columns)
        if end > len(self._columns):
            # By an eighth: realloc moves no pages of a large array, and little stays unused.
            self._columns.resize(max(end, len(self._columns) * 9 // 8), refcheck=False)
        self._columns[self._used : end] = columns
        self._used = end

    def done(self) -> Any:
        self._columns.resize(self._used, refcheck=False)
        starts = np.concatenate([[0], np.cumsum(self._counts)])
        starts = starts.astype(np.int32) if self._used < 1 << 31 else starts
        values = np.concatenate(self._values)
        matrix = ones_at(self._shape, starts, self._columns)
        if values.dtype != np.bool_:
            matrix = type(matrix)((values, matrix.indices, matrix.indptr), shape=self._shape)
        return matrix


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


def ones_at(shape: tuple[int, int], indptr: NDArray, indices: NDArray) -> Any:
    """bool CSR of ones at these places."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(indices), np.bool_), indices, indptr), shape=shape)
