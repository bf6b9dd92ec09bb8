"""CSV files: edges (columns ``source`` and ``target``) or people (column ``id``), told apart by their first row."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np

from strategies.importing.cells import MASKS, number, numbers
from strategies.importing.parts import FeatureRows, NamedEdges, PeopleTable, named_edges

ENDS = ("source", "target")
_Rows = Iterator[tuple[int, list[str]]]


def read_table(path: Path, *, label: str | None = None, ignore: Collection[str] = ()) -> NamedEdges | PeopleTable:
    """Read a CSV with a first row of names; cells are divided by comma, semicolon or tab.

    Args:
        path: The file.
        label: Column of the class; None: ``label``, where there is one.
        ignore: Columns to leave out.

    Raises:
        ValueError: one line with the first row and column at fault. Rows are counted as in an editor, from 1.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        file.seek(0)
        divider = next((sign for sign in (",", ";", "\t") if sign in first), ",")
        rows = _rows(path.name, csv.reader(file, delimiter=divider, strict=True))
        _, given = next(rows, (0, []))
        header = [name.strip() for name in given]
        twice = next((name for k, name in enumerate(header) if name in header[:k]), None)
        if twice is not None:
            raise ValueError(f"{path.name}: row 1: the column {twice!r} stands twice")
        if set(ENDS) <= set(header):
            unused = [name for name in header if name not in ENDS]
            notes = (f"{path.name}: not read: {', '.join(unused)} (an edge has no attributes)",) if unused else ()
            return named_edges(path.name, _ends(path.name, rows, [header.index(end) for end in ENDS]), notes=notes)
        if "id" not in header:
            found = ", ".join(header) or "nothing"
            raise ValueError(
                f"{path.name}: row 1 must name the columns source and target (edges) or id (people), found {found}"
            )
        return _people(path.name, header, rows, label, ignore)


def _rows(file: str, reader: Iterator[list[str]]) -> _Rows:
    """Yield (row of the file, cells), without empty rows.

    Raises:
        ValueError: for a row with more or fewer cells than the first, or broken quotes.
    """
    width = 0
    try:
        for cells in reader:
            if not cells:
                continue
            line: int = reader.line_num  # type: ignore[attr-defined]
            width = width or len(cells)
            if len(cells) != width:
                raise ValueError(f"{file}: row {line} has {len(cells)} cells, the first row has {width}")
            yield line, cells
    except csv.Error as error:
        raise ValueError(f"{file}: row {reader.line_num}: {error}") from None  # type: ignore[attr-defined]


def _ends(file: str, rows: _Rows, at: Sequence[int]) -> Iterator[tuple[int, str, str]]:
    left, right = at
    for line, cells in rows:
        one, other = cells[left].strip(), cells[right].strip()
        if not one or not other:
            raise ValueError(f"{file}: row {line}, column {ENDS[bool(one)]}: is empty")
        yield line, one, other


def _people(file: str, header: list[str], rows: _Rows, label: str | None, ignore: Collection[str]) -> PeopleTable:
    label = label or ("label" if "label" not in ignore else None)
    label = label if label in header else None
    special = {"id", label, *MASKS, *ignore}
    at = [k for k, name in enumerate(header) if name not in special]
    columns = tuple(header[k] for k in at)
    masks = {part: header.index(name) for name, part in MASKS.items() if name in header and name not in ignore}
    ids, places, labels = [], [], []
    features, masked = FeatureRows(), []
    for line, cells in rows:
        place = f"{file}: row {line}"
        ids.append(cells[header.index("id")].strip())
        if not ids[-1]:
            raise ValueError(f"{place}, column id: is empty")
        places.append(place)
        features.add(numbers([cells[k] for k in at], place, columns))
        if label is not None:
            labels.append(cells[header.index(label)])
        masked.append([number(cells[k], place, header[k]) != 0 for k in masks.values()])
    parts = np.array(masked, bool).reshape(len(ids), len(masks)).T
    return PeopleTable(
        file, ids, places, tuple(header), columns, features.matrix(len(columns)), labels if label else None,
        dict(zip(masks, parts, strict=True)),
    )  # fmt: skip
