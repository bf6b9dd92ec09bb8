"""Tables of people and edges, joined by the names: features, labels and masks of everybody.

Every fault is noted and the join goes on, so that all faults of the files are told at once.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, hstack

from ldpsim.devices.array_types import check_growth
from ldpsim.devices.datasets.array_layouts import PARTS, is_whole, numbered, text_array
from ldpsim.strategies.importing.files import Table
from ldpsim.strategies.importing.headings import column_of, key_columns, with_headings
from ldpsim.strategies.importing.options import REFUSE, UNKNOWN, ImportOptions, and_more, in_commas, short
from ldpsim.strategies.importing.spellings import (
    cases,
    is_missing,
    is_no_label,
    names_of_one_case,
    of_one_case,
    spellings_in_words,
    words_for_missing,
)

MASKS = {f"{part}_mask": part for part in PARTS}  # names that PyG uses
MOST_CATEGORIES = 20  # a column of more different texts is rather a name than a category
_CELLS_AT_ONCE = 1_000_000
_WHOLE, _FRACTION = r"\d+[.,]0+", r"[.,]0+$"  # a whole number with decimals, and its decimals
_DATE = re.compile(r"\d{4}[-/.]\d\d?[-/.]\d\d?([T ].*)?|\d\d?[-/.]\d\d?[-/.]\d{2,4}")
_EMPTY = (
    "--missing unknown puts 0 there and adds a feature for such people, zero puts 0 there, mean the column's mean (a "
    "release), drop leaves the person out"
)
_WITHOUT_ROW = "add the row; --without-row drop leaves such people out, keep takes empty cells for them"


@dataclass(frozen=True, eq=False)
class ImportedGraph:
    """Unchecked graph: arrays of the schema in :mod:`ldpsim.devices.datasets.npz_file`; ``edge_index`` is as it came.

    Args:
        file: Name of the file, or of the first one.
        arrays: The arrays; features are CSR parts.
        classes_stated: Whether the number of classes is stated, not counted in the labels.
        ids: Names of the people, or None where they are numbered.
        columns: Names of the features, or empty.
        sources: Column of the files of each feature, or empty; a column of text is several features.
        texts: Columns of text among these.
        places: Returns the words for a person's feature in the files; None for ``row`` and the number.
        directed: Whether a file says that direction counts.
    """

    file: str
    arrays: dict[str, Any]
    classes_stated: bool
    ids: list[str] | None = None
    columns: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    places: Callable[[int, int], str] | None = field(default=None, repr=False)
    directed: bool = False

    def place(self, row: int, column: int) -> str:
        """Return the words for a person's feature: file, row and column."""
        return self.places(row, column) if self.places else f"{self.file}: row {row}, column {column}"


def join(tables: Sequence[Table], options: ImportOptions, faults: list[str], notes: list[str]) -> ImportedGraph:
    """Return one graph of all tables.

    With features, the people are the rows of the first table that has some, in its order: every other table with
    features has a row for each of them, and no table names anybody else, unless ``options.without_row`` deals with it.
    Without features, the people are all names, sorted (whole numbers by size).
    """
    tables = names_of_one_case(_one_form(tables, notes), options, notes)
    edges, listed = [[table for table in tables if table.of_edges is kind] for kind in (True, False)]
    if not edges:
        files = f": {', '.join(table.file for table in listed)} lists people" if listed else ""
        faults.append(f"no edges{files}; add an edge list, or a CSV with the columns source and target")
    if all(key_columns([*table.cells, *table.unread], options) for table in tables):  # else the file's fault says it
        for option, name, those in (
            ("--source", options.source, edges), ("--target", options.target, edges), ("--id", options.id, listed),
        ):  # fmt: skip
            headings = list(dict.fromkeys(column for table in those for column in (*table.cells, *table.unread)))
            if name is not None and column_of(name, headings) is None:
                faults.append(_no_such_column(option, name, headings))
    there = [name for table in listed for name in table.cells]
    options = with_headings(options, there)
    of_edges = [name for table in edges for name in table.unread]  # they are left out in any case
    of_people = [name for name in options.ignore if column_of(name, of_edges) is None]
    choices = [("--label", options.label), *(("--ignore", name) for name in of_people)]
    choices += [("--one-hot", name) for name in options.categories]
    faults += [_no_such_column(option, name, there)
               for option, name in choices if name is not None and name not in there]  # fmt: skip
    for table in listed:
        if ignored := [name for name in table.cells if name in options.ignore]:
            notes.append(f"{table.file}: not read: {', '.join(name or repr(name) for name in ignored)} (--ignore)")
    parts = [_by_name(table, options, faults, notes) for table in listed]
    owners: dict[Any, Table] = {}
    labelled: Table | None = None  # the first table with labels
    for table, cells in parts:
        for name in cells:
            other = owners.get(name, labelled if name == table.label else None)
            if other is not None:
                what = "labels" if name == table.label else f"a column {name}"
                faults.append(f"{table.file}: {other.file} has {what} too; --ignore or --label leaves one out")
            owners[name] = table
            labelled = table if name == table.label else labelled
    features = [name for name in owners if name not in MASKS and name != owners[name].label]
    full = list(dict.fromkeys(owners[name] for name in features))
    people = _people([*full, *(table for table, _ in parts), *edges], full, options, faults, notes)
    size = sum(table.cells.size for table in tables)
    file = [*full, *edges, *listed][0].file
    check_growth(f"{file}: {len(people):,} people of {len(features):,} features", len(people) * len(features), size)
    wide = pd.concat([pd.DataFrame(index=people), *(cells.reindex(people) for _, cells in parts)], axis=1)
    wide = wide.loc[:, ~wide.columns.duplicated()]
    wide = _without_holes(wide, features, owners, options, faults, notes)
    matrix, columns = _coded(wide, features, owners, options, faults, notes)
    labels, class_names = _labels(wide, owners, options, faults)
    ends = [np.array([wide.index.get_indexer(table.cells[end]) for end in table.keys]) for table in edges]
    pairs = np.concatenate([np.zeros((2, 0), np.int64), *ends], axis=1)
    between = (pairs >= 0).all(axis=0)
    if not between.all():
        notes.append(f"edges left out with their people: {int((~between).sum()):,}")
    arrays: dict[str, Any] = {
        "edge_index": pairs[:, between].astype(np.int64), "indptr": matrix.indptr, "indices": matrix.indices,
        "values": matrix.data, "num_features": np.int64(matrix.shape[1]), "labels": labels,
        **{part: wide[name].fillna(0).to_numpy() != 0 for name, part in MASKS.items() if name in wide},
        **({"class_names": text_array(f"{file}: classes", class_names)} if class_names else {}),
    }  # fmt: skip

    def place(row: int, column: int) -> str:
        source, name = columns[column]
        return owners[source].place_of(wide.index[row], name or "''")

    return ImportedGraph(
        file, arrays, bool(options.class_names), list(wide.index),
        tuple(name for _, name in columns), tuple(str(name) for name, _ in columns),
        tuple(options.categories), place,
        any(table.directed for table in edges),
    )  # fmt: skip


def _no_such_column(option: str, name: str, there: Sequence[str]) -> str:
    return f"{option} {name}: no such column; there are {', '.join(there) or 'none'}"


def _one_form(tables: Sequence[Table], notes: list[str]) -> list[Table]:
    """Return tables whose columns of names such as ``1.0`` have ``1``, where the other columns have such names.

    pandas writes whole numbers with ``.0`` where a cell of the column was empty once.
    """
    texts = [table.cells[key] for table in tables for key in table.keys]
    as_numbers = [bool(len(column)) and bool(column.str.fullmatch(_WHOLE).all()) for column in texts]
    others = {name for column, number in zip(texts, as_numbers, strict=True) if not number for name in column}
    changed, places = [], iter(as_numbers)
    for table in tables:
        cells = table.cells
        for key in table.keys:
            whole = cells[key].str.replace(_FRACTION, "", regex=True)
            if next(places) and not others.isdisjoint(whole) and others.isdisjoint(cells[key]):
                notes.append(f"{table.file}: names in {key} such as {cells[key].iloc[0]} are read as {whole.iloc[0]}")
                cells = cells.assign(**{key: whole})
        changed.append(table if cells is table.cells else replace(table, cells=cells))
    return changed


def check_table_cells(tables: Sequence[Table], options: ImportOptions, faults: list[str], notes: list[str]) -> None:
    """Add the faults of each table alone, where another file is not read, so that nothing can be joined."""
    for table in tables:
        if not table.of_edges:
            _by_name(table, with_headings(options, list(table.cells)), faults, notes)


def _by_name(table: Table, options: ImportOptions, faults: list[str], notes: list[str]) -> tuple[Table, Any]:
    """Return a table with one row a person, and its columns by the names."""
    repeated = table.names.duplicated(keep="last" if options.duplicates == "last" else "first")
    if repeated.any():
        row, more = repeated.idxmax(), and_more(int(repeated.sum()))
        if options.duplicates == REFUSE:
            where, name = table.place(row, table.keys[0]), table.names[row]
            remedy = "--duplicates first keeps the first row of each person, last the last one"
            faults.append(f"{where}: {short(name)} is already the id of {table.place_of(name)}{more}; {remedy}")
        notes.append(f"{table.file}: rows of people who have one already: {int(repeated.sum()):,}, left out")
    cells = _numbers(table, options, faults, notes).set_axis(pd.Index(table.names, dtype=object))
    return replace(table, cells=table.cells[~repeated]), cells[~repeated.to_numpy()]


def _numbers(table: Table, options: ImportOptions, faults: list[str], notes: list[str]) -> Any:
    """Return the columns as numbers, NaN for an empty cell; categories and the label stay text, None where empty.

    A column with other texts is a fault; 0 stands for all that is no number there, and the join goes on.
    """
    skipped = {*table.keys, *options.ignore}
    names = [name for name in table.cells if name not in skipped]
    columns: dict[Any, Any] = {}
    for name in names:
        if name == table.label or name in options.categories:
            columns[name] = _values(table, name, options, faults, notes)
    numeric, n = [name for name in names if name not in columns], len(table.cells)
    width = max(1, _CELLS_AT_ONCE // max(1, n))  # pandas takes as long for many short columns as for one
    for some in [numeric[first : first + width] for first in range(0, len(numeric), width)]:
        texts = _texts(pd.Series(table.cells[some].to_numpy(object).ravel("F")))  # one column after the other
        words, empty = texts.str.lower(), is_missing(texts, ())
        words = words.str.replace(",", ".") if options.decimal == "," else words
        numbers = pd.to_numeric(words.replace({"true": "1", "false": "0"}), errors="coerce").astype(np.float64)
        wrong = numbers.isna() & ~empty
        for k in np.flatnonzero(wrong.to_numpy().reshape(len(some), n).any(axis=1)):
            here = slice(k * n, (k + 1) * n)
            cells = texts[here].set_axis(table.cells.index)[wrong[here].to_numpy()]
            faults.append(_no_numbers(table, str(some[k]), cells, bool(empty[here].any()), options))
            # the fault is told; the range of what may be meant is checked
            commas = pd.to_numeric(words[here].str.replace(",", "."), errors="coerce")
            numbers[here] = numbers[here].fillna(commas).fillna(0.0)
        columns |= dict(zip(some, numbers.to_numpy().reshape(len(some), n), strict=True))
    return pd.DataFrame({name: columns[name] for name in names}, index=table.cells.index)


def _values(table: Table, name: str, options: ImportOptions, faults: list[str], notes: list[str]) -> Any:
    """Return the classes or the values of a column of text, None where a cell is empty."""
    texts, of_label = _texts(table.cells[name]), name == table.label
    stated = options.class_names if of_label else options.categories[name]

    def place(row: Any) -> str:
        return table.place(row, name)

    empty = is_no_label(place, texts, options, faults, notes) if of_label else is_missing(texts, stated)
    states = "--class-names A,B,..." if of_label else f"--one-hot {shlex.quote(name)}=A,B,..."
    texts = of_one_case(place, texts.mask(empty, ""), stated, options, faults, notes, states=states)
    return texts.astype(object).mask(empty, None)


def _texts(cells: Any) -> Any:
    """Return a Series as text without blanks around it, empty where a cell is missing."""
    return cells.astype(str).str.strip().where(cells.notna(), "")


def _no_numbers(table: Table, column: str, wrong: Any, empty: bool, options: ImportOptions) -> str:
    """Return the fault of a column with texts, and what reads it."""
    name, text, kinds = shlex.quote(column), wrong.iloc[0], wrong.nunique()
    missing = " --missing unknown" if empty and options.missing == REFUSE else ""
    others = cases(wrong)
    case = " --ignore-case" if others and not options.ignore_case else ""
    if column in MASKS:
        remedy = "write 0 or 1 there, or "
    elif _DATE.fullmatch(text):
        remedy = "write a date as a number, such as the days since the first, or "
    elif options.decimal == "." and re.fullmatch(r"[+-]?\d*,\d+", text):
        remedy = f"--decimal ,{missing} reads such numbers, or "
    elif kinds <= MOST_CATEGORIES:
        remedy = f"--one-hot {name}{missing}{case} makes each value a feature of 0 and 1, "
    else:
        remedy = ""
    remedy += f"--ignore {name} leaves the column out"
    if table.label is None and column not in MASKS:
        remedy += f", --label {name} takes it as the class"
    more = and_more(len(wrong), f"rows, {kinds} different texts")
    if empty and options.missing == REFUSE:
        more += f", other rows are {words_for_missing(table.cells[column])}"
    if case and kinds <= MOST_CATEGORIES:
        more += f", {spellings_in_words(others)}"
    return f"{table.place(wrong.index[0], column)}: {short(text)} is not a number{more}; {remedy}"


def _people(
    tables: Sequence[Table], full: Sequence[Table], options: ImportOptions, faults: list[str], notes: list[str]
) -> Any:
    """Return the names of all people in order; ``full`` are the tables with features, which come first."""
    names = pd.concat([table.cells[key] for table in tables for key in table.keys]).unique().tolist()
    if not full:
        whole = all(map(is_whole, names))
        return pd.Index(sorted(names, key=int if whole else None), dtype=object)
    people = pd.Index(names, dtype=object)
    missing = [~people.isin(table.names) for table in full]
    without = np.any(missing, axis=0)
    if not without.any():
        return people
    first = int(without.argmax())
    table = next(table for table in tables if table.has(people[first]))
    lacking = next(table for table, absent in zip(full, missing, strict=True) if absent[first])
    if options.without_row == REFUSE:
        what = f"{short(people[first])} has no row in {lacking.file}{and_more(int(without.sum()), 'people')}"
        others = {} if options.ignore_case else cases(people[without], list(lacking.names))
        remedy = f"{spellings_in_words(others)}: --ignore-case reads them as one; " if others else ""
        faults.append(f"{table.place_of(people[first])}: {what}; {remedy}{_WITHOUT_ROW}")
    done = "kept with empty cells" if options.without_row == "keep" else "left out"
    notes.append(f"people without a row of features, {done}: {int(without.sum()):,}")
    return people if options.without_row == "keep" else people[~without]


def _without_holes(
    wide: Any, features: Sequence[Any], owners: dict[Any, Table], options: ImportOptions, faults: list[str],
    notes: list[str],
) -> Any:  # fmt: skip
    """Return the cells without empty features; those of a category stay empty unless ``drop`` is chosen."""
    holes = wide[features].isna()
    counts = holes.sum()[lambda count: count > 0]
    if options.missing == REFUSE:
        faults += [
            f"{owners[name].place_of(holes[name].idxmax(), name)}: is {words_for_missing(owners[name].cells[name])}"
            f"{and_more(count)}; {_EMPTY}"
            for name, count in counts.items()
        ]
    elif len(counts):
        where = ", ".join(f"{count:,} in {name}" for name, count in counts.items())
        people = int(holes.any(axis=1).sum())
        more = {"drop": f"; people left out: {people:,}", UNKNOWN: "; a feature says who has one, which is a release",
                "mean": "; means are computed from the data, which is itself a release"}  # fmt: skip
        notes.append(f"empty cells, --missing {options.missing}: {where}{more.get(options.missing, '')}")
    return wide[~holes.any(axis=1)] if options.missing == "drop" else wide


def _coded(
    wide: Any, features: Sequence[Any], owners: dict[Any, Table], options: ImportOptions, faults: list[str],
    notes: list[str],
) -> tuple[Any, list[tuple[Any, str]]]:  # fmt: skip
    """Return features without empty cells, CSR (n, d), and the name in the files and its own of each column."""
    blocks, names = [csr_array((len(wide), 0))], []
    for of_category, group in groupby(features, lambda name: name in options.categories):
        if of_category:
            for name in group:
                block, kinds = _category(wide[name], owners[name], options, faults, notes)
                blocks.append(block)
                names += [(name, f"{name}={kind}") for kind in kinds]
        else:
            numbers = [*group]
            blocks.append(csr_array(_filled(wide[numbers], options)))
            names += [(name, str(name)) for name in numbers]
            if options.missing == UNKNOWN:
                empty = wide[numbers].isna().loc[:, lambda cells: cells.any()]
                blocks.append(csr_array(empty.to_numpy(np.float64)))
                names += [(name, f"{name}={UNKNOWN}") for name in empty]
    return csr_array(hstack(blocks, "csr")), names


def _filled(numbers: Any, options: ImportOptions) -> Any:
    """Return columns of numbers, float64 (n, d), without empty cells."""
    values = numbers.to_numpy(np.float64, copy=True)
    rows, columns = np.nonzero(np.isnan(values))
    means = np.zeros(values.shape[1])
    if options.missing == "mean":
        for column in np.unique(columns):
            means[column] = numbers.iloc[:, column].mean()
    values[rows, columns] = means[columns]
    return values


def _category(
    column: Any, table: Table, options: ImportOptions, faults: list[str], notes: list[str]
) -> tuple[Any, Sequence[str]]:
    """Return a column of 0 and 1 for each value, CSR (n, values), and the values.

    A value that is not in the stated list is a fault.
    """
    name = column.name
    stated = options.categories[name]
    if not stated:
        why = "its values are read from the data, which is itself a release"
        notes.append(f"--one-hot {name}: {why}; --one-hot {name}=A,B,... states them")
    if options.missing == UNKNOWN:
        column = column.where(column.notna(), UNKNOWN)
        stated = (*stated, UNKNOWN) if stated and UNKNOWN not in stated and column.eq(UNKNOWN).any() else stated
    kinds = stated or sorted(column.dropna().unique())
    outside = column[column.notna() & ~column.isin(kinds)]
    if len(outside):
        every = shlex.quote(f"{name}={in_commas([*stated, *sorted(outside.unique())])}")
        what = f"{short(outside.iloc[0])} is none of the values of --one-hot{and_more(len(outside))}"
        where = table.place_of(outside.index[0], name)
        faults.append(f"{where}: {what}; write one of them, or state all: --one-hot {every}")
    codes, empty = pd.Index(kinds, dtype=object).get_indexer(column), np.flatnonzero(column.isna())
    rows = np.flatnonzero(codes >= 0)
    block = csr_array((np.ones(len(rows)), (rows, codes[rows])), shape=(len(column), len(kinds)))
    if options.missing == "mean" and len(empty):
        check_growth(f"{table.file}: {len(empty):,} means of {len(kinds):,}", len(empty) * len(kinds), len(column))
        filled = len(column) - len(empty)
        shares = block.sum(axis=0) / filled if filled else np.full(len(kinds), np.nan)
        places = np.repeat(empty, len(kinds)), np.tile(np.arange(len(kinds)), len(empty))
        block += csr_array((np.tile(shares, len(empty)), places), shape=block.shape)
    return block, kinds


def _labels(wide: Any, owners: dict[Any, Table], options: ImportOptions, faults: list[str]) -> tuple[Any, Any]:
    """Return the classes of all people, and their names."""
    name, own = next(((name, table) for name, table in owners.items() if name == table.label), (None, None))
    nobody = np.full(len(wide), -1, np.int64)
    if own is None:
        return nobody, options.class_names
    labels = [None if text != text else text for text in wide[name]]
    try:
        return numbered(labels, options.class_names)
    except ValueError as error:
        outside = [text for text in labels if text is not None and text not in options.class_names]
        every = shlex.quote(in_commas([*options.class_names, *sorted({*outside})]))
        where = own.place_of(wide.index[error.args[1]], str(name))
        faults.append(f"{where}: {error.args[0]}{and_more(len(outside))}; --class-names {every} states all")
        return nobody, ()
