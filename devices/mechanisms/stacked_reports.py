"""Many reports of one mechanism, decoded into one array or sparse matrix with one row for each person.

Reports come as bytes by device, batch by batch, in rising order of devices. scipy is imported where it is needed: a
device never stacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.mechanisms.sparse_batch import SparseBatch

if TYPE_CHECKING:
    from ldpsim.devices.mechanisms.mechanism import Mechanism

DataOf = Mapping[int, bytes]
AT_ONCE = 1 << 16
CATEGORIES = ("labels", "votes")  # arrays of one number a person, -1 where no report came


class ReportStack:
    """Reports of one mechanism, which are decoded as they come.

    Args:
        mechanism: The mechanism.
        n: Number of people.

    Attributes:
        wrong: Errors by device: its bytes are malformed, and it is left out.
    """

    def __init__(self, mechanism: Mechanism, n: int) -> None:
        self.wrong: dict[int, ValueError] = {}
        self._mechanism, self._n = mechanism, n
        self._stack: _Dense | _Sparse | None = None

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
        devices = np.fromiter(rows, np.int64, len(rows))
        taken = self._mechanism.rows(self._mechanism.decode(list(rows.values()), devices), devices)
        if self._stack is None:
            kind = _Sparse if isinstance(taken, SparseBatch) else _Dense
            self._stack = kind(taken, self._n, self._mechanism.field)
        self._stack.add(devices, taken)

    def done(self) -> Any:
        """Return the array or the sparse matrix; nothing is added after that."""
        if self._stack is None:
            self._take({})
        assert self._stack is not None
        return self._stack.done()


class RunningSum:
    """The party that adds: it takes contributions and returns their sum. It keeps no contribution."""

    sum: NDArray[np.int64] | None = None

    def add_up(self, contributions: NDArray[np.int64]) -> None:
        """Add contributions, int64 (people, ..)."""
        added = contributions.sum(axis=0, dtype=np.int64)
        self.sum = added if self.sum is None else self.sum + added


class Adder(RunningSum, ReportStack):
    """The party that adds reports."""

    def _take(self, rows: DataOf) -> None:
        devices = np.fromiter(rows, np.int64, len(rows))
        self.add_up(self._mechanism.decode(list(rows.values()), devices))

    def done(self) -> NDArray[np.int64]:
        """Return the sum, of the shape of one contribution."""
        if self.sum is None:
            self._take({})
        assert self.sum is not None
        return self.sum


def report_stack(mechanism: Mechanism, n: int) -> ReportStack:
    """Return what takes the reports of a mechanism: the party that adds, where they are summed."""
    return (Adder if mechanism.summed else ReportStack)(mechanism, n)


def stacked(mechanism: Mechanism, n: int, rows: DataOf) -> Any:
    """Return these reports as one array; ValueError naming the device, for bytes that are no report."""
    stack = report_stack(mechanism, n)
    stack.add(rows)
    for device, error in stack.wrong.items():
        raise ValueError(f"device {device}: {error}") from error
    return stack.done()


class _Dense:
    """Reports that are one number each, or arrays of one shape; the type grows with what comes."""

    def __init__(self, first: NDArray, n: int, field: str) -> None:
        missing = -1 if first.ndim == 1 and field in CATEGORIES else 0
        self._into = np.full((n, *first.shape[1:]), missing, first.dtype)

    def add(self, devices: NDArray[np.int64], reports: NDArray) -> None:
        self._into = self._into.astype(np.result_type(self._into, reports), copy=False)
        self._into[devices] = reports

    def done(self) -> NDArray:
        return self._into


class _Sparse:
    """Sparse reports, as a CSR matrix; the list of columns grows in place."""

    def __init__(self, first: SparseBatch, n: int, field: str) -> None:
        self._n, self._width = n, 0
        self._columns = np.empty(0, np.int32)
        self._used = 0
        self._counts = np.zeros(n, np.int64)
        self._values: list[NDArray] = []

    def add(self, devices: NDArray[np.int64], reports: SparseBatch) -> None:
        self._counts[devices] = reports.counts
        self._values += [] if reports.values is None else [reports.values]
        self._width = max(self._width, reports.width)
        end = self._used + len(reports.columns)
        if end > len(self._columns):
            # By an eighth: realloc moves no pages of a large array, and little stays unused.
            self._columns.resize(max(end, len(self._columns) * 9 // 8), refcheck=False)
        self._columns[self._used : end] = reports.columns
        self._used = end

    def done(self) -> Any:
        self._columns.resize(self._used, refcheck=False)
        starts = np.concatenate([[0], np.cumsum(self._counts)])
        starts = starts.astype(np.int32) if self._used < 1 << 31 else starts
        matrix = ones_at((self._n, self._width), starts, self._columns)
        if self._values:
            matrix = type(matrix)((np.concatenate(self._values), matrix.indices, matrix.indptr), shape=matrix.shape)
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
