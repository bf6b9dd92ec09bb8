"""People whose records one party of a federated training holds: the one of a device, or the members of a silo.

Members of a silo handed their records over (:mod:`ldpsim.devices.raw_record`), so every silo is a trusted curator of
its own. It trains the two-layer GCN of :mod:`ldpsim.devices.network` on the graph that its members induce, or
(``sums``) with the rows of S X that its members' neighbours in other silos complete, exchanged once before training.
A device does the same for one person, whose graph has no edge.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray, check_rows
from ldpsim.devices.data.population import Record
from ldpsim.devices.federated.exchange import Shared, rows_record
from ldpsim.devices.federated.local_steps import Inputs, SparseRows
from ldpsim.devices.query import InvalidQuery
from ldpsim.devices.training_task import Task


@dataclass(frozen=True, eq=False)
class Members:
    """Records of the members of a silo.

    Args:
        members: int64 (m,): global ids, sorted.
        indptr, columns, values: CSR rows of the members' features, scaled.
        neighbour_indptr, neighbours: CSR rows of the members' neighbours, global ids: also
            those in other silos.
        labels: int64 (m,).
        training: bool (m,): whose labels are trained on.
    """

    members: NDArray[np.int64]
    indptr: NDArray[np.int64] = field(repr=False)
    columns: NDArray[np.int64] = field(repr=False)
    values: NDArray[np.float32] = field(repr=False)
    neighbour_indptr: NDArray[np.int64] = field(repr=False)
    neighbours: NDArray[np.int64] = field(repr=False)
    labels: NDArray[np.int64] = field(repr=False)
    training: NDArray[np.bool_] = field(repr=False)

    def save(self, folder: Path) -> None:
        """Write the data, plain arrays."""
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(folder / "silo.npz", **{each.name: getattr(self, each.name) for each in fields(self)})

    @classmethod
    def load(cls, folder: Path) -> Members:
        """Read :meth:`save` back."""
        with np.load(folder / "silo.npz", allow_pickle=False) as arrays:
            return cls(**{each.name: arrays[each.name] for each in fields(cls)})

    @property
    def degrees(self) -> NDArray[np.int64]:
        """int64 (m,): the members' true degrees, neighbours in other silos included."""
        return np.diff(self.neighbour_indptr)

    def features(self, d: int) -> Any:
        """The members' scaled features, CSR (m, d); ValueError where they have more columns."""
        check_rows("the features", (len(self.members), d), self.indptr, self.columns, self.values)
        return SparseRows(self.indptr, self.columns, self.values).matrix(d)

    def inside(self) -> Any:
        """D^-1/2 (A + I) D^-1/2 of the graph that the members induce, CSR (m, m)."""
        m = len(self.members)
        number = np.searchsorted(self.members, self.neighbours)
        own = self.members[np.minimum(number, m - 1)] == self.neighbours
        rows = np.repeat(np.arange(m), self.degrees)[own]
        ends = np.concatenate([rows, np.arange(m)]), np.concatenate([number[own], np.arange(m)])
        looped = _entries(np.ones(len(ends[0]), np.float32), ends, (m, m))
        root = 1 / np.sqrt(np.asarray(looped.sum(axis=1)).ravel())
        rows, columns = looped.nonzero()
        return _entries((root[rows] * root[columns]).astype(np.float32), (rows, columns), (m, m))

    @property
    def _near(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Members by place, each with its neighbours and then itself by global id."""
        places = np.arange(len(self.members))
        return np.concatenate([np.repeat(places, self.degrees), places]), np.concatenate(
            [self.neighbours, self.members]
        )

    def contribution(self, d: int) -> ArrayRecord:
        """Return the members' part of the sums: ids j, rows of sums over i in N(j) and j of x_i / root(d_i + 1)."""
        from scipy.sparse import diags_array

        rows, near = self._near
        ids, places = np.unique(near, return_inverse=True)
        spread = _entries(np.ones(len(rows), np.float32), (places, rows), (len(ids), len(self.members)))
        scale = diags_array((1 / np.sqrt(self.degrees + 1)).astype(np.float32))
        sums = (spread @ (scale @ self.features(d))).tocsr()
        return rows_record(SparseRows.of(sums), ids=ids, members=self.members, degrees=self.degrees)

    def outside(self, ids: NDArray[np.int64], degrees: NDArray[np.int64]) -> Any:
        """The members' rows of S over the people ``ids`` (sorted; of these degrees), CSR (m, len(ids)).

        Raises:
            InvalidQuery: where a member or its neighbour is none of these people.
        """
        rows, near = self._near
        columns = np.searchsorted(ids, near)
        if len(np.setdiff1d(near, ids)):
            raise InvalidQuery("the sums are of other people")
        weights = 1 / np.sqrt((self.degrees[rows] + 1.0) * (degrees[columns] + 1.0))
        return _entries(weights.astype(np.float32), (rows, columns), (len(self.members), len(ids)))

    def inputs(self, task: Task, sums: Shared | None, *, training: bool) -> Inputs:
        """Return the inputs of the members, or of those whose labels are trained on.

        Args:
            task: The task of the silos.
            sums: The sums that the silo was sent; None: it trains without.
            training: Whether only these members count.
        """
        rows, spread = _bound(self, task.d, sums)
        chosen = np.flatnonzero(self.training) if training else np.arange(len(self.members))
        return Inputs(rows, SparseRows.of(spread[chosen]), self.labels[chosen])


@lru_cache(maxsize=256)  # used in every round
def _bound(members: Members, d: int, sums: Shared | None) -> tuple[SparseRows, Any]:
    """Return the inputs S X, and how the members sum hidden units."""
    if sums is not None:
        return sums.rows, members.outside(**sums.more)
    spread = members.inside()
    return SparseRows.of(spread @ members.features(d)), spread


def _entries(values: NDArray[Any], places: tuple[NDArray[Any], NDArray[Any]], shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    return csr_array((values, places), shape=shape)


def contribution_of(record: Record | Members, task: Task) -> ArrayRecord:
    """Return what a party adds to the sums: for one person, the neighbours and the scaled features."""
    if isinstance(record, Members):
        return record.contribution(task.d)
    columns, values = scaled_record(record, task, np.dtype(np.float32))
    return rows_record(SparseRows.one(columns, values), neighbours=record.neighbours)


def inputs_of(record: Record, task: Task, dtype: np.dtype[Any], sums: Shared | None = None) -> Inputs:
    """Return the inputs of one person, by the sums that its device was sent or by its own features."""
    label = np.array([class_of(record, task)])
    if sums is not None:
        rows, weights = sums.rows, sums.more["weights"].astype(dtype)
        rows = SparseRows(rows.starts, rows.columns, rows.values.astype(dtype))
        return Inputs(rows, SparseRows.one(np.arange(len(weights)), weights), label)
    columns, values = scaled_record(record, task, dtype)
    loop = dtype.type(1 / (1 + len(record.neighbours)) if task.sees == "ego" else 1)
    return Inputs(SparseRows.one(columns, loop * values), SparseRows.one(np.arange(1), loop * np.ones(1, dtype)), label)


def scaled_record(record: Record, task: Task, dtype: np.dtype[Any]) -> tuple[NDArray[np.int64], FloatArray]:
    """Return a record's columns and scaled values; a column outside 0 .. d - 1 is left out."""
    columns = record.feature_indices.astype(np.int64)
    values = record.feature_values.astype(dtype)
    if len(columns) and not (columns[0] >= 0 and columns[-1] < task.d):
        inside = (columns >= 0) & (columns < task.d)
        columns, values = columns[inside], values[inside]
    return columns, values if task.scaling == "none" else values / dtype.type(size_of(values, task.scaling))


def size_of(values: FloatArray, scaling: str) -> float:
    """Return what a scaling divides a record's features by; 1 where there is nothing to divide."""
    if scaling == "none":
        return 1.0
    return float(np.abs(values).sum() if scaling == "row" else np.sqrt((values * values).sum())) or 1.0


def class_of(record: Record, task: Task) -> int:
    """Return the label, or the first class for a label outside the classes."""
    return record.label if 0 <= record.label < task.classes else 0
