"""Parts of a graph as its files give them: edges between names, tables of people, and the graph that they make."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from devices.array_types import IntArray

PARTS = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class NamedEdges:
    """Edges between people who have names.

    Args:
        file: Name of the file.
        names: The different names, in the order of their first edge.
        ends: int64 (2, m), positions in ``names``.
        lines: int64 (m,), row of the file for each edge.
        directed: Whether the file says that direction counts; None: it does not say.
        notes: Further facts for the person who imports.
    """

    file: str
    names: list[str]
    ends: IntArray
    lines: IntArray
    directed: bool | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class PeopleTable:
    """Table with one row a person.

    Args:
        file: Name of the file.
        ids: Names of the people.
        places: Place of each person in the file, such as ``row 2``.
        found: Names of all columns, used or not.
        columns: Names of the features.
        features: float64 (people, features) CSR.
        labels: Labels as written, or None where the table has none.
        masks: Training, validation and test people, each bool (people,).
    """

    file: str
    ids: list[str]
    places: list[str]
    found: tuple[str, ...]
    columns: tuple[str, ...]
    features: Any = field(repr=False)
    labels: list[Any] | None = field(default=None, repr=False)
    masks: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, eq=False)
class FoundGraph:
    """Unchecked graph: arrays of the schema in :mod:`devices.datasets.npz_file`; ``edge_index`` is as given.

    Args:
        file: Name of the file, or of the first one.
        arrays: The arrays; features are CSR parts.
        ids: Names of the people, or None where they are numbered.
        places: Place of each person in the file, or None for ``row`` and the number.
        columns: Names of the features, or empty.
        directed: Whether a file says that direction counts; None: no file says.
        classes_stated: Whether the number of classes is stated, not counted in the labels.
        notes: Further facts for the person who imports.
    """

    file: str
    arrays: dict[str, Any]
    ids: list[str] | None = None
    places: list[str] | None = None
    columns: tuple[str, ...] = ()
    directed: bool | None = None
    classes_stated: bool = False
    notes: tuple[str, ...] = ()

    def place(self, row: int, column: int) -> str:
        """Return the words for a person's feature: file, row and column."""
        where = self.places[row] if self.places else f"{self.file}: row {row}"
        named = f"column {self.columns[column]}" if column < len(self.columns) else f"column {column}"
        return f"{where}, {named}"


def named_edges(file: str, rows: Iterable[tuple[int, str, str]], **more: Any) -> NamedEdges:
    """Collect edges, given as (row of the file, one end, other end)."""
    numbers: dict[str, int] = {}
    ends, lines = array("q"), array("q")
    for line, one, other in rows:
        ends.append(numbers.setdefault(one, len(numbers)))
        ends.append(numbers.setdefault(other, len(numbers)))
        lines.append(line)
    pairs = np.frombuffer(ends, np.int64).reshape(-1, 2).T if ends else np.zeros((2, 0), np.int64)
    return NamedEdges(file, list(numbers), pairs, np.frombuffer(lines, np.int64) if lines else pairs[0], **more)


class FeatureRows:
    """Collector of dense rows of features that keeps what is not zero."""

    def __init__(self) -> None:
        self._columns: list[NDArray[np.int32]] = []
        self._values: list[NDArray[np.float64]] = []

    def add(self, values: list[float]) -> None:
        """Add the next person's features."""
        row = np.array(values, np.float64)
        at = np.flatnonzero(row)  # NaN is not zero: the check names its row and column
        self._columns.append(at.astype(np.int32))
        self._values.append(row[at])

    def matrix(self, width: int) -> Any:
        """Return all rows as a float64 CSR array of ``width`` columns."""
        starts = np.concatenate([[0], np.cumsum([len(row) for row in self._columns], dtype=np.int64)])
        values = np.concatenate([np.zeros(0), *self._values])
        columns = np.concatenate([np.zeros(0, np.int32), *self._columns])
        return csr_array((values, columns, starts), shape=(len(self._columns), width))
