"""Records of people: of one, and of several by column, which is what code for many devices together reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import IntArray


@dataclass(frozen=True, eq=False)
class Record:
    """One person's data: what exactly one device holds.

    Args:
        feature_indices: int32, sorted columns of the non-zero features.
        feature_values: float32, their values.
        neighbours: int32, sorted ids of the neighbours, never the person itself.
        label: class, or -1 where the person has none.

    >>> from ldpsim.devices.data.population import build_population
    >>> people = build_population(
    ...     "two", n=2, d=3, edges=np.array([[0], [1]]), feature_indptr=np.array([0, 1, 2]),
    ...     feature_indices=np.array([0, 2]), feature_values=None, labels=np.array([0, 1]), classes=2)
    >>> people.record(1).feature_indices.tolist(), people.record(1).neighbours.tolist(), people.record(1).label
    ([2], [0], 1)
    """

    feature_indices: NDArray[np.int32]
    feature_values: NDArray[np.float32]
    neighbours: NDArray[np.int32]
    label: int


@dataclass(frozen=True, eq=False)
class Records(Sequence[Record]):
    """Records of several people; row k of a joined column starts at ``starts[k]`` and ends at ``starts[k + 1]``.

    Args:
        feature_starts: int64 (people + 1,).
        feature_indices, feature_values: int32 and float32, the features of all of them, joined.
        neighbour_starts: int64 (people + 1,).
        neighbours: int32, the neighbours of all of them, joined.
        labels: int64 (people,), -1 where a person has none.

    >>> from ldpsim.devices.data.population import build_population, records_of
    >>> people = build_population(
    ...     "two", n=2, d=3, edges=np.array([[0], [1]]), feature_indptr=np.array([0, 1, 2]),
    ...     feature_indices=np.array([0, 2]), feature_values=None, labels=np.array([0, 1]), classes=2)
    >>> both = records_of(people, [0, 1])
    >>> both.feature_indices.tolist(), both[1].feature_indices.tolist(), both.neighbour_counts.tolist()
    ([0, 2], [2], [1, 1])
    """

    feature_starts: IntArray
    feature_indices: NDArray[np.int32]
    feature_values: NDArray[np.float32]
    neighbour_starts: IntArray
    neighbours: NDArray[np.int32]
    labels: IntArray

    def __len__(self) -> int:
        return len(self.labels)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Records: ...
    def __getitem__(self, place: int | slice) -> Record | Records:
        if isinstance(place, slice):
            first, end, step = place.indices(len(self))
            if step != 1:
                raise ValueError("records are cut into runs alone")
            end = max(first, end)
            features, near = self.feature_starts[first : end + 1], self.neighbour_starts[first : end + 1]
            own, beside = slice(features[0], features[-1]), slice(near[0], near[-1])
            return Records(
                features - features[0], self.feature_indices[own], self.feature_values[own],
                near - near[0], self.neighbours[beside], self.labels[first:end],
            )  # fmt: skip
        at = range(len(self))[place]
        one = self[at : at + 1]
        return Record(one.feature_indices, one.feature_values, one.neighbours, int(one.labels[0]))

    @property
    def feature_counts(self) -> IntArray:
        """int64 (people,): number of non-zero features of each."""
        return np.diff(self.feature_starts)

    @property
    def neighbour_counts(self) -> IntArray:
        """int64 (people,): number of neighbours of each."""
        return np.diff(self.neighbour_starts)


def records_by_column(records: Sequence[Record]) -> Records:
    """Return records by column; those that are given by column are returned as they are."""
    if isinstance(records, Records):
        return records
    features = [record.feature_indices for record in records]
    near = [record.neighbours for record in records]
    return Records(
        _starts(features), _joined(features, np.int32), _joined([r.feature_values for r in records], np.float32),
        _starts(near), _joined(near, np.int32), np.array([record.label for record in records], np.int64),
    )  # fmt: skip


def _starts(rows: Sequence[NDArray]) -> IntArray:
    return np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)])


def _joined(rows: Sequence[NDArray], kind: type) -> NDArray:
    return np.concatenate([np.zeros(0, kind), *rows], dtype=kind, casting="unsafe")


def row_bytes(column: NDArray, starts: IntArray, kind: str) -> list[bytes]:
    """Return the bytes of each row of a joined column, as values of this numpy type."""
    data = np.ascontiguousarray(column, kind).tobytes()
    ends = (starts * np.dtype(kind).itemsize).tolist()
    return [data[first:end] for first, end in zip(ends, ends[1:], strict=False)]
