"""Headings of a table: the sign between its cells, the columns of the names, and columns that have no heading."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ldpsim.strategies.importing.options import ImportOptions

_SIGNS = ",;\t|"
_SEPARATOR_ROW = re.compile(r'"?sep ?= ?(.)"?\s*\n', re.IGNORECASE)  # Excel writes and reads such a row
_ENDS = (("from", "to"), ("src", "dst"), ("src_id", "dst_id"), ("source_id", "target_id"), ("fromnodeid", "tonodeid"))
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")
_NAMELESS = re.compile(
    r"(unnamed: \d+(_level_\d+)?(\.\d+)?)?", re.IGNORECASE
)  # pandas calls a column without a name so
_COUNTER = re.compile(r"index|level_0|rownames|row", re.IGNORECASE)  # pandas and R call their row numbers so
_ID = re.compile(r"(.*[ _-])?(id|name|key|number|nr|no)", re.IGNORECASE)


def separator(text: str, options: ImportOptions) -> tuple[str, int]:
    """Return the sign between the cells of a table, and the number of rows before its headings.

    A row ``sep=;`` states the sign; else it is the one that stands most often in the headings, outside of quotes.

    >>> separator("sep=;\\na;b\\n", ImportOptions()), separator('id;"a, b, c";x\\n', ImportOptions())
    ((';', 1), (';', 0))
    """
    if stated := _SEPARATOR_ROW.match(text):
        return stated[1], 1
    bare = "".join(text.partition("\n")[0].split('"')[::2])
    signs = _SIGNS[1:] + "," if options.decimal == "," else _SIGNS
    return max(signs, key=bare.count), 0


def column_of(name: str, header: Sequence[str]) -> str | None:
    """Return the heading that is a name, in any case where none is the same in case, too; None where there is none.

    >>> column_of("id", ["ID", "x"]), column_of("id", ["Id", "id"]), column_of("id", ["x"])
    ('ID', 'id', None)
    """
    return name if name in header else next((found for found in header if found.lower() == name.lower()), None)


def key_columns(header: Sequence[str], options: ImportOptions) -> tuple[str, ...] | None:
    """Return the headings of an edge's two ends, or of a person's name; None where there is neither.

    Columns that options name come first, then ``source`` and ``target``, ``id``, ``node_id``, and other usual pairs.
    """
    ends = options.source or "source", options.target or "target"
    own = "id" if options.id is None else options.id
    for names in (ends, ("source", "target"), (own,), ("id",), ("node_id",), *_ENDS):
        found = tuple(column for name in names if (column := column_of(name, header)) is not None)
        if len(found) == len(names):
            return found
    return None


def with_headings(options: ImportOptions, header: Sequence[str]) -> ImportOptions:
    """Return options whose ``label``, ``ignore`` and ``one_hot`` name columns in the case of the headings.

    >>> with_headings(ImportOptions(label="CLUB", one_hot=("city=Rome",)), ["Club", "City"]).one_hot
    ('City=Rome',)
    """

    def heading(name: str) -> str:
        return column_of(name, header) or name

    names = [text.partition("=") for text in options.one_hot]
    return replace(
        options, label=options.label and heading(options.label), ignore=tuple(map(heading, options.ignore)),
        one_hot=tuple(f"{heading(name)}{equals}{values}" for name, equals, values in names),
    )  # fmt: skip


def likely_keys(cells: Any) -> tuple[tuple[str, ...], str]:
    """Return the columns that may hold the names, so that the other faults can be told, and the options in words.

    The first two columns are an edge's ends where they share a name, and in a table of two where not just one heading
    says that it is an id; else a column without a repeated text names people, first of all one whose heading says so;
    else one whose heading says so and in which most texts are different.
    """
    first = tuple(cells.columns[:2])
    ids = [name for name in cells if _ID.fullmatch(name)]
    pair = len(cells.columns) == 2 and len(ids) != 1
    if pair or (len(first) == 2 and {*cells[first[0]]} & {*cells[first[1]]} - {""}):
        return first, f"; here perhaps --source {shlex.quote(first[0])} --target {shlex.quote(first[1])}"
    most = {name: cells[name].duplicated().sum() * 2 < len(cells) for name in ids}  # some rows stand twice
    unique = (name for name in [*ids, *cells] if len(cells) and not cells[name].duplicated().any())
    name = next(unique, next((name for name in ids if most[name]), None))
    return ((), "") if name is None else ((name,), f"; here perhaps --id {shlex.quote(name)}")


def is_data(header: Sequence[str], cells: Any) -> bool:
    """Return whether the first row holds data.

    All are numbers, one is a name of an edge, or a text that its column has again, or a number as near to those below
    as they are to one another.
    """
    if all(_NUMBER.fullmatch(name) for name in header):
        return True
    for place, name in enumerate(header):
        if _NUMBER.fullmatch(name) and cells.iloc[:, place].str.fullmatch(_NUMBER).all() and len(cells) > 1:
            below = cells.iloc[:, place].str.replace(",", ".").astype(float)
            span = below.max() - below.min()
            if below.min() - span <= float(name.replace(",", ".")) <= below.max() + span:
                return True
    names = {text for column in list(cells)[:2] for text in cells[column]}
    words = [name for name in header if name and not name.replace(".", "", 1).isdecimal()]
    return any(name in names for name in header[:2] if name) or any(cells[name].eq(name).any() for name in words)


def without_nameless(file: str, cells: Any, options: ImportOptions, notes: list[str]) -> Any:
    """Return a table without columns that have no heading and are empty or count the rows, each told in a note.

    A column that is called ``index`` is left out, too, where it counts the rows from 0 or 1 in their order.
    """
    kept, named = [], {options.id, options.source, options.target, options.label, *options.categories, *options.ignore}
    for place, name in enumerate(cells.columns):
        column = cells.iloc[:, place].str.strip()
        nameless = _NAMELESS.fullmatch(name) and name not in (*options.ignore, *options.categories, options.label)
        filled = column[column != ""]
        if nameless and len(filled) < len(cells.index) and filled.empty:
            notes.append(f"{file}: column {place + 1} has no name and no cells: left out")
        elif nameless and filled.str.fullmatch(r"\d+").all() and not filled.duplicated().any():
            notes.append(f"{file}: column {place + 1} has no name and counts the rows, as pandas writes: left out")
        elif _COUNTER.fullmatch(name) and name not in named and _counts(column):
            notes.append(f"{file}: column {name} counts the rows: left out")
        else:
            kept.append(place)
    return cells.iloc[:, kept]


def _counts(column: Any) -> bool:
    """Return whether texts are 0, 1, 2, ... or 1, 2, 3, ... in this order."""
    numbers = [*column]
    return len(numbers) > 1 and any(numbers == [str(k + first) for k in range(len(numbers))] for first in (0, 1))
