"""Rows of people as a table of numbers, categories, labels and masks; every cell that is none of them is a fault."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpsim.strategies.importing.faults import FileFault, FileFaults, and_more, short
from ldpsim.strategies.importing.labels import is_none
from ldpsim.strategies.importing.options import ImportOptions
from ldpsim.strategies.importing.parts import PeopleTable

MASKS = {"train_mask": "train", "val_mask": "val", "test_mask": "test"}  # names that PyG and DGL use
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")  # texts of an empty cell, in small letters
_WORDS = {"true": 1.0, "false": 0.0, **dict.fromkeys(MISSING, math.nan)}
_CHUNK = 20_000  # rows whose texts are in memory at once
NAMELESS = "write the name there; --missing zero, or any other choice but refuse, leaves such rows out"
MOST_CATEGORIES = 20  # a column of more different texts is rather a name or a date than a category


def read_people(
    file: str, columns: Sequence[str], rows: Iterable[tuple[Any, Sequence[Any]]], options: ImportOptions,
    faults: FileFaults, *, id: str, label: str | None, found: Sequence[str], sources: Mapping[str, str] | None = None,
    row_word: str = "row",
) -> PeopleTable:  # fmt: skip
    """Read the rows of a table.

    Args:
        file: Name of the file.
        columns: Names of the cells of a row.
        rows: (number of the row or name of the node, its cells).
        options: The choices.
        faults: Where faults go: columns of text, and rows without a name.
        id, label: Columns of the person's name and of the class; ``label`` may be None.
        found: Names of all columns or attributes of the file.
        sources: Column -> attribute that it comes from, where that has another name.
        row_word: What a row is called.

    Returns:
        The table; a cell that is no number is 0 in it.
    """
    texts = {id, label, *(set(options.categories) & set(columns))}
    left_out = set(options.ignore)
    ignored = {name for name in columns if (sources or {}).get(name, name) in left_out}
    used = [k for k, name in enumerate(columns) if name not in ignored]
    wrong = {columns[k]: _NotNumbers() for k in used}
    blocks: list[Any] = []
    places: list[Any] = []
    for chunk in _chunks(rows):
        here, by_row = zip(*chunk, strict=True)
        places += here
        by_column = list(zip(*by_row, strict=True))
        block = {}
        for k in used:
            cells, name = by_column[k], columns[k]
            block[name] = _texts(cells) if name in texts else _numbers(cells, here, wrong[name])
        blocks.append(pd.DataFrame(block))
    table = pd.concat(blocks, ignore_index=True) if blocks else pd.DataFrame(columns=[columns[k] for k in used])
    names = [name for name in table.columns if name not in {id, label, *MASKS}]
    for name, faulty in wrong.items():
        told = faulty.fault(file, row_word, name, (sources or {}).get(name, name), len(places), label is None)
        if told is not None:
            faults.append(told)
            table[name] = table[name] if "one_hot" in told.change else 0.0  # empty cells matter only where it stays
    for name in set(names) & texts:
        table[name] = table[name].where(~table[name].map(_is_empty), None)
    masks = table[[name for name in MASKS if name in table]].rename(columns=MASKS)
    labels = table[label].where(~table[label].map(is_none), None) if label is not None else None
    made = PeopleTable(
        file, table[id].tolist(), places, tuple(found), table[names],
        tuple((sources or {}).get(name, name) for name in names), labels, masks, row_word, id,
    )  # fmt: skip
    return _without_nameless(made, id, options, faults)


def one_hot_coded(table: PeopleTable, options: ImportOptions, faults: FileFaults) -> PeopleTable:
    """Return the table with a feature of 0 and 1 for each value of a column of categories.

    Empty cells stay empty in all columns of their category. A value that is not in the stated list is a fault.
    """
    parts, sources = [], []
    for name, source in zip(table.cells.columns, table.sources, strict=True):
        column = table.cells[name]
        if name in options.categories:
            stated = options.categories[name]
            outside = column.notna() & ~column.isin(stated) if stated else column.isna() & False
            if outside.any():
                every = ",".join((*stated, *sorted(column[outside].unique())))
                row = int(outside.to_numpy().argmax())
                faults.add(
                    f"{table.place(row)}, column {name}",
                    f"{short(column.iloc[row])} is none of the values of --one-hot{and_more(int(outside.sum()))}",
                    f"write one of them, or state all (none with a comma): --one-hot {shlex.quote(f'{name}={every}')}",
                )
                column = column.mask(outside, stated[0])
            kinds = pd.Categorical(column, categories=stated or sorted(column.dropna().unique()))
            coded = pd.get_dummies(pd.Series(kinds, index=column.index), prefix=name, prefix_sep="=", dtype=float)
            column = coded.mask(column.isna())
        parts.append(column)
        sources += [source] * (column.shape[1] if column.ndim == 2 else 1)
    cells = pd.concat(parts, axis=1) if parts else table.cells
    return replace(table, cells=cells, sources=tuple(sources))


def _chunks(rows: Iterable[Any]) -> Iterator[list[Any]]:
    given = iter(rows)
    while chunk := list(islice(given, _CHUNK)):
        yield chunk


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _texts(cells: Sequence[Any]) -> NDArray[np.object_]:
    """Return cells as texts without white space around them; None stays."""
    return np.array([None if cell is None else str(cell).strip() for cell in cells], object)


def _is_empty(cell: Any) -> bool:
    return cell is None or cell.lower() in MISSING


def _numbers(cells: Sequence[Any], places: Sequence[Any], wrong: _NotNumbers) -> NDArray[np.float64]:
    """Return cells as numbers, NaN for an empty one; one that is none is 0 and noted in ``wrong``."""
    try:
        return np.array(cells, object).astype(np.float64)  # many times faster than one by one
    except (TypeError, ValueError):
        return np.array([_number(cell, place, wrong) for cell, place in zip(cells, places, strict=True)])


def _number(cell: Any, place: Any, wrong: _NotNumbers) -> float:
    text = str(cell).strip()
    known = _WORDS.get(text.lower())
    if known is not None:
        return known
    try:
        return float(cell)
    except (TypeError, ValueError):
        wrong.note(place, text)
        return 0.0


@dataclass
class _NotNumbers:
    """Cells of one column that are no numbers."""

    count: int = 0
    first: tuple[Any, str] = ("", "")
    texts: set[str] = field(default_factory=set)

    def note(self, place: Any, text: str) -> None:
        """Note one; of the different texts only as many are kept as matter."""
        self.first = self.first if self.count else (place, text)
        self.count += 1
        if len(self.texts) <= MOST_CATEGORIES:
            self.texts.add(text)

    def fault(self, file: str, word: str, column: str, source: str, rows: int, unlabelled: bool) -> FileFault | None:
        """Return the fault of the column, if there is one."""
        if not self.count:
            return None
        name = shlex.quote(source)
        place, text = self.first
        few = len(self.texts) <= MOST_CATEGORIES
        kinds = f"rows, {len(self.texts)} different texts" if few else "rows"
        what = f"{short(text)} is not a number{and_more(self.count, kinds)}"
        without = f"--ignore {name} leaves the column out"
        change: dict[str, Any] = {"ignore": (source,)}
        if column in MASKS:
            remedy = f"write 0 or 1 there, or {without}"
        elif 2 * self.count < rows:
            remedy = f"write numbers there, or empty these cells and choose --missing, or {without}"
        elif _is_number(text.replace(",", ".")):
            remedy = f"write numbers with a point ({text.replace(',', '.')}), or {without}"
        else:
            remedy = without
            if few:
                remedy = f"--one-hot {name} makes each value a feature of 0 and 1, {without}"
                change = {"one_hot": (source,)}
            remedy += f", --label {name} takes it as the class" if unlabelled else ""
        return FileFault(f"{file}: {word} {place}, column {column}", what, remedy, change)


def _without_nameless(table: PeopleTable, id: str, options: ImportOptions, faults: FileFaults) -> PeopleTable:
    """Return the table without the rows whose name is empty; they are a fault unless empty cells are dealt with."""
    nameless = [k for k, name in enumerate(table.ids) if not name]
    if not nameless:
        return table
    if options.missing == "refuse":
        faults.add(
            f"{table.place(nameless[0])}, column {id}", f"is empty{and_more(len(nameless))}",
            NAMELESS, missing="zero",
        )  # fmt: skip
    return table.taken([k for k, name in enumerate(table.ids) if name])
