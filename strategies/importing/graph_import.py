"""Import of a graph: read, join, check, describe, write."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.data.population import Population, WrongFeature, distinct
from ldpsim.devices.datasets import FORMS
from ldpsim.devices.datasets.array_layouts import PARTS, classes_stated, of_layout
from ldpsim.devices.datasets.npz_file import load_arrays, population_of, split_of, write_npz_file
from ldpsim.devices.datasets.pyg_file import arrays_of, load_plain
from ldpsim.strategies.importing.files import EdgeTable, PeopleTable, read_tables
from ldpsim.strategies.importing.options import ImportOptions, WrongFiles
from ldpsim.strategies.importing.people import ImportedGraph, join
from ldpsim.strategies.importing.vaults import check_new, names_of_people, write_vaults

_TEXTS = (".txt", ".edges", ".edgelist", ".tsv", ".csv", ".gml", ".graphml")
_ARRAYS = (".npz", ".pt", ".pth")
_PICKLES = (".gpickle", ".pickle", ".pkl", ".p")
_SHOWN = 8  # columns that one message names
NOT_PUBLIC = (
    "who is linked with whom (public for lpgnn and rgnn)",
    "feature values (public with --public-features)",
    "labels of test people; those of training and validation people are public unless a run has --private-labels",
)
FROM_DATA = (
    "--scale minmax: each feature's smallest and largest value is computed from the data, which is itself a release "
    "that no epsilon covers; state a public range with --feature-range where you can"
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
        The counts, what would be public, ``sources``, ``out``, ``warnings`` and ``next``: JSON-ready.

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
    faults: list[str] = []
    graph = read_graph(paths, options, faults)
    try:
        population, range_from = checked_graph(target.stem if target else graph.file, graph, options)
    except ValueError as error:
        if not faults or isinstance(error, WrongFiles):  # another one follows from the faults before it
            faults += getattr(error, "faults", [str(error)])
    if faults:
        raise WrongFiles(faults)
    if side is not None and graph.ids is None:
        raise ValueError(f"--ids {side}: {graph.file} numbers its people and has no names")
    document = {
        "sources": [str(path) for path in paths],
        "out": str(target) if target else None,
        **_summary(population, graph, options, range_from),
        "next": next_command(target, population),
    }
    if folder is not None:
        document["vaults"] = write_vaults(population, folder, graph.ids)
    if side is not None:
        write_atomically(side, names_of_people(graph.ids or ()))
    if target is not None:
        write_npz_file(population, target)
    return document


def read_graph(paths: Sequence[Path], options: ImportOptions, faults: list[str]) -> ImportedGraph:
    """Read the files by the ends of their names and join what they hold; faults of tables are added to ``faults``.

    Raises:
        WrongFiles: where a file cannot be read.
    """
    for path in paths:
        if path.suffix.lower() in _PICKLES:
            remedy = "write the graph as GraphML where you made it: networkx.write_graphml(graph, 'graph.graphml')"
            faults.append(f"{path}: a pickle runs code when it is opened, so it is not read; {remedy}")
        elif path.suffix.lower() not in (*_TEXTS, *_ARRAYS):
            faults.append(f"{path}: the form of this file is not known; accepted are {FORMS}")
        elif not path.is_file():
            faults.append(f"no such file: {path}")
    whole = next((path for path in paths if path.suffix.lower() in _ARRAYS), None)
    if whole is not None and len(paths) > 1:
        faults.append(f"{whole}: a .npz or .pt holds a whole graph; give it alone")
    if whole is not None:
        if faults:
            raise WrongFiles(faults)
        return _of_arrays(whole, options)
    edges: list[EdgeTable] = []
    tables: list[PeopleTable] = []
    for path in paths:
        if path.suffix.lower() not in _TEXTS or not path.is_file():
            continue
        try:
            parts = read_tables(path, options, faults)
        except UnicodeDecodeError as error:
            faults.append(f"{path.name}: is not text in UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8")
        except ValueError as error:
            faults.append(str(error))
        else:
            edges += [part for part in parts if isinstance(part, EdgeTable)]
            tables += [part for part in parts if isinstance(part, PeopleTable)]
    if faults and len(edges) + len(tables) < len(paths):
        raise WrongFiles(faults)
    if not edges and not tables:
        raise WrongFiles(["no edges; add an edge list, or a CSV with the columns source and target"])
    return join(edges, tables, options, faults)


def _of_arrays(path: Path, options: ImportOptions) -> ImportedGraph:
    """Return the graph of a ``.npz`` or ``.pt``; Python objects in a ``.npz`` stay unread: reading them runs code."""
    notes: list[str] = []
    if path.suffix.lower() == ".npz":
        arrays, objects = load_arrays(path)
        if not arrays and objects:
            raise ValueError(
                f"{path.name}: {', '.join(objects)} holds Python objects: reading them runs code from the file; "
                "save arrays (np.savez), or tensors (torch.save)"
            )
        notes = [f"{path.name}: {name} holds Python objects and is not read" for name in objects]
    else:
        arrays = arrays_of(path.name, load_plain(path))
    made, more = of_layout(
        path.name, arrays, label=options.label, ignore=options.ignore, class_names=options.class_names
    )
    stated = bool(options.class_names) or classes_stated(arrays)
    return ImportedGraph(path.name, made, classes_stated=stated, notes=(*notes, *more))


def checked_graph(name: str, graph: ImportedGraph, options: ImportOptions) -> tuple[Population, str]:
    """Return the checked population, and the source of its range: ``stated``, ``default`` or ``data``.

    Raises:
        WrongFiles: for a feature that is no finite number or outside the range, or masks that do not fit.
    """
    arrays = dict(graph.arrays)
    range_from = "stated" if options.feature_range or "feature_range" in arrays else "default"
    if options.feature_range is not None:
        arrays["feature_range"] = np.array(options.feature_range)
    low, high = (float(end) for end in np.ravel(arrays.get("feature_range", (0.0, 1.0)))[:2])
    try:
        if options.scale is not None:
            arrays = rescaled(graph.file, arrays, options.scale, low, high)
        if options.scale in ("minmax", "binary"):
            arrays["feature_range"] = np.array([0.0, 1.0])
            range_from = "data" if options.scale == "minmax" else "stated"
        population = population_of(name, graph.file, {key: arrays[key] for key in arrays if key not in PARTS})
    except WrongFeature as wrong:
        raise WrongFiles([_feature_fault(graph, arrays, wrong, low, high)]) from None
    if options.masks == "drop" or any(part not in arrays for part in PARTS):
        return population, range_from
    try:
        return split_of(graph.file, population, {part: np.asarray(arrays[part]) for part in PARTS}), range_from
    except ValueError as error:
        raise WrongFiles([f"{error}; --masks drop leaves the masks out"]) from None


def _feature_fault(graph: ImportedGraph, arrays: dict[str, Any], wrong: WrongFeature, low: float, high: float) -> str:
    """Return the fault of the first feature that may not be; for one outside the range, with all such columns."""
    place = graph.place(wrong.row, wrong.column)
    if not wrong.outside_range:
        return f"{place}: {wrong.reason}; write a number there, or leave the column out: --ignore NAME"
    values = np.asarray(arrays["values"])
    columns = np.unique(np.asarray(arrays["indices"])[(values < low) | (values > high)])
    names = [graph.columns[k] or "''" if graph.columns else str(k) for k in columns[:_SHOWN]]
    more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
    which = f" (columns {', '.join(names)}{more})" if len(columns) > 1 else ""
    return (
        f"{place}: {wrong.reason}{which}; --feature-range LOW,HIGH states the public range; --scale clip, binary or "
        "minmax changes the values (minmax reads its range from the data, which is itself a release)"
    )


def rescaled(file: str, arrays: dict[str, Any], scale: str, low: float, high: float) -> dict[str, Any]:
    """Return arrays with other feature values.

    ``clip`` and ``binary`` change each value on its own, so that nothing of others' data is in it. ``minmax`` moves
    each column's smallest value to 0 and its largest to 1; a column of one value becomes 0.

    Args:
        file: Name of the file.
        arrays: Arrays of a graph; its features are CSR parts.
        scale: ``minmax``; ``clip``: cut at ``low`` and ``high``; ``binary``: 1 where a value is not 0.
        low, high: Public range.

    Raises:
        WrongFeature: for the first value that is not a finite number.
    """
    starts, columns, values = (arrays[name] for name in ("indptr", "indices", "values"))
    values = np.asarray(values, np.float64)
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        row = int(np.searchsorted(starts, wrong[0], side="right")) - 1
        raise WrongFeature(file, row, int(columns[wrong[0]]), "feature that is not a finite number")
    if scale == "clip":
        return {**arrays, "values": np.clip(values, low, high)}
    if scale == "binary":
        return {**arrays, "values": (values != 0).astype(np.float32)}
    if not values.size:
        return arrays
    matrix = csr_array((values, columns, starts), shape=(len(starts) - 1, int(arrays["num_features"])))
    least, most = (np.asarray(end.todense()).ravel() for end in (matrix.min(axis=0), matrix.max(axis=0)))
    width = np.where(most > least, most - least, 1)
    if not least.any():
        return {**arrays, "values": values / width[columns]}
    matrix = csr_array(((matrix.toarray() - least) / width).astype(np.float32))  # zeros move: nothing stays sparse
    return {**arrays, "indptr": matrix.indptr, "indices": matrix.indices, "values": matrix.data}


def edge_counts(given: IntArray, kept: int, n: int) -> dict[str, int]:
    """Count edges as given (2, m) and what becomes of them; ``kept`` counts each undirected edge once."""
    left, right = given[:, given[0] != given[1]]
    pairs = len(distinct(left * n + right))
    return {
        "given": given.shape[1],
        "kept": kept,
        "self_loops_dropped": given.shape[1] - len(left),
        "repeats_dropped": len(left) - pairs,
        "pairs_in_both_directions": pairs - kept,
        "pairs_in_one_direction": 2 * kept - pairs,
    }


def _summary(population: Population, graph: ImportedGraph, options: ImportOptions, range_from: str) -> dict[str, Any]:
    """Return the counts of a population, what would be public about it, and warnings."""
    facts, split, labels = population.facts, population.own_split, population.labels
    values, cells = population.feature_values, facts.n * facts.d
    stored = np.append(values, 0.0) if len(values) < cells else values
    masks = [part for part in PARTS if part in graph.arrays]
    unlabelled = int(np.sum(labels < 0))
    warnings = list(graph.notes)
    if options.scale == "minmax":
        warnings.append(FROM_DATA)
    if 0 < len(masks) < len(PARTS):
        absent = ", ".join(part for part in PARTS if part not in masks)
        warnings.append(f"masks: {', '.join(masks)} found without {absent}; left out, since --split file needs all")
    if facts.classes > max(10, facts.n / 2):
        warnings.append(
            "most people have a class of their own: is it a name? --label names the class, --ignore drops it"
        )
    if unlabelled == facts.n:
        warnings.append(
            "nobody has a label: a run needs some; --label NAME takes a column as the class, "
            "or a CSV with the columns id and label adds them"
        )
    return {
        "people": facts.n,
        "directed": graph.directed,
        "edges": edge_counts(np.asarray(graph.arrays["edge_index"]), population.edges.shape[1], facts.n),
        "isolated": int(np.sum(population.degrees == 0)),
        "classes": facts.classes,
        "largest_class": int(np.bincount(labels[labels >= 0], minlength=1).max()),
        "without_label": unlabelled,
        "features": facts.d,
        "feature_rate": len(values) / cells if cells else None,
        "feature_values": {"low": float(stored.min()), "high": float(stored.max())} if cells else None,
        "homophily": population.homophily if np.isfinite(population.homophily) else None,
        "masks": {"found": masks, "kept": split is not None},
        "public": {
            "people": facts.n,
            "features": facts.d,
            "feature_range": [facts.feature_low, facts.feature_high],
            "feature_range_from": range_from,
            "classes": facts.classes,
            "classes_from": "stated" if graph.classes_stated else "labels",
            "class_names": list(facts.class_names),
            "split": {part: len(getattr(split, part)) for part in PARTS} if split else None,
        },
        "not_public": list(NOT_PUBLIC),
        "warnings": warnings,
    }


def next_command(out: Path | None, population: Population) -> str | None:
    """Return the command that uses the file, None where there is none or nobody has a label."""
    if out is None or not (population.labels >= 0).any():
        return None
    method = "" if population.facts.d else " --method blink"  # the default method compares features
    split = " --split file" if population.own_split else ""
    return f"ldpsim run --dataset {shlex.quote(str(out))}{method}{split}"
