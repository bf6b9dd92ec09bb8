"""Import of a graph: read, join, check, describe, write."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from devices.atomic_files import write_atomically
from devices.data.population import Population, WrongFeature
from devices.datasets import FORMS
from devices.datasets.arrays import split_of
from devices.datasets.npz_file import population_of, write_npz_file
from strategies.importing.array_files import read_arrays
from strategies.importing.edge_list import read_edge_list
from strategies.importing.graph_files import read_graph_file
from strategies.importing.joining import join
from strategies.importing.layouts import of_layout
from strategies.importing.parts import PARTS, FoundGraph, NamedEdges, PeopleTable
from strategies.importing.scaling import FROM_DATA, SCALES, rescaled
from strategies.importing.summary import next_command, summarize
from strategies.importing.tables import ENDS, read_table

_LISTS, _GRAPHS, _ARRAYS = (".txt", ".edges", ".edgelist", ".tsv"), (".gml", ".graphml"), (".npz", ".pt", ".pth")
_PICKLES = (".gpickle", ".pickle", ".pkl", ".p")
RANGE_REMEDY = (
    "--feature-range LOW,HIGH states the public range; --scale clip, binary or minmax changes the values "
    "(minmax reads its range from the data, which is itself a release)"
)


@dataclass(frozen=True)
class ImportOptions:
    """Choices of an import.

    Args:
        label: Column of the class; None: the form's usual name.
        ignore: Columns to leave out.
        class_names: Public list of the classes; empty: taken from the file or the labels.
        feature_range: Public smallest and largest value; None: of the file, else 0 and 1.
        scale: One of :data:`strategies.importing.scaling.SCALES`, or None.
        masks: ``keep`` or ``drop``: training, validation and test people of the files.
    """

    label: str | None = None
    ignore: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    feature_range: tuple[float, float] | None = None
    scale: str | None = None
    masks: str = "keep"

    def __post_init__(self) -> None:
        if self.scale not in (None, *SCALES):
            raise ValueError(f"--scale {self.scale}: one of {', '.join(SCALES)}")
        if self.masks not in ("keep", "drop"):
            raise ValueError(f"--masks {self.masks}: keep or drop")
        if self.scale in ("minmax", "binary") and self.feature_range is not None:
            raise ValueError(f"--scale {self.scale}: the range is then 0 to 1; leave --feature-range out")
        span = self.feature_range
        if span is not None and not (np.isfinite(span).all() and span[0] < span[1]):
            raise ValueError(f"--feature-range {span[0]:g},{span[1]:g}: two finite numbers, the smaller one first")
        if len(set(self.class_names)) != len(self.class_names):
            raise ValueError("--class-names: a name is given twice")


def import_graph(
    sources: Sequence[Path | str],
    out: Path | str | None = None,
    options: ImportOptions | None = None,
    *,
    force: bool = False,
    ids: Path | str | None = None,
) -> dict[str, Any]:
    """Read a graph, check it and write it as the ``.npz`` that ``--dataset`` reads.

    Args:
        sources: The files; one ``.npz`` or ``.pt``, or any number of the other forms.
        out: File to write, whole or not at all; None: nothing is written.
        options: The choices.
        force: Whether files that exist are replaced.
        ids: CSV to write with each person's number and name; None: names are dropped.

    Returns:
        The summary (:func:`strategies.importing.summary.summarize`) with ``sources``, ``out``,
        ``warnings`` and ``next``: JSON-ready.

    Raises:
        ValueError: one line: the first fault, with its row and column.
    """
    options = options or ImportOptions()
    paths = [Path(source).expanduser() for source in sources]
    target, side = (Path(name).expanduser() if name is not None else None for name in (out, ids))
    if target is not None and target.suffix != ".npz":
        raise ValueError(f"--out {target}: the name of the file must end with .npz")
    for option, file in (("--out", target), ("--ids", side)):
        if file is not None and file.exists() and not force:
            raise ValueError(f"{option} {file}: the file is there already; --force replaces it")
        if file is not None and not file.parent.is_dir():
            raise ValueError(f"{option} {file}: no such folder: {file.parent}")
    graph = read_graph(paths, options)
    if side is not None and graph.ids is None:
        raise ValueError(f"--ids {side}: {graph.file} numbers its people and has no names")
    population, range_from = checked_graph(target.stem if target else graph.file, graph, options)
    document = _document(paths, target, graph, population, options, range_from)
    if side is not None:
        rows = io.StringIO()
        csv.writer(rows, lineterminator="\n").writerows([("node", "id"), *enumerate(graph.ids or ())])
        write_atomically(side, rows.getvalue())
    if target is not None:
        write_npz_file(population, target)
    return document


def read_graph(paths: Sequence[Path], options: ImportOptions) -> FoundGraph:
    """Read the files by the ends of their names and join what they hold.

    Raises:
        ValueError: one line: a form that is not known, or the first fault in a file.
    """
    for path in paths:
        if path.suffix.lower() in _PICKLES:
            raise ValueError(
                f"{path}: a pickle runs code when it is opened, so it is not read; write the graph as "
                "GraphML where you made it: networkx.write_graphml(graph, 'graph.graphml')"
            )
        if path.suffix.lower() not in (*_LISTS, *_GRAPHS, *_ARRAYS, ".csv"):
            raise ValueError(f"{path}: the form of this file is not known; accepted are {FORMS}")
        if not path.is_file():
            raise ValueError(f"no such file: {path}")
    names = {"label": options.label, "ignore": options.ignore, "class_names": options.class_names}
    whole = next((path for path in paths if path.suffix.lower() in _ARRAYS), None)
    if whole is not None:
        if len(paths) > 1:
            raise ValueError(f"{whole}: a .npz or .pt holds a whole graph; give it alone")
        arrays, notes = read_arrays(whole)
        graph = of_layout(whole.name, arrays, **names)  # type: ignore[arg-type]
        return replace(graph, notes=(*notes, *graph.notes))
    edges: list[NamedEdges] = []
    tables: list[PeopleTable] = []
    for path in paths:
        try:
            parts = _read(path, options)
        except UnicodeDecodeError as error:
            raise ValueError(f"{path.name}: is not text in UTF-8 ({error.reason} at byte {error.start})") from None
        edges += [part for part in parts if isinstance(part, NamedEdges)]
        tables += [part for part in parts if isinstance(part, PeopleTable)]
    return join(edges, tables, **names)  # type: ignore[arg-type]


def _read(path: Path, options: ImportOptions) -> tuple[NamedEdges | PeopleTable, ...]:
    kind = path.suffix.lower()
    if kind in _GRAPHS:
        return read_graph_file(path, label=options.label, ignore=options.ignore)
    table = kind == ".csv"
    if kind == ".tsv":
        with path.open(encoding="utf-8-sig") as file:
            header = file.readline().split()
        table = "id" in header or set(ENDS) <= set(header)
    return (read_table(path, label=options.label, ignore=options.ignore) if table else read_edge_list(path),)


def checked_graph(name: str, graph: FoundGraph, options: ImportOptions) -> tuple[Population, str]:
    """Return the checked population, and the source of its range: ``stated``, ``default`` or ``data``.

    Raises:
        ValueError: one line with the first row and column at fault, and for a value outside the range the way out.
    """
    arrays = dict(graph.arrays)
    range_from = "stated" if options.feature_range or "feature_range" in arrays else "default"
    if options.feature_range is not None:
        arrays["feature_range"] = np.array(options.feature_range)
    try:
        if options.scale is not None:
            low, high = (float(end) for end in np.ravel(arrays.get("feature_range", (0.0, 1.0)))[:2])
            arrays = rescaled(graph.file, arrays, options.scale, low, high)
        if options.scale in ("minmax", "binary"):
            arrays["feature_range"] = np.array([0.0, 1.0])
            range_from = "data" if options.scale == "minmax" else "stated"
        population = population_of(name, graph.file, {key: arrays[key] for key in arrays if key not in PARTS})
    except WrongFeature as wrong:
        remedy = f"; {RANGE_REMEDY}" if wrong.outside_range else ""
        raise ValueError(f"{graph.place(wrong.row, wrong.column)}: {wrong.reason}{remedy}") from None
    if options.masks == "drop" or any(part not in arrays for part in PARTS):
        return population, range_from
    try:
        return split_of(graph.file, population, {part: np.asarray(arrays[part]) for part in PARTS}), range_from
    except ValueError as error:
        raise ValueError(f"{error}; --masks drop leaves the masks out") from None


def _document(
    paths: Sequence[Path], out: Path | None, graph: FoundGraph, population: Population, options: ImportOptions,
    range_from: str,
) -> dict[str, Any]:  # fmt: skip
    """Return the summary with sources, warnings and the next command."""
    arrays = graph.arrays
    masks = [part for part in PARTS if part in arrays]
    found = summarize(
        population, np.asarray(arrays["edge_index"]), directed=graph.directed, found_masks=masks,
        range_from=range_from, classes_from="stated" if graph.classes_stated else "labels",
    )  # fmt: skip
    warnings = list(graph.notes)
    if options.scale == "minmax":
        warnings.append(FROM_DATA)
    if 0 < len(masks) < len(PARTS):
        absent = ", ".join(part for part in PARTS if part not in masks)
        warnings.append(f"masks: {', '.join(masks)} found without {absent}; left out, since --split file needs all")
    if found["classes"] > max(10, found["people"] / 2):
        warnings.append(
            "most people have a class of their own: is it a name? --label names the class, --ignore drops it"
        )
    if found["without_label"] == found["people"]:
        warnings.append("nobody has a label: a run needs some; a CSV with the columns id and label adds them")
    return {
        "sources": [str(path) for path in paths], "out": str(out) if out else None, **found,
        "warnings": warnings, "next": next_command(out, population),
    }  # fmt: skip
