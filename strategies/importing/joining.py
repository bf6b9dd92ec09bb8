"""Edges between names and tables of people, joined by the names."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from ldpsim.strategies.importing.empty_cells import without_empty_cells
from ldpsim.strategies.importing.faults import FileFaults, WrongFiles, and_more, short
from ldpsim.strategies.importing.labels import numbered
from ldpsim.strategies.importing.options import REFUSE, ImportOptions
from ldpsim.strategies.importing.parts import FoundGraph, NamedEdges, PeopleTable
from ldpsim.strategies.importing.people import one_hot_coded

WITHOUT_ROW = "add the row; --without-row drop leaves such people out, keep takes empty cells for them"
REPEATS = (
    "--duplicates first keeps the first row of each person, last the last one, merge takes of each column the first "
    "cell that is not empty"
)


def join(
    edges: Sequence[NamedEdges], tables: Sequence[PeopleTable], options: ImportOptions, faults: FileFaults
) -> FoundGraph:
    """Return one graph of all parts.

    With features, the people are the rows of the first table that has some, in its order:
    every other table with features has a row for each of them, and no part names anybody
    else, unless ``options.without_row`` deals with it. Without features, the people are all names,
    sorted (whole numbers by size).

    Args:
        edges: The edges of each file.
        tables: The people of each file.
        options: The choices.
        faults: Faults of the files so far. After a fault the join goes on as its remedy would, to find the others.

    Raises:
        WrongFiles: with these faults, and those of columns that are not there, and of people who are there twice,
            missing or not known.
    """
    notes = [note for part in edges for note in part.notes]
    if not edges:
        files = ", ".join(table.file for table in tables)
        what = f"no edges: {files} lists people" if tables else "no edges"
        faults.add("", what, "add an edge list, or a CSV with the columns source and target")
    _tell_absent_columns(tables, options, faults)
    tables = [one_hot_coded(_once_each(table, options, faults, notes), options, faults) for table in tables]
    for name, stated in options.categories.items():
        if not stated and name != options.label:
            why = "its values are read from the data, which is itself a release"
            notes.append(f"--one-hot {name}: {why}; --one-hot {name}=A,B,... states them")
    full = [table for table in tables if len(table.sources)]
    people = _people(edges, tables, full, options, faults, notes)
    owners = [table for table in full for _ in table.sources]
    sources = [source for table in full for source in table.sources]
    cells = pd.concat([table.cells.reindex(people) for table in full] or [pd.DataFrame(index=people)], axis=1)
    cells, more = without_empty_cells(cells, sources, options, lambda who, column: owners[column].place_of(who), faults)
    people, notes = cells.index, notes + more
    labels, names = _labels(tables, people, options, faults)
    faults.end()
    ends = [people.get_indexer(part.names)[part.ends] for part in edges if part.names]
    pairs = np.concatenate(ends or [np.zeros((2, 0), np.int64)], axis=1)
    known = (pairs >= 0).all(axis=0)
    if not known.all():
        notes.append(f"edges left out with their people: {int((~known).sum()):,}")
    features = csr_array(cells.to_numpy(np.float64))
    arrays: dict[str, Any] = {
        "edge_index": pairs[:, known].astype(np.int64), "indptr": features.indptr, "indices": features.indices,
        "values": features.data, "num_features": np.int64(features.shape[1]), "labels": labels,
    }  # fmt: skip
    for table in tables:
        for part in table.masks:
            arrays[part] = table.masks[part].reindex(people, fill_value=0.0).to_numpy() != 0
    if names:
        arrays["class_names"] = np.array(names)
    told = [part.directed for part in edges if part.directed is not None]

    def place(row: int, column: int) -> str:
        return owners[min(column, len(owners) - 1)].place_of(people[row])

    return FoundGraph(
        (full[0].file if full else edges[0].file), arrays, list(people), place if owners else None,
        tuple(map(str, cells.columns)), any(told) if told else None, bool(options.class_names), tuple(notes),
    )  # fmt: skip


def _tell_absent_columns(tables: Sequence[PeopleTable], options: ImportOptions, faults: FileFaults) -> None:
    found = [name for table in tables for name in table.found]
    known = set(found)
    asked = [("--label", options.label), *(("--ignore", name) for name in options.ignore)]
    for option, name in [*asked, *(("--one-hot", name) for name in options.categories)]:
        if name is not None and name not in known:
            faults.add("", f"{option} {name}: no such column", f"there are {', '.join(found) or 'none'}")


def _once_each(table: PeopleTable, options: ImportOptions, faults: FileFaults, notes: list[str]) -> PeopleTable:
    """Return the table with one row a person; cells, labels and masks have the names as their index."""
    names = pd.Index(table.ids, dtype=object)
    table = replace(
        table, cells=table.cells.set_axis(names), masks=table.masks.set_axis(names),
        labels=None if table.labels is None else table.labels.set_axis(names),
    )  # fmt: skip
    repeated = np.flatnonzero(names.duplicated())
    if len(repeated):
        k = int(repeated[0])
        if options.duplicates == REFUSE:
            what = f"{short(table.ids[k])} is already the id of {table.place_of(table.ids[k])}{and_more(len(repeated))}"
            faults.add(f"{table.place(k)}, column {table.id}", what, REPEATS, duplicates="first")
        notes.append(
            f"{table.file}: rows of people who have one already: {len(repeated):,}; --duplicates {options.duplicates}"
        )
        if options.duplicates == "merge":
            parts = {name: getattr(table, name) for name in ("cells", "masks", "labels")}
            whole = {
                name: part.groupby(level=0, sort=False).first().reindex(names.drop_duplicates())
                for name, part in parts.items()
                if part is not None and part.size
            }
            table = replace(table.taken(np.flatnonzero(~names.duplicated())), **whole)
        else:
            keep = "last" if options.duplicates == "last" else "first"
            table = table.taken(np.flatnonzero(~names.duplicated(keep=keep)))
    empty = table.masks.isna().to_numpy()
    if empty.any() and options.missing == REFUSE:
        row, column = np.argwhere(empty)[0]
        where = f"{table.place(row)}, column {table.masks.columns[column]}_mask"
        what, remedy = f"is empty{and_more(int(empty.sum()))}", "write 0 or 1 there; --missing zero takes 0"
        faults.add(where, what, remedy, missing="zero")
    return replace(table, masks=table.masks.fillna(0.0))


def _people(
    edges: Sequence[NamedEdges], tables: Sequence[PeopleTable], full: Sequence[PeopleTable], options: ImportOptions,
    faults: FileFaults, notes: list[str],
) -> Any:  # fmt: skip
    """Return the names of all people, in order."""
    if not full:
        return pd.Index(_in_order(dict.fromkeys([*(n for t in tables for n in t.ids), *_names(edges)])), dtype=object)
    base = full[0]
    people = pd.Index(base.ids, dtype=object)
    strangers: list[str] = []
    for part in edges:
        unknown = people.get_indexer(part.names) < 0
        if unknown.any():
            wrong = unknown[part.ends]
            edge = int(wrong.any(axis=0).argmax())
            side = int(not wrong[0, edge])
            name, column = part.names[part.ends[side, edge]], part.columns[side]
            where = f"{part.file}: row {part.lines[edge]}, column {column}"
            what = f"{short(name)} is no id in {base.file}"
            _stranger(where, what, part.file, int(unknown.sum()), options, faults, notes)
            strangers += [name for name, new in zip(part.names, unknown, strict=True) if new]
    for table in tables:
        new = [k for k, name in enumerate(table.ids) if name not in people]
        if new:
            what = f"{short(table.ids[new[0]])} is no id in {base.file}"
            _stranger(f"{table.place(new[0])}, column {table.id}", what, table.file, len(new), options, faults, notes)
            strangers += [table.ids[k] for k in new]
    if options.without_row == "keep":
        people = people.append(pd.Index(list(dict.fromkeys(strangers)), dtype=object))
    for table in full[1:]:
        absent = ~people.isin(table.ids)
        if absent.any():
            what = f"no row for the id {short(people[absent.argmax()])} of {base.file}"
            _stranger(table.file, what, table.file, int(absent.sum()), options, faults, notes)
            people = people if options.without_row == "keep" else people[~absent]
    return people


def _stranger(
    where: str, what: str, file: str, number: int, options: ImportOptions, faults: FileFaults, notes: list[str]
) -> None:
    """Note people whom one table names and another one does not; they are a fault if they are refused."""
    if options.without_row == REFUSE:
        faults.add(where, what + and_more(number, "people"), WITHOUT_ROW, without_row="drop")
    else:
        done = "kept with empty cells" if options.without_row == "keep" else "left out"
        notes.append(f"{file}: people without a row of features, {done}: {number:,}")


def _labels(tables: Sequence[PeopleTable], people: Any, options: ImportOptions, faults: FileFaults) -> tuple[Any, Any]:
    """Return the classes of all people, and their names."""
    labelled = [table for table in tables if table.labels is not None]
    for other in labelled[1:]:
        faults.add(other.file, f"{labelled[0].file} has labels too", "--ignore or --label leaves one out")
    if not labelled:
        return np.full(len(people), -1, np.int64), options.class_names
    own, column = labelled[0], options.label or "label"
    given = own.labels.reindex(people)
    try:
        return numbered(given.tolist(), options.class_names, lambda k: f"{own.place_of(people[k])}, column {column}")
    except WrongFiles as wrong:
        faults += wrong.faults
        return np.full(len(people), -1, np.int64), ()


def _names(edges: Sequence[NamedEdges]) -> list[str]:
    return [name for part in edges for name in part.names]


def _in_order(names: Collection[str]) -> list[str]:
    """Return names sorted: by size if all are whole numbers, else as text."""
    whole = all(name.isdecimal() and str(int(name)) == name for name in names)
    return sorted(names, key=int if whole else None)
