"""People whose records one party of a federated training holds: the one of a device, or the members of a silo.

Members of a silo handed their records over (:mod:`ldpsim.devices.raw_record`), so every silo is a trusted curator of
its own. It trains the two-layer GCN of :mod:`ldpsim.devices.network` on the graph that its members induce, or
(``sums``) with the rows of S X that its members' neighbours in other silos complete, exchanged once before training.
A device does the same for one person, whose graph has no edge.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray, check_rows
from ldpsim.devices.atomic_files import private_file, private_folder
from ldpsim.devices.data.records import Record, Records, records_by_column
from ldpsim.devices.federated.attention import AttendedPairs, AttentionSilo
from ldpsim.devices.federated.exchange import Shared, rows_record
from ldpsim.devices.federated.local_steps import Inputs, SparseRows, Stack
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
        """Write the data, plain arrays. They are raw records: their owner alone may read the file and its folders."""
        private_folder(folder.parent)
        private_folder(folder)
        with private_file(folder / "silo.npz", exist_ok=True) as file:
            np.savez(file, **{each.name: getattr(self, each.name) for each in fields(self)})

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

    def _edges_inside(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Both ends of each edge that the members induce, by place, in both directions."""
        m = len(self.members)
        number = np.searchsorted(self.members, self.neighbours)
        own = self.members[np.minimum(number, m - 1)] == self.neighbours
        return np.repeat(np.arange(m), self.degrees)[own], number[own]

    def means(self) -> Any:
        """D^-1 A of the graph that the members induce, CSR (m, m); a member without a neighbour has an empty row."""
        rows, columns = self._edges_inside()
        m = len(self.members)
        return _entries((1 / np.bincount(rows, minlength=m)[rows]).astype(np.float32), (rows, columns), (m, m))

    def looped(self) -> Any:
        """A + I of the graph that the members induce, CSR (m, m)."""
        m = len(self.members)
        rows, columns = self._edges_inside()
        ends = np.concatenate([rows, np.arange(m)]), np.concatenate([columns, np.arange(m)])
        return _entries(np.ones(len(ends[0]), np.float32), ends, (m, m))

    def inside(self) -> Any:
        """D^-1/2 (A + I) D^-1/2 of the graph that the members induce, CSR (m, m)."""
        m, looped = len(self.members), self.looped()
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

    def stack(self, task: Task, sums: Shared | None, *, training: bool) -> Stack | AttentionSilo:
        """Return the members, or those whose labels are trained on, as the local steps take them.

        Args:
            task: The task of the silos.
            sums: The sums that the silo was sent; None: it trains without.
            training: Whether only these members count.
        """
        chosen = np.flatnonzero(self.training) if training else np.arange(len(self.members))
        if task.network == "gat":
            return AttentionSilo(task, *_attention_inputs(self, task.d), chosen, self.labels[chosen])
        rows, spread = _bound(self, task.d, sums, task.network)
        own = chosen if task.network == "sage" else None
        return Stack.of([Inputs(rows, SparseRows.of(spread[chosen]), self.labels[chosen], own=own)], task)


@lru_cache(maxsize=256)
def _attention_inputs(members: Members, d: int) -> tuple[Any, AttendedPairs]:
    return members.features(d), AttendedPairs.of(members.looped())


@lru_cache(maxsize=256)  # used in every round
def _bound(members: Members, d: int, sums: Shared | None, network: str) -> tuple[SparseRows, Any]:
    """Return the inputs S X, or [M X, X] of a GraphSAGE, and how the members sum hidden units."""
    if sums is not None:
        return sums.rows, members.outside(**sums.more)
    if network == "sage":
        from scipy.sparse import hstack

        features, means = members.features(d), members.means()
        return SparseRows.of(hstack([means @ features, features], format="csr")), means
    spread = members.inside()
    return SparseRows.of(spread @ members.features(d)), spread


def _entries(values: NDArray[Any], places: tuple[NDArray[Any], NDArray[Any]], shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    return csr_array((values, places), shape=shape)


def contribution_of(record: Record | Members, task: Task) -> ArrayRecord:
    """Return what a party adds to the sums: for one person, the neighbours and the scaled features."""
    if isinstance(record, Members):
        return record.contribution(task.d)
    columns, values, _ = scaled(records_by_column([record]), task, np.dtype(np.float32))
    return rows_record(SparseRows.one(columns, values), neighbours=record.neighbours)


def stack_of(records: Records, task: Task, dtype: np.dtype[Any]) -> Stack:
    """Return the stack of people, one a device, by their own features."""
    columns, values, starts = scaled(records, task, dtype)
    weights = np.ones(len(records), dtype)
    if task.sees == "ego":
        weights = (1 / (1 + records.neighbour_counts)).astype(dtype)
        values = np.repeat(weights, np.diff(starts)) * values
    each = np.arange(len(records) + 1)
    rows, spread = SparseRows(starts, columns, values), SparseRows(each, each[:-1], weights)
    return Stack(task, rows, each, spread, classes_of(records.labels, task)[:, None])


def inputs_of(label: int, task: Task, dtype: np.dtype[Any], sums: Shared) -> Inputs:
    """Return the inputs of one person, by the sums that its device was sent."""
    weights = sums.more["weights"].astype(dtype)
    rows = SparseRows(sums.rows.starts, sums.rows.columns, sums.rows.values.astype(dtype))
    return Inputs(rows, SparseRows.one(np.arange(len(weights)), weights), classes_of(np.array([label]), task))


def scaled(
    records: Records, task: Task, dtype: np.dtype[Any]
) -> tuple[NDArray[np.int64], FloatArray, NDArray[np.int64]]:
    """Return the joined columns and scaled values of records, and where each one's begin and end.

    A column outside 0 .. d - 1 is left out. A person's values do not depend on who else is there.
    """
    columns, values = records.feature_indices.astype(np.int64), records.feature_values.astype(dtype)
    starts, inside = records.feature_starts, (columns >= 0) & (columns < task.d)
    if not inside.all():
        starts = np.concatenate([[0], np.cumsum(inside)])[starts]
        columns, values = columns[inside], values[inside]
    if task.scaling != "none":
        sizes = [size_of(values[start:end], task.scaling) for start, end in pairwise(starts.tolist())]
        values = values / np.repeat(np.array(sizes, dtype), np.diff(starts))
    return columns, values, starts


def size_of(values: FloatArray, scaling: str) -> float:
    """Return what a scaling divides a record's features by; 1 where there is nothing to divide."""
    if scaling == "none":
        return 1.0
    return float(np.abs(values).sum() if scaling == "row" else np.sqrt((values * values).sum())) or 1.0


def classes_of(labels: NDArray[np.int64], task: Task) -> NDArray[np.int64]:
    """Return the labels, and the first class for a label outside the classes."""
    return np.where((labels >= 0) & (labels < task.classes), labels, 0)
