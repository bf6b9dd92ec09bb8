"""Import of a graph: read, join, check, describe, write."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.devices.array_types import check_growth
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.data.population import Population, WrongFeature
from ldpsim.devices.datasets import ARRAY_FORMS, FORMS
from ldpsim.devices.datasets.array_layouts import PARTS, classes_stated, of_layout
from ldpsim.devices.datasets.npz_file import load_arrays, population_of, range_of, split_of, write_npz_file
from ldpsim.devices.datasets.pyg_file import arrays_of, load_plain
from ldpsim.strategies.importing.files import EDGE_LISTS, GRAPHS, Table, read_tables
from ldpsim.strategies.importing.forms import form_of
from ldpsim.strategies.importing.options import ImportOptions, WrongFiles
from ldpsim.strategies.importing.people import ImportedGraph, check_table_cells, join
from ldpsim.strategies.importing.summary import summary
from ldpsim.strategies.importing.vaults import names_of_people, write_vaults
from ldpsim.strategies.setup.option_spec import declared

_TEXTS = (*EDGE_LISTS, ".adjlist", ".csv", *GRAPHS)
_SHEETS = (".xlsx", ".xls", ".ods")
_OF_ARRAYS = ("label", "ignore", "class_names", "feature_range", "scale", "masks")  # options that arrays read
_PICKLES = (".gpickle", ".pickle", ".pkl", ".p")


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
        The summary (:func:`ldpsim.strategies.importing.summary.summary`), ``sources``, ``out`` and
        ``next``: JSON-ready.

    Raises:
        WrongFiles: with all faults of the files; nothing was written.
        ValueError: one line: an output that may not be written.
    """
    options = options or ImportOptions()
    paths = [Path(source).expanduser() for source in sources]
    target, side, folder = (Path(name).expanduser() if name is not None else None for name in (out, ids, vaults))
    if target is not None and target.suffix != ".npz":
        raise ValueError(f"--out {target}: the name of the file must end with .npz")
    _check_outputs({"--out": target, "--ids": side, "--vaults": folder}, force)
    faults: list[str] = []
    notes: list[str] = []
    graph = read_graph(paths, options, faults, notes)
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
        **summary(population, graph, options, range_from, notes),
        "next": next_command(target, population),
    }
    if side is not None:
        write_atomically(side, names_of_people(graph.ids or ()))
    if target is not None:
        write_npz_file(population, target)
    if folder is not None:  # the last one: records of a command that failed would lie about unseen
        document["vaults"] = write_vaults(population, folder, graph.ids)
    return document


def _check_outputs(outputs: Mapping[str, Path | None], force: bool) -> None:
    """Check what is to be written, by option, before anything is.

    Raises:
        ValueError: one line: two of one name, a file or a folder that is there, or no folder to write in.
    """
    taken: dict[Path, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        if (other := taken.setdefault(path.parent.resolve() / path.name, option)) != option:
            raise ValueError(f"{option} {path}: {other} has the same name; give each its own")
        if option == "--vaults" and path.exists():
            raise ValueError(f"{option} {path}: it is there already; give the name of a new folder")
        if path.is_dir():
            raise ValueError(f"{option} {path}: a folder has this name; give the name of a file")
        if path.exists() and not force:
            raise ValueError(f"{option} {path}: it is there already; --force replaces it")
        if not path.parent.is_dir():
            raise ValueError(f"{option} {path}: no such folder: {path.parent}")


def read_graph(paths: Sequence[Path], options: ImportOptions, faults: list[str], notes: list[str]) -> ImportedGraph:
    """Read the files by the ends of their names and join what they hold; faults and notes are added to the lists.

    Raises:
        WrongFiles: where a file cannot be read.
    """
    tables: list[Table] = []
    unread: list[str] = []
    whole = True
    for path in paths:
        end = form_of(path)
        if end in _PICKLES:
            remedy = "write the graph as GraphML where you made it: networkx.write_graphml(graph, 'graph.graphml')"
            unread.append(f"{path}: a pickle runs code when it is opened, so it is not read; {remedy}")
        elif end in _SHEETS:
            unread.append(f"{path}: a spreadsheet is not read; save each sheet as CSV in UTF-8")
        elif end not in (*_TEXTS, *ARRAY_FORMS):
            unread.append(f"{path}: the form of this file is not known; accepted are {FORMS}")
        elif not path.is_file():
            unread.append(f"no such file: {path}")
        elif end in ARRAY_FORMS and path.suffix.lower() == ".gz":
            unread.append(f"{path}: a packed {end} is not read; unpack it: gunzip {shlex.quote(path.name)}")
        elif end in ARRAY_FORMS and len(paths) > 1:
            unread.append(f"{path}: a .npz or .pt holds a whole graph; give it alone")
        elif end in ARRAY_FORMS:
            return _of_arrays(path, options, notes)
        else:
            try:
                found = read_tables(path, options, faults, notes)
                tables += found
                whole = whole and bool(found)
            except UnicodeDecodeError as error:
                place = f"{error.reason} at byte {error.start}"
                unread.append(f"{path.name}: is not text in UTF-8 ({place}); save it as UTF-8")
            except ValueError as error:
                unread.append(str(error))
    if not unread and tables and not whole:  # what a join would miss follows from the file that is not read
        check_table_cells(tables, options, faults, notes)
    if unread or not whole:
        raise WrongFiles([*unread, *faults])
    return join(tables, options, faults, notes)


def _of_arrays(path: Path, options: ImportOptions, notes: list[str]) -> ImportedGraph:
    """Return the graph of a ``.npz`` or ``.pt``; Python objects in a ``.npz`` stay unread: reading them runs code.

    Raises:
        ValueError: one line: options that are for text alone, or a file that cannot be read.
    """
    specs = declared(ImportOptions)
    given = [spec.option for name, spec in specs.items() if spec.is_given(getattr(options, name))]
    read = [specs[name].option for name in _OF_ARRAYS]
    if of_text := [option for option in given if option not in read]:
        raise ValueError(f"{', '.join(of_text)}: for files of text alone; {path.name} is read with {', '.join(read)}")
    if path.suffix.lower() == ".npz":
        arrays, objects = load_arrays(path)
        if not arrays and objects:
            raise ValueError(
                f"{path.name}: {', '.join(objects)} holds Python objects: reading them runs code from the file; "
                "save arrays (np.savez), or tensors (torch.save)"
            )
        notes += [f"{path.name}: {name} holds Python objects and is not read" for name in objects]
    else:
        arrays = arrays_of(path.name, load_plain(path))
    layout, more = of_layout(
        path.name, arrays, label=options.label, ignore=options.ignore, class_names=options.class_names
    )
    notes += more
    return ImportedGraph(path.name, layout, bool(options.class_names) or classes_stated(arrays))


def checked_graph(name: str, graph: ImportedGraph, options: ImportOptions) -> tuple[Population, str]:
    """Return the checked population, and the source of its range: ``stated``, ``default`` or ``data``.

    Raises:
        WrongFiles: for a feature that is no finite number or outside the range, or masks that do not fit.
    """
    arrays = dict(graph.arrays)
    range_from = "stated" if options.feature_range or "feature_range" in arrays else "default"
    if options.feature_range is not None:
        arrays["feature_range"] = np.array(options.feature_range)
    if options.scale == "clip":  # the other scales have a range of their own
        range_of(graph.file, arrays)
    if options.scale is not None and len(arrays["values"]) and np.isfinite(arrays["values"]).all():
        arrays = rescaled(arrays, options.scale)
        range_from = {"minmax": "data", "binary": "stated"}.get(options.scale, range_from)
    dropping = {"--missing drop": options.missing, "--without-row drop": options.without_row}
    if len(arrays["indptr"]) < 2 and (drops := [option for option, value in dropping.items() if value == "drop"]):
        raise ValueError(f"{graph.file}: nobody is left; {' and '.join(drops)} left out all who were there")
    try:
        population = population_of(name, graph.file, {key: arrays[key] for key in arrays if key not in PARTS})
    except WrongFeature as wrong:
        remedy = "write a number there, or leave the column out: --ignore NAME"
        if wrong.outside_range:
            remedy = (
                "--feature-range LOW,HIGH states the public range; --scale clip, binary or minmax changes the values "
                "(minmax reads its range from the data, which is itself a release)"
            )
        raise WrongFiles([f"{graph.place(wrong.row, wrong.column)}: {wrong.reason}; {remedy}"]) from None
    if options.masks == "drop" or any(part not in arrays for part in PARTS):
        return population, range_from
    try:
        return split_of(graph.file, population, {part: np.asarray(arrays[part]) for part in PARTS}), range_from
    except ValueError as error:
        raise WrongFiles([f"{error}; --masks drop leaves the masks out"]) from None


def rescaled(arrays: dict[str, Any], scale: str) -> dict[str, Any]:
    """Return arrays with other feature values; features are CSR parts, finite numbers.

    ``clip`` cuts each value at the public range, and ``binary`` puts 1 where it is not 0: nothing of others' data is
    in it. ``minmax`` moves each column's smallest value to 0 and its largest to 1; a column of one value becomes 0.
    """
    starts, columns, values = (arrays[name] for name in ("indptr", "indices", "values"))
    if scale == "clip":
        return {**arrays, "values": np.clip(values, *np.ravel(arrays.get("feature_range", (0.0, 1.0)))[:2])}
    arrays = {**arrays, "feature_range": np.array([0.0, 1.0])}
    if scale == "binary":
        return {**arrays, "values": (np.asarray(values) != 0).astype(np.float32)}
    n, (kinds, place) = len(starts) - 1, np.unique(columns, return_inverse=True)
    matrix = csr_array((np.asarray(values, np.float64), place, starts), shape=(n, len(kinds)))
    matrix.sum_duplicates()
    least, most = (bound.toarray().ravel() for bound in (matrix.min(axis=0), matrix.max(axis=0)))
    span = np.where(most > least, most - least, 1)
    # Where the smallest value is below 0, each person with a 0 gets a value above it: such columns become full.
    full, rows = np.flatnonzero(least < 0), np.repeat(np.arange(n), np.diff(matrix.indptr))
    check_growth(f"--scale minmax: {len(full):,} features with values below 0", n * len(full), len(values))
    kept = least[matrix.indices] >= 0
    dense = (matrix[:, full].toarray() - least[full]) / span[full]
    scaled = (matrix.data - least[matrix.indices]) / span[matrix.indices]
    new = np.concatenate([scaled[kept], dense.ravel()]).astype(np.float32)
    new_rows = np.concatenate([rows[kept], np.repeat(np.arange(n), len(full))])
    new_columns = np.concatenate([kinds[matrix.indices[kept]], np.tile(kinds[full], n)])
    matrix = csr_array((new, (new_rows, new_columns)), shape=(n, int(arrays["num_features"])))
    matrix.eliminate_zeros()
    return {**arrays, "indptr": matrix.indptr, "indices": matrix.indices, "values": matrix.data}


def next_command(out: Path | None, population: Population) -> str | None:
    """Return the command that uses the file, None where there is none or nobody has a label."""
    if out is None or not (population.labels >= 0).any():
        return None
    method = "" if population.facts.d else " --method blink"  # the default method compares features
    split = " --split file" if population.own_split else ""
    return f"ldpsim run --dataset {shlex.quote(str(out))}{method}{split}"
