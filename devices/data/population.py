"""A graph cut into devices.

A population is four read-only CSR-like arrays and a label vector. It is saved once as
plain ``.npy`` files and memory-mapped by every worker: never captured in a closure,
never sent in a message.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.atomic_files import private_file, private_folder
from ldpsim.devices.data.records import Record, Records
from ldpsim.devices.facts import PublicFacts, Split

FORMAT = 1
_ARRAYS = ("feature_indptr", "feature_indices", "feature_values", "neighbour_indptr", "neighbour_indices", "labels")
_TYPES = ["<i8", "<i4", "<f4", "<i8", "<i4", "<i8"]


@dataclass(frozen=True, eq=False)
class Population:
    """All records of a population, by node.

    Args:
        name: Data set name.
        facts: What is public about it.
        feature_indptr, feature_indices, feature_values: CSR form of the n x d features;
            int64 (n + 1,), int32 (nnz,), float32 (nnz,); columns sorted in a row.
        neighbour_indptr, neighbour_indices: CSR form of the symmetric adjacency without
            self-loops; int64 (n + 1,), int32 (2 m,); sorted in a row.
        labels: int64 (n,), -1 where a person has none.
        own_split: The split that the data set's own files give, or None. Not part of the
            data on a device: neither saved nor in the digest.
    """

    name: str
    facts: PublicFacts
    feature_indptr: NDArray[np.int64] = field(repr=False)
    feature_indices: NDArray[np.int32] = field(repr=False)
    feature_values: NDArray[np.float32] = field(repr=False)
    neighbour_indptr: NDArray[np.int64] = field(repr=False)
    neighbour_indices: NDArray[np.int32] = field(repr=False)
    labels: NDArray[np.int64] = field(repr=False)
    own_split: Split | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return self.facts.n

    def record(self, node: int) -> Record:
        """Return the record of one person (views, not copies)."""
        f0, f1 = self.feature_indptr[node], self.feature_indptr[node + 1]
        a0, a1 = self.neighbour_indptr[node], self.neighbour_indptr[node + 1]
        columns, values = self.feature_indices[f0:f1], self.feature_values[f0:f1]
        return Record(columns, values, self.neighbour_indices[a0:a1], int(self.labels[node]))

    @property
    def degrees(self) -> NDArray[np.int64]:
        """int64 (n,): number of neighbours of each person."""
        return np.diff(self.neighbour_indptr)

    @property
    def edges(self) -> NDArray[np.int64]:
        """int64 (2, m): every undirected edge once, with row 0 < row 1."""
        rows = np.repeat(np.arange(len(self)), self.degrees)
        cols = np.asarray(self.neighbour_indices, dtype=np.int64)
        once = rows < cols
        return np.stack([rows[once], cols[once]])

    @property
    def homophily(self) -> float:
        """Share of one class among the edges between people with a label; nan without such an edge."""
        ends = self.labels[self.edges]
        left, right = ends[:, (ends >= 0).all(axis=0)]
        return float(np.mean(left == right)) if len(left) else float("nan")

    @cached_property
    def digest(self) -> str:
        """SHA-256 (hex) of the facts and all arrays: what identifies the data."""
        state = hashlib.sha256(json.dumps([FORMAT, self.facts.to_dict()], sort_keys=True).encode())
        for name in _ARRAYS:
            array = np.ascontiguousarray(getattr(self, name))
            state.update(f"{name}:{array.dtype.str}:{array.shape}".encode())
            state.update(array.data)
        return state.hexdigest()

    @property
    def nbytes(self) -> int:
        """Size of all arrays, in bytes."""
        return sum(getattr(self, name).nbytes for name in _ARRAYS)

    def _check_sizes(self, folder: Path) -> None:
        """Check that the arrays fit the facts and one another; their values are not read."""
        n = len(self)
        ends = [(self.feature_indptr, self.feature_indices), (self.neighbour_indptr, self.neighbour_indices)]
        fits = all(
            starts.shape == (n + 1,) and indices.ndim == 1 and (int(starts[0]), int(starts[-1])) == (0, len(indices))
            for starts, indices in ends
        )
        shapes = fits and self.labels.shape == (n,) and self.feature_values.shape == self.feature_indices.shape
        if not shapes or [getattr(self, name).dtype.str for name in _ARRAYS] != _TYPES:
            raise ValueError(f"{folder} is damaged: its arrays do not fit its facts")

    def save(self, folder: Path) -> None:
        """Write the population as plain ``.npy`` files, for their owner alone; ``population.json`` comes last."""
        private_folder(folder)
        for name in _ARRAYS:
            with private_file(folder / f"{name}.npy", exist_ok=True) as file:
                np.save(file, getattr(self, name), allow_pickle=False)
        head = {"format": FORMAT, "name": self.name, "digest": self.digest, "facts": self.facts.to_dict()}
        with private_file(folder / "population.json", exist_ok=True) as file:
            file.write(json.dumps(head, indent=1).encode())

    @classmethod
    def load(cls, folder: Path) -> Population:
        """Memory-map a population written by :meth:`save`.

        Raises:
            FileNotFoundError: where the folder holds none.
            ValueError: for a format this version does not read, or arrays that do not fit.
        """
        head = json.loads((folder / "population.json").read_text())
        if head["format"] != FORMAT:
            raise ValueError(f"{folder} holds a population of format {head['format']}, this version reads {FORMAT}")
        # Plain array views of the maps: a memmap's own indexing costs several times more.
        arrays: dict[str, Any] = {
            name: np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)) for name in _ARRAYS
        }
        try:
            facts = PublicFacts.from_dict(head["facts"])
        except ValueError as error:
            raise ValueError(f"{folder} is damaged: {error}") from error
        population = cls(name=head["name"], facts=facts, **arrays)
        population._check_sizes(folder)
        population.__dict__["digest"] = head["digest"]
        return population


class WrongFeature(ValueError):
    """A feature that a population may not have, with its place.

    Args:
        name: Name of the population, or of its file.
        row, column: Person and feature.
        reason: The fault.
    """

    def __init__(self, name: str, row: int, column: int, reason: str) -> None:
        self.row, self.column, self.reason = row, column, reason
        remedy = "; feature_range states the public range (`ldpsim import --feature-range LOW,HIGH` writes it)"
        super().__init__(f"{name}: row {row}, column {column}: {reason}{remedy if self.outside_range else ''}")

    @property
    def outside_range(self) -> bool:
        """Whether the value is a number that the public range does not contain."""
        return "outside [" in self.reason


def build_population(
    name: str,
    *,
    n: int,
    d: int,
    edges: NDArray[np.integer],
    feature_indptr: NDArray[np.integer],
    feature_indices: NDArray[np.integer],
    feature_values: NDArray[np.floating] | None,
    labels: NDArray[np.integer],
    classes: int,
    feature_range: tuple[float, float] = (0.0, 1.0),
    domains: tuple[int, ...] = (),
    class_names: tuple[str, ...] = (),
) -> Population:
    """Check raw arrays and make a population of them.

    Self-loops and repeated edges are removed and every edge is made undirected; columns
    are sorted in a row. ``edges`` is (2, any) in any direction; ``feature_values`` None
    means that every stored entry is 1.

    Raises:
        WrongFeature: for the first row and column with a non-finite or out-of-range feature.
        ValueError: one line naming the first offending edge or node: an edge to a node that
            does not exist, a label outside its classes, arrays of wrong shape.
    """
    facts = PublicFacts(
        n=n, d=d, classes=classes, feature_low=feature_range[0], feature_high=feature_range[1],
        domains=domains, class_names=class_names,
    )  # fmt: skip
    indptr = np.asarray(feature_indptr, dtype=np.int64)
    columns = np.asarray(feature_indices, dtype=np.int64)
    values = np.ones(len(columns), np.float32) if feature_values is None else np.asarray(feature_values, np.float32)
    if indptr.shape != (n + 1,) or indptr[0] != 0 or indptr[-1] != len(columns) or np.any(np.diff(indptr) < 0):
        raise ValueError(f"{name}: the feature rows do not describe {n} people")
    if values.shape != columns.shape:
        raise ValueError(f"{name}: {len(columns)} feature positions but {len(values)} values")
    rows = np.repeat(np.arange(n), np.diff(indptr))
    _refuse_first(name, rows, columns, (columns < 0) | (columns >= d), f"feature column outside 0..{d - 1}")
    _refuse_first(name, rows, columns, ~np.isfinite(values), "feature that is not a finite number")
    outside = (values < facts.feature_low) | (values > facts.feature_high)
    _refuse_first(name, rows, columns, outside, f"feature outside [{facts.feature_low:g}, {facts.feature_high:g}]")
    if not facts.feature_low <= 0 <= facts.feature_high:  # an entry that is not stored is 0
        for row in np.flatnonzero(np.diff(indptr) < d)[:1]:
            given = np.append(np.unique(columns[indptr[row] : indptr[row + 1]]), -1)
            column = np.flatnonzero(given != np.arange(len(given)))[0]  # the first one that is not stored
            what = f"feature 0 outside [{facts.feature_low:g}, {facts.feature_high:g}]"
            raise WrongFeature(name, int(row), int(column), what)
    order = np.lexsort((columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    repeated = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])
    _refuse_first(name, rows[1:], columns[1:], repeated, "feature given twice")
    nonzero = values != 0
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[nonzero], minlength=n))])

    pairs = np.asarray(edges, dtype=np.int64).reshape(2, -1) if np.size(edges) else np.zeros((2, 0), np.int64)
    wrong = np.flatnonzero(np.any((pairs < 0) | (pairs >= n), axis=0))
    if len(wrong):
        left, right = pairs[:, wrong[0]]
        raise ValueError(f"{name}: edge {wrong[0]} joins {left} and {right}, but nodes are 0..{n - 1}")
    pairs = pairs[:, pairs[0] != pairs[1]]
    both = distinct(np.concatenate([pairs[0] * n + pairs[1], pairs[1] * n + pairs[0]]))
    neighbour_indptr = np.concatenate([[0], np.cumsum(np.bincount(both // n, minlength=n))])

    classes_of = np.asarray(labels, dtype=np.int64)
    if classes_of.shape != (n,):
        raise ValueError(f"{name}: {classes_of.shape} labels for {n} people")
    bad = np.flatnonzero((classes_of < -1) | (classes_of >= classes))
    if len(bad):
        raise ValueError(f"{name}: node {bad[0]} has label {classes_of[bad[0]]}, but classes are 0..{classes - 1}")
    return Population(
        name, facts, indptr, columns[nonzero].astype(np.int32), values[nonzero], neighbour_indptr,
        (both % n).astype(np.int32), classes_of,
    )  # fmt: skip


def distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the different keys, sorted.

    ``np.unique`` hashes the keys first, which is many times slower where most of them differ.
    """
    keys = np.sort(keys)
    return keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys


def _refuse_first(
    name: str, rows: NDArray[np.integer], columns: NDArray[np.integer], wrong: NDArray[np.bool_], what: str
) -> None:
    first = np.flatnonzero(wrong)
    if len(first):
        raise WrongFeature(name, int(rows[first[0]]), int(columns[first[0]]), what)


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
