"""Records of several people, also by column: what is computed for many devices together reads the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.data.population import Population, Record


@dataclass(frozen=True, eq=False)
class Records(Sequence[Record]):
    """Records of several people; row k of a joined column starts at ``starts[k]`` and ends at ``starts[k + 1]``.

    Args:
        feature_starts: int64 (people + 1,).
        feature_indices, feature_values: int32 and float32, the features of all of them, joined.
        neighbour_starts: int64 (people + 1,).
        neighbours: int32, the neighbours of all of them, joined.
        labels: int64 (people,), -1 where a person has none.

    >>> from ldpsim.devices.data.population import build_population
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
        features, near = self.feature_starts[at : at + 2], self.neighbour_starts[at : at + 2]
        own, beside = slice(features[0], features[1]), slice(near[0], near[1])
        return Record(
            self.feature_indices[own], self.feature_values[own], self.neighbours[beside], int(self.labels[at])
        )

    @property
    def feature_counts(self) -> IntArray:
        """int64 (people,): number of non-zero features of each."""
        return np.diff(self.feature_starts)

    @property
    def neighbour_counts(self) -> IntArray:
        """int64 (people,): number of neighbours of each."""
        return np.diff(self.neighbour_starts)


def records_of(population: Population, people: Sequence[int]) -> Records:
    """Return the records of these people: views of the population's arrays where the numbers follow one another.

    Raises:
        ValueError: where a row begins after its end, or ends after the array.
    """
    who = np.asarray(people, np.int64)
    features, (indices, values) = _rows(
        population.feature_indptr, (population.feature_indices, population.feature_values), who
    )
    near, (neighbours,) = _rows(population.neighbour_indptr, (population.neighbour_indices,), who)
    return Records(features, indices, values, near, neighbours, population.labels[who])


def _rows(indptr: IntArray, columns: tuple[NDArray, ...], who: IntArray) -> tuple[IntArray, list[NDArray]]:
    """Return where the rows of these people start and end once they are joined, and the joined columns."""
    first, last = indptr[who], indptr[who + 1]
    starts = np.concatenate([[0], np.cumsum(last - first)])
    if np.any(first > last) or np.any(first < 0) or np.any(last > len(columns[0])):
        raise ValueError("the rows of the population overlap, or run past its end")
    if np.array_equal(first[1:], last[:-1]):
        return starts, [column[first[0] : last[-1]] if len(who) else column[:0] for column in columns]
    places = np.repeat(first - starts[:-1], last - first) + np.arange(starts[-1])
    return starts, [column[places] for column in columns]


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
