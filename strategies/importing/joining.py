"""Edges between names and tables of people, joined by the names."""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack

from strategies.importing.labels import numbered
from strategies.importing.parts import FoundGraph, NamedEdges, PeopleTable


def join(
    edges: Sequence[NamedEdges],
    tables: Sequence[PeopleTable],
    *,
    label: str | None = None,
    ignore: Collection[str] = (),
    class_names: tuple[str, ...] = (),
) -> FoundGraph:
    """Return one graph of all parts.

    With features, the people are the rows of the first table that has some, in its order:
    every other table with features has a row for each of them, and no part names anybody
    else. Without features, the people are all names, sorted (whole numbers by size).

    Args:
        edges: The edges of each file.
        tables: The people of each file.
        label: Column of the labels that was asked for; one table must have it.
        ignore: Columns that were left out; one table must have them.
        class_names: Public names of the classes, or empty.

    Raises:
        ValueError: one line: a name that is there twice, missing or not known, with its row and column.
    """
    if not edges:
        files = ", ".join(table.file for table in tables)
        raise ValueError(
            f"no edges: {files} lists people; add an edge list, or a CSV with the columns source and target"
        )
    found = [name for table in tables for name in table.found]
    for option, name in [("--label", label), *(("--ignore", name) for name in ignore)]:
        if name is not None and name not in found:
            raise ValueError(f"{option} {name}: no such column; there are {', '.join(found) or 'none'}")
    for table in tables:
        _refuse_repeats(table)
    base = next((table for table in tables if table.columns), None)
    ids = base.ids if base else _in_order(dict.fromkeys([*(n for t in tables for n in t.ids), *_names(edges)]))
    number = {name: k for k, name in enumerate(ids)}
    places = base.places if base else None
    pairs = [_numbered_ends(part, number, base) for part in edges]
    columns: list[str] = []
    blocks, masks = [], {}
    labels: list[Any] | None = None
    labels_from = ""
    for table in tables:
        at = _positions(table, number, base)
        if table.columns:
            order = np.empty(len(ids), np.int64)
            order[at] = np.arange(len(at))
            blocks.append(table.features[order])
            columns += table.columns
        if table.labels is not None:
            if labels is not None:
                raise ValueError(f"{table.file}: {labels_from} has labels too; --ignore or --label leaves one out")
            labels, labels_from, own = [""] * len(ids), table.file, table
            for k, text in zip(at, table.labels, strict=True):
                labels[k] = text
        for part, mask in table.masks.items():
            masks[part] = np.zeros(len(ids), bool)
            masks[part][at] = mask
    features = csr_array(hstack(blocks, format="csr")) if blocks else csr_array((len(ids), 0))
    classes, names = np.full(len(ids), -1, np.int64), class_names
    if labels is not None:
        rows = dict(zip(_positions(own, number, base), own.places, strict=True))
        classes, names = numbered(labels, class_names, lambda k: f"{rows[k]}, column {label or 'label'}")
    arrays = {
        "edge_index": np.concatenate(pairs, axis=1), "indptr": features.indptr, "indices": features.indices,
        "values": features.data, "num_features": np.int64(len(columns)), "labels": classes, **masks,
    }  # fmt: skip
    if names:
        arrays["class_names"] = np.array(names)
    told = [part.directed for part in edges if part.directed is not None]
    notes = tuple(note for part in edges for note in part.notes)
    return FoundGraph(
        (base or edges[0]).file, arrays, ids, places, tuple(columns), any(told) if told else None, bool(class_names),
        notes,
    )  # fmt: skip


def _refuse_repeats(table: PeopleTable) -> None:
    first: dict[str, int] = {}
    for k, name in enumerate(table.ids):
        if first.setdefault(name, k) != k:
            before = table.places[first[name]]
            raise ValueError(f"{table.places[k]}, column id: {reprlib.repr(name)} is already the id of {before}")


def _names(edges: Sequence[NamedEdges]) -> list[str]:
    return [name for part in edges for name in part.names]


def _in_order(names: Collection[str]) -> list[str]:
    """Return names sorted: by size if all are whole numbers, else as text."""
    whole = all(name.isdecimal() and str(int(name)) == name for name in names)
    return sorted(names, key=int if whole else None)


def _numbered_ends(part: NamedEdges, number: dict[str, int], base: PeopleTable | None) -> Any:
    """Return the edges as int64 (2, m) numbers of people."""
    known = np.array([number.get(name, -1) for name in part.names], np.int64)
    ends = known[part.ends] if len(known) else part.ends
    wrong = np.flatnonzero((ends < 0).any(axis=0))
    if len(wrong):
        assert base is not None
        side = int(ends[0, wrong[0]] >= 0)
        name = reprlib.repr(part.names[part.ends[side, wrong[0]]])
        column = ("source", "target")[side]
        row = part.lines[wrong[0]]
        raise ValueError(f"{part.file}: row {row}, column {column}: {name} is no id in {base.file}")
    return ends


def _positions(table: PeopleTable, number: dict[str, int], base: PeopleTable | None) -> list[int]:
    """Return each row's person."""
    for name, place in zip(table.ids, table.places, strict=True):
        if name not in number:
            assert base is not None
            raise ValueError(f"{place}, column id: {reprlib.repr(name)} is no id in {base.file}")
    if base is not None and table.columns and len(table.ids) != len(base.ids):
        here = set(table.ids)
        absent = next(name for name in base.ids if name not in here)
        raise ValueError(f"{table.file}: no row for the id {reprlib.repr(absent)} of {base.file}")
    return [number[name] for name in table.ids]
