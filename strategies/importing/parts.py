"""Parts of a graph as its files give them: edges between names, tables of people, and the graph that they make."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ldpsim.devices.array_types import IntArray

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
        columns: Names of the two ends.
    """

    file: str
    names: list[str]
    ends: IntArray
    lines: IntArray
    directed: bool | None = None
    notes: tuple[str, ...] = ()
    columns: tuple[str, str] = ("source", "target")


@dataclass(frozen=True, eq=False)
class PeopleTable:
    """Table with one row a person, or several where they are merged later.

    Args:
        file: Name of the file.
        ids: Names of the people.
        rows: Each row's number, or name of the node, in the file.
        found: Names of all columns, used or not.
        cells: DataFrame of the features, numbers, or text for a column of categories; NaN where a cell is empty.
        sources: Column or attribute that each column of ``cells`` comes from: the name that options take.
        labels: Series of the labels as written, None for an empty one; None where the table has no labels.
        masks: DataFrame of training, validation and test people, numbers; NaN where a cell is empty.
        row_word: What a row is called: ``row`` or ``node``.
        id: Column of the names.
    """

    file: str
    ids: list[str]
    rows: list[Any]
    found: tuple[str, ...]
    cells: Any = field(repr=False)
    sources: tuple[str, ...]
    labels: Any = field(default=None, repr=False)
    masks: Any = field(default=None, repr=False)
    row_word: str = "row"
    id: str = "id"

    def place(self, row: int) -> str:
        """Return the words for a row: file and row."""
        return f"{self.file}: {self.row_word} {self.rows[row]}"

    def place_of(self, name: str) -> str:
        """Return the words for the first row of a person, or for the file where the person has none."""
        return self.place(self.ids.index(name)) if name in self.ids else f"{self.file}: no row for {name!r}"

    def taken(self, rows: Any) -> PeopleTable:
        """Return the table with these rows alone, given by their positions."""
        return replace(
            self, ids=[self.ids[k] for k in rows], rows=[self.rows[k] for k in rows], cells=self.cells.iloc[rows],
            labels=None if self.labels is None else self.labels.iloc[rows], masks=self.masks.iloc[rows],
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class FoundGraph:
    """Unchecked graph: arrays of the schema in :mod:`ldpsim.devices.datasets.npz_file`; ``edge_index`` is as given.

    Args:
        file: Name of the file, or of the first one.
        arrays: The arrays; features are CSR parts.
        ids: Names of the people, or None where they are numbered.
        places: Returns the place of a person's feature in the files; None for ``row`` and the number.
        columns: Names of the features, or empty.
        directed: Whether a file says that direction counts; None: no file says.
        classes_stated: Whether the number of classes is stated, not counted in the labels.
        notes: Further facts for the person who imports.
    """

    file: str
    arrays: dict[str, Any]
    ids: list[str] | None = None
    places: Callable[[int, int], str] | None = field(default=None, repr=False)
    columns: tuple[str, ...] = ()
    directed: bool | None = None
    classes_stated: bool = False
    notes: tuple[str, ...] = ()

    def place(self, row: int, column: int) -> str:
        """Return the words for a person's feature: file, row and column."""
        where = self.places(row, column) if self.places else f"{self.file}: row {row}"
        named = (self.columns[column] or "''") if column < len(self.columns) else column
        return f"{where}, column {named}"


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
