"""Import of a graph: read, join, check, describe, write."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.data.population import Population, WrongFeature
from ldpsim.devices.datasets import FORMS
from ldpsim.devices.datasets.npz_file import population_of, split_of, write_npz_file
from ldpsim.strategies.importing.array_files import read_arrays
from ldpsim.strategies.importing.edge_list import read_edge_list
from ldpsim.strategies.importing.faults import FileFault, FileFaults, WrongFiles
from ldpsim.strategies.importing.graph_files import read_graph_file
from ldpsim.strategies.importing.joining import join
from ldpsim.strategies.importing.layouts import of_layout
from ldpsim.strategies.importing.options import ImportOptions
from ldpsim.strategies.importing.parts import PARTS, FoundGraph, NamedEdges, PeopleTable
from ldpsim.strategies.importing.scaling import FROM_DATA, rescaled
from ldpsim.strategies.importing.summary import next_command, summarize
from ldpsim.strategies.importing.tables import ends_of, read_table
from ldpsim.strategies.importing.vaults import check_new, names_of_people, write_vaults

_LISTS, _GRAPHS, _ARRAYS = (".txt", ".edges", ".edgelist", ".tsv"), (".gml", ".graphml"), (".npz", ".pt", ".pth")
_PICKLES = (".gpickle", ".pickle", ".pkl", ".p")
_ROUNDS = 12  # more than there are stages at which faults are told
_SHOWN = 8  # columns that one message names
RANGE_REMEDY = (
    "--feature-range LOW,HIGH states the public range; --scale clip, binary or minmax changes the values "
    "(minmax reads its range from the data, which is itself a release)"
)


def import_graph(
    sources: Sequence[Path | str],
    out: Path | str | None = None,
    options: ImportOptions | None = None,
    *,
    force: bool = False,
    ids: Path | str | None = None,
    vaults: Path | str | None = None,
) -> dict[str, Any]:
    """Read a graph, check it and write it as the ``.npz`` that ``--dataset`` reads.

    Args:
        sources: The files; one ``.npz`` or ``.pt``, or any number of the other forms.
        out: File to write, whole or not at all; None: nothing is written.
        options: The choices.
        force: Whether files that exist are replaced.
        ids: CSV to write with each person's number and name; None: names are dropped.
        vaults: New folder for what a deployment needs (:func:`ldpsim.strategies.importing.vaults.write_vaults`); None:
        none.

    Returns:
        The summary (:func:`ldpsim.strategies.importing.summary.summarize`) with ``sources``, ``out``,
        ``warnings`` and ``next``: JSON-ready.

    Raises:
        WrongFiles: with all faults of the files; nothing was written.
        ValueError: one line: an output that may not be written.
    """
    options = options or ImportOptions()
    paths = [Path(source).expanduser() for source in sources]
    target, side, folder = (Path(name).expanduser() if name is not None else None for name in (out, ids, vaults))
    if target is not None and target.suffix != ".npz":
        raise ValueError(f"--out {target}: the name of the file must end with .npz")
    for option, file in (("--out", target), ("--ids", side)):
        if file is not None and file.exists() and not force:
            raise ValueError(f"{option} {file}: the file is there already; --force replaces it")
        if file is not None and not file.parent.is_dir():
            raise ValueError(f"{option} {file}: no such folder: {file.parent}")
    if folder is not None:
        check_new(folder)
    outputs = {"--out": target, "--ids": side, "--vaults": folder}
    more = [f"{option} {shlex.quote(str(file))}" for option, file in outputs.items() if file is not None]
    more += ["--force"] if force else []
    graph, population, range_from = _whole(paths, target.stem if target else None, options, more)
    if side is not None and graph.ids is None:
        raise ValueError(f"--ids {side}: {graph.file} numbers its people and has no names")
    document = _document(paths, target, graph, population, options, range_from)
    if folder is not None:
        document["vaults"] = write_vaults(population, folder, graph.ids)
    if side is not None:
        write_atomically(side, names_of_people(graph.ids or ()))
    if target is not None:
        write_npz_file(population, target)
    return document


def _whole(
    paths: Sequence[Path], name: str | None, options: ImportOptions, more: Sequence[str]
) -> tuple[FoundGraph, Population, str]:
    """Return the graph, the checked population and the source of its range.

    After faults the files are read again with the first remedy of each, so that the faults behind them are told, too,
    and the command that is proposed is known to work.

    Raises:
        WrongFiles: with all faults.
    """
    found: dict[str, FileFault] = {}
    tried = options
    for _ in range(_ROUNDS):
        try:
            graph = read_graph(paths, tried)
            population, range_from = checked_graph(name or graph.file, graph, tried)
        except WrongFiles as wrong:
            found |= {fault.line: fault for fault in wrong.faults}
            before, tried = tried, tried.changed(fault.change for fault in wrong.faults)
            if tried == before or not tried.keeps(fault.change for fault in found.values()):
                break
        else:
            if not found:
                return graph, population, range_from
            words = ["ldpsim import", *(shlex.quote(str(path)) for path in paths), *tried.words(), *more]
            raise WrongFiles(found.values(), " ".join(words))
    raise WrongFiles(found.values())


def read_graph(paths: Sequence[Path], options: ImportOptions) -> FoundGraph:
    """Read the files by the ends of their names and join what they hold.

    Raises:
        WrongFiles: with the faults of all files.
    """
    faults = FileFaults()
    for path in paths:
        if path.suffix.lower() in _PICKLES:
            remedy = "write the graph as GraphML where you made it: networkx.write_graphml(graph, 'graph.graphml')"
            faults.add(str(path), "a pickle runs code when it is opened, so it is not read", remedy)
        elif path.suffix.lower() not in (*_LISTS, *_GRAPHS, *_ARRAYS, ".csv"):
            faults.add(str(path), "the form of this file is not known", f"accepted are {FORMS}")
        elif not path.is_file():
            faults.add("", f"no such file: {path}")
    whole = next((path for path in paths if path.suffix.lower() in _ARRAYS), None)
    if whole is not None and whole.is_file() and len(paths) > 1:
        faults.add(str(whole), "a .npz or .pt holds a whole graph", "give it alone")
    if whole is not None:
        faults.end()
        arrays, notes = read_arrays(whole)
        graph = of_layout(
            whole.name, arrays, label=options.label, ignore=options.ignore, class_names=options.class_names
        )
        return replace(graph, notes=(*notes, *graph.notes))
    edges: list[NamedEdges] = []
    tables: list[PeopleTable] = []
    for path in paths:
        if any(fault.place == str(path) for fault in faults) or not path.is_file():
            continue
        try:
            parts = _read(path, options, faults)
        except UnicodeDecodeError as error:
            what = f"is not text in UTF-8 ({error.reason} at byte {error.start})"
            faults.add(path.name, what, "save it as UTF-8")
        except ValueError as error:
            faults.add("", str(error))
        else:
            edges += [part for part in parts if isinstance(part, NamedEdges)]
            tables += [part for part in parts if isinstance(part, PeopleTable)]
    if any(not fault.change for fault in faults) or len(edges) + len(tables) < len(paths):
        faults.end()
    return join(edges, tables, options, faults)


def _read(path: Path, options: ImportOptions, faults: FileFaults) -> tuple[NamedEdges | PeopleTable | None, ...]:
    kind = path.suffix.lower()
    if kind in _GRAPHS:
        return read_graph_file(path, options, faults)
    table = kind == ".csv"
    if kind == ".tsv":
        with path.open(encoding="utf-8-sig") as file:
            header = file.readline().split()
        table = bool({"id", options.id} & set(header)) or any(set(ends) <= set(header) for ends in ends_of(options))
    return (read_table(path, options, faults) if table else read_edge_list(path, faults),)


def checked_graph(name: str, graph: FoundGraph, options: ImportOptions) -> tuple[Population, str]:
    """Return the checked population, and the source of its range: ``stated``, ``default`` or ``data``.

    Raises:
        WrongFiles: for a feature that is no finite number or outside the range, or masks that do not fit.
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
        raise WrongFiles([_feature_fault(graph, arrays, wrong, options)]) from None
    if options.masks == "drop" or any(part not in arrays for part in PARTS):
        return population, range_from
    try:
        return split_of(graph.file, population, {part: np.asarray(arrays[part]) for part in PARTS}), range_from
    except ValueError as error:
        raise WrongFiles([FileFault("", str(error), "--masks drop leaves the masks out", {"masks": "drop"})]) from None


def _feature_fault(graph: FoundGraph, arrays: dict[str, Any], wrong: WrongFeature, options: ImportOptions) -> FileFault:
    """Return the fault of the first feature that may not be; for one outside the range, with all such columns."""
    place = graph.place(wrong.row, wrong.column)
    if not wrong.outside_range:
        return FileFault(place, wrong.reason, "write a number there, or leave the column out: --ignore NAME")
    low, high = (float(end) for end in np.ravel(arrays.get("feature_range", (0.0, 1.0)))[:2])
    values = np.asarray(arrays["values"])
    columns = np.unique(np.asarray(arrays["indices"])[(values < low) | (values > high)])
    names = [graph.columns[k] or "''" if graph.columns else str(k) for k in columns[:_SHOWN]]
    more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
    reason = wrong.reason + (f" (columns {', '.join(names)}{more})" if len(columns) > 1 else "")
    change = {} if options.scale or not low <= 0 <= high else {"scale": "clip" if options.feature_range else "minmax"}
    return FileFault(place, reason, RANGE_REMEDY, change)


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
        warnings.append(
            "nobody has a label: a run needs some; --label NAME takes a column as the class, "
            "or a CSV with the columns id and label adds them"
        )
    return {
        "sources": [str(path) for path in paths], "out": str(out) if out else None, **found,
        "warnings": warnings, "next": next_command(out, population),
    }  # fmt: skip
