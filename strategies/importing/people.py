"""Tables of people and edges, joined by the names: features, labels and masks of everybody.

Every fault is noted and the join goes on, so that all faults of the files are told at once.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from ldpsim.devices.datasets.array_layouts import PARTS, numbered
from ldpsim.strategies.importing.files import MISSING, EdgeTable, PeopleTable
from ldpsim.strategies.importing.options import REFUSE, ImportOptions, and_more, short

MASKS = {f"{part}_mask": part for part in PARTS}  # names that PyG and DGL use
MOST_CATEGORIES = 20  # a column of more different texts is rather a name or a date than a category
_WORDS = {"true": 1.0, "false": 0.0, **dict.fromkeys(MISSING, np.nan)}
EMPTY = (
    "--missing zero puts 0 there, mean the column's mean (a release), mark 0 and a 1 in one more feature, "
    "drop leaves the person out"
)
WITHOUT_ROW = "add the row; --without-row drop leaves such people out, keep takes empty cells for them"
REPEATS = (
    "--duplicates first keeps the first row of each person, last the last one, merge takes of each column the first "
    "cell that is not empty"
)


@dataclass(frozen=True, eq=False)
class ImportedGraph:
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


def join(
    edges: Sequence[EdgeTable], tables: Sequence[PeopleTable], options: ImportOptions, faults: list[str]
) -> ImportedGraph:
    """Return one graph of all parts.

    With features, the people are the rows of the first table that has some, in its order: every other table with
    features has a row for each of them, and no part names anybody else, unless ``options.without_row`` deals with it.
    Without features, the people are all names, sorted (whole numbers by size).

    Args:
        edges: The edges of each file.
        tables: The people of each file.
        options: The choices.
        faults: Where faults go: those of the cells, and of people who are there twice, missing or not known.
    """
    notes = [note for part in edges for note in part.notes]
    if not edges:
        listed = f": {', '.join(table.file for table in tables)} lists people" if tables else ""
        faults.append(f"no edges{listed}; add an edge list, or a CSV with the columns source and target")
    known = [name for table in tables for name in table.columns]
    for option, names in (
        ("--label", [options.label]),
        ("--ignore", options.ignore),
        ("--one-hot", options.categories),
    ):
        for name in names:
            if name is not None and name not in known:
                faults.append(f"{option} {name}: no such column; there are {', '.join(known) or 'none'}")
    tables = [_once_each(_as_numbers(table, options, faults), options, faults, notes) for table in tables]
    features = [(table, name) for table in tables for name in table.cells if name not in (table.label, *MASKS)]
    full = list({id(table): table for table, _ in features}.values())
    people = _people(edges, tables, full, options, faults, notes)
    columns = [table.cells[name].reindex(people) for table, name in features]
    whole, columns = _without_holes(people, features, columns, options, faults, notes)
    people = people[whole]
    labels, class_names = _labels(tables, people, options, faults)
    ends = [people.get_indexer(part.names)[part.ends] for part in edges if part.names]
    pairs = np.concatenate(ends or [np.zeros((2, 0), np.int64)], axis=1)
    between = (pairs >= 0).all(axis=0)
    if not between.all():
        notes.append(f"edges left out with their people: {int((~between).sum()):,}")
    owners = [features[place][0] for place, column in columns for _ in range(column.shape[1])]
    cells = pd.concat([column for _, column in columns] or [pd.DataFrame(index=people)], axis=1)
    matrix = csr_array(cells.to_numpy(np.float64))
    arrays: dict[str, Any] = {
        "edge_index": pairs[:, between].astype(np.int64), "indptr": matrix.indptr, "indices": matrix.indices,
        "values": matrix.data, "num_features": np.int64(matrix.shape[1]), "labels": labels,
    }  # fmt: skip
    for table in tables:
        for name in set(MASKS) & set(table.cells):
            arrays[MASKS[name]] = table.cells[name].reindex(people, fill_value=0.0).to_numpy() != 0
    if class_names:
        arrays["class_names"] = np.array(class_names)
    told = [part.directed for part in edges if part.directed is not None]
    return ImportedGraph(
        full[0].file if full else edges[0].file if edges else tables[0].file, arrays, list(people),
        (lambda row, column: owners[min(column, len(owners) - 1)].place_of(people[row])) if owners else None,
        tuple(map(str, cells.columns)), any(told) if told else None, bool(options.class_names), tuple(notes),
    )  # fmt: skip


def _as_numbers(table: PeopleTable, options: ImportOptions, faults: list[str]) -> PeopleTable:
    """Return the table with numbers, NaN for an empty cell; categories and the label stay text, None where empty.

    A column with other texts is a fault, and is left out.
    """
    columns = {}
    for name in table.cells:
        column = table.cells[name]
        if name == table.label or name in options.categories:
            texts = column.where(column.isna(), column.astype(str).str.strip()).astype(object)
            empty = ("",) if name == table.label else MISSING
            columns[name] = texts.where(~(texts.isna() | texts.str.lower().isin(empty)), None)
            continue
        numbers = pd.to_numeric(column, errors="coerce").astype(np.float64)
        texts = column[numbers.isna() & column.notna()].astype(str).str.strip()
        words = texts.str.lower()
        numbers[words.index] = words.map(_WORDS).astype(np.float64)
        texts = texts[~words.isin(list(_WORDS))]
        if len(texts):
            faults.append(_no_numbers(table, str(name), texts, bool(numbers.drop(texts.index).isna().any()), options))
        else:
            columns[name] = numbers
    cells = pd.DataFrame(columns, index=table.cells.index)
    empty = cells[[name for name in MASKS if name in cells]].isna()
    for name in empty.columns[empty.any()]:
        if options.missing == REFUSE:
            where = f"{table.place(int(empty[name].argmax()))}, column {name}"
            more = and_more(int(empty[name].sum()))
            faults.append(f"{where}: is empty{more}; write 0 or 1 there; --missing zero takes 0")
        cells[name] = cells[name].fillna(0.0)
    return replace(table, cells=cells)


def _no_numbers(table: PeopleTable, column: str, texts: Any, empty: bool, options: ImportOptions) -> str:
    """Return the fault of a column with texts, and what reads it."""
    name, text, kinds = shlex.quote(column), texts.iloc[0], texts.nunique()
    few = kinds <= MOST_CATEGORIES
    more = and_more(len(texts), f"rows, {kinds} different texts" if few else "rows")
    without = f"--ignore {name} leaves the column out"
    if column in MASKS:
        remedy = f"write 0 or 1 there, or {without}"
    elif 2 * len(texts) < len(table.names) or pd.notna(pd.to_numeric(text.replace(",", "."), errors="coerce")):
        remedy = f"write numbers there (with a point), or empty these cells and choose --missing, or {without}"
    else:
        missing = " --missing zero" if empty and options.missing == REFUSE else ""
        remedy = f"--one-hot {name}{missing} makes each value a feature of 0 and 1, " if few else ""
        remedy += without + ("" if table.label else f", --label {name} takes it as the class")
    row = table.cells.index.get_loc(texts.index[0])
    return f"{table.place(row)}, column {column}: {short(text)} is not a number{more}; {remedy}"


def _once_each(table: PeopleTable, options: ImportOptions, faults: list[str], notes: list[str]) -> PeopleTable:
    """Return the table with one row a person, and the names as the index of its cells."""
    names = pd.Index(table.names, dtype=object)
    cells, repeated = table.cells.set_axis(names), names.duplicated()
    if not repeated.any():
        return replace(table, cells=cells)
    count, row = int(repeated.sum()), int(repeated.argmax())
    if options.duplicates == REFUSE:
        where, name = f"{table.place(row)}, column {table.id}", table.names[row]
        faults.append(f"{where}: {short(name)} is already the id of {table.place_of(name)}{and_more(count)}; {REPEATS}")
    notes.append(f"{table.file}: rows of people who have one already: {count:,}; --duplicates {options.duplicates}")
    kept = ~names.duplicated(keep="last" if options.duplicates == "last" else "first")
    merged = options.duplicates == "merge" and cells.shape[1]
    cells = cells.groupby(level=0, sort=False).first() if merged else cells[kept]
    rows = np.flatnonzero(kept)
    return replace(table, names=list(cells.index), lines=[table.lines[k] for k in rows], cells=cells)


def _people(
    edges: Sequence[EdgeTable], tables: Sequence[PeopleTable], full: Sequence[PeopleTable], options: ImportOptions,
    faults: list[str], notes: list[str],
) -> Any:  # fmt: skip
    """Return the names of all people, in order; a name that a table with features does not have is a stranger's."""
    if not full:
        names = [name for table in tables for name in table.names] + [name for part in edges for name in part.names]
        return pd.Index(_in_order(dict.fromkeys(names)), dtype=object)
    base = full[0]
    people = pd.Index(base.names, dtype=object)
    strangers: list[str] = []

    def note(where: str, what: str, file: str, number: int) -> None:
        if options.without_row == REFUSE:
            faults.append(f"{where}: {what}{and_more(number, 'people')}; {WITHOUT_ROW}")
        else:
            done = "kept with empty cells" if options.without_row == "keep" else "left out"
            notes.append(f"{file}: people without a row of features, {done}: {number:,}")

    parts: list[EdgeTable | PeopleTable] = [*edges, *tables]
    for part in parts:
        unknown = people.get_indexer(pd.Index(part.names, dtype=object)) < 0
        if not unknown.any():
            continue
        if isinstance(part, EdgeTable):
            edge = int(unknown[part.ends].any(axis=0).argmax())
            side = int(not unknown[part.ends[0, edge]])
            name = part.names[part.ends[side, edge]]
            where = f"{part.file}: row {part.lines[edge]}, column {part.columns[side]}"
        else:
            row = int(unknown.argmax())
            name, where = part.names[row], f"{part.place(row)}, column {part.id}"
        note(where, f"{short(name)} is no id in {base.file}", part.file, int(unknown.sum()))
        strangers += [name for name, new in zip(part.names, unknown, strict=True) if new]
    if options.without_row == "keep":
        people = people.append(pd.Index(list(dict.fromkeys(strangers)), dtype=object))
    for table in full[1:]:
        absent = ~people.isin(table.names)
        if absent.any():
            what = f"no row for the id {short(people[absent.argmax()])} of {base.file}"
            note(table.file, what, table.file, int(absent.sum()))
            people = people if options.without_row == "keep" else people[~absent]
    return people


def _without_holes(
    people: Any, features: Sequence[tuple[PeopleTable, Any]], columns: Sequence[Any], options: ImportOptions,
    faults: list[str], notes: list[str],
) -> tuple[Any, list[tuple[int, Any]]]:  # fmt: skip
    """Return which people stay, and a DataFrame for each feature with its place: coded, without empty cells."""
    holes = [column.isna().to_numpy() for column in columns]
    counts = {k: int(hole.sum()) for k, hole in enumerate(holes) if hole.any()}
    whole = np.ones(len(people), bool)
    for k, count in counts.items():
        table, name = features[k]
        if options.missing == REFUSE:
            where = f"{table.place_of(people[int(holes[k].argmax())])}, column {name}"
            faults.append(f"{where}: is empty{and_more(count)}; {EMPTY}")
        if options.missing == "drop":
            whole &= ~holes[k]
    if counts:
        where = ", ".join(f"{count:,} in {features[k][1]}" for k, count in counts.items())
        more = {"drop": f"; people left out: {int((~whole).sum()):,}",
                "mean": "; means are computed from the data, which is itself a release"}  # fmt: skip
        notes.append(f"empty cells, --missing {options.missing}: {where}{more.get(options.missing, '')}")
    made = []
    for k, (table, name) in enumerate(features):
        column = columns[k][whole]
        if name in options.categories:
            coded = _coded(table, str(name), column, options, faults, notes)
        else:
            coded = column.to_frame(str(name))
        made.append((k, coded.fillna(coded.mean() if options.missing == "mean" else 0.0)))
    if options.missing == "mark":
        made += [
            (k, pd.DataFrame({f"{features[k][1]} is empty": holes[k].astype(float)}, index=people)) for k in counts
        ]
    return whole, made


def _coded(
    table: PeopleTable, name: str, column: Any, options: ImportOptions, faults: list[str], notes: list[str]
) -> Any:
    """Return a feature of 0 and 1 for each value of a column; a value that is not in the stated list is a fault."""
    stated = options.categories[name]
    if not stated:
        why = "its values are read from the data, which is itself a release"
        notes.append(f"--one-hot {name}: {why}; --one-hot {name}=A,B,... states them")
    outside = column.notna() & ~column.isin(stated or column)
    if outside.any():
        every = ",".join((*stated, *sorted(column[outside].unique())))
        where = f"{table.place_of(column.index[int(outside.argmax())])}, column {name}"
        what = f"{short(column[outside].iloc[0])} is none of the values of --one-hot{and_more(int(outside.sum()))}"
        remedy = f"write one of them, or state all (none with a comma): --one-hot {shlex.quote(f'{name}={every}')}"
        faults.append(f"{where}: {what}; {remedy}")
    kinds = pd.Categorical(column.mask(outside), categories=stated or sorted(column.dropna().unique()))
    coded = pd.get_dummies(pd.Series(kinds, index=column.index), prefix=name, prefix_sep="=", dtype=float)
    coded[column.isna()] = np.nan
    return coded


def _labels(tables: Sequence[PeopleTable], people: Any, options: ImportOptions, faults: list[str]) -> tuple[Any, Any]:
    """Return the classes of all people, and their names."""
    labelled = [table for table in tables if table.label is not None]
    for other in labelled[1:]:
        faults.append(f"{other.file}: {labelled[0].file} has labels too; --ignore or --label leaves one out")
    nobody = np.full(len(people), -1, np.int64)
    if not labelled:
        return nobody, options.class_names
    own = labelled[0]
    labels = own.cells[own.label].reindex(people).tolist()
    try:
        return numbered(labels, options.class_names)
    except ValueError as error:
        outside = [text for text in labels if isinstance(text, str) and text not in options.class_names]
        every = shlex.quote(",".join((*options.class_names, *sorted(set(outside)))))
        faults.append(f"{own.place_of(people[error.args[1]])}, column {own.label}: {error.args[0]}"
                      f"{and_more(len(outside))}; --class-names {every} states all")  # fmt: skip
        return nobody, ()


def _in_order(names: Collection[str]) -> list[str]:
    """Return names sorted: by size if all are whole numbers, else as text."""
    whole = all(name.isdecimal() and str(int(name)) == name for name in names)
    return sorted(names, key=int if whole else None)
