"""A user's own graph in one ``.npz`` file, read without pickle and written whole or not at all.

Arrays:

=================  ======================  ==================================================
``edge_index``     whole numbers (2, m)    edges in any direction; self-loops and repeats drop
``labels``         whole numbers (n,)      class of each node, -1 where it has none
``x``              numbers (n, d)          features, dense; or instead of it the CSR parts:
``indptr``         whole numbers (n + 1,)  row i has entries ``indptr[i]`` to ``indptr[i + 1]``
``indices``        whole numbers (nnz,)    their columns
``values``         numbers (nnz,)          their values; left out: all 1
``num_features``   whole number            d, with the CSR parts
=================  ======================  ==================================================

Optional: ``feature_range`` (2,) the public smallest and largest value, default 0 and 1;
``num_classes``, else the number of ``class_names``, else the largest label + 1 (a number
taken from the data: state it if it is not public); ``class_names`` (text); ``train``,
``val`` and ``test``, masks or node numbers, for ``--split file``.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import check_growth
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.datasets.array_layouts import PARTS, of_layout
from ldpsim.devices.facts import Split


def read_npz_file(name: str, path: Path) -> Population:
    """Read a ``.npz`` of the schema above.

    Args:
        name: Name of the population.
        path: The file.

    Raises:
        ValueError: one line: no such file or no ``.npz``, an array that is missing or has
            the wrong shape, or the first offending row and column, edge or node.
    """
    arrays, objects = load_arrays(path)
    if objects:
        raise ValueError(f"{path} cannot be read as a .npz of plain arrays: {objects[0]} holds Python objects")
    return population_of(name, path.name, of_layout(path.name, arrays)[0])


def load_arrays(path: Path) -> tuple[dict[str, NDArray[Any]], tuple[str, ...]]:
    """Return the plain arrays of a ``.npz`` of any layout, and the names of those of Python objects, which stay unread.

    Raises:
        ValueError: one line: no such file, no ``.npz``, a header that does not fit its bytes, or one that states many
            texts or rows that take none.
    """
    if not path.is_file():
        raise ValueError(f"no such file: {path}")
    if not zipfile.is_zipfile(path):  # numpy would speak of pickles
        raise ValueError(f"{path} is no .npz file; `ldpsim import` makes one of CSV, GraphML, PyG and other files")
    arrays: dict[str, NDArray[Any]] = {}
    objects = []
    try:
        with np.load(path, allow_pickle=False) as stored:
            for name in stored.files:
                try:
                    array = np.asarray(stored[name], order="C")
                except ValueError as error:
                    if "allow_pickle" not in str(error):
                        raise
                    objects.append(name)
                    continue
                check_growth(f"{name} of the shape {array.shape}", max(array.shape, default=0), array.nbytes)
                if array.size and not array.nbytes:
                    raise ValueError(f"{name} has {array.size:,} texts of width 0")
                arrays[name] = array
    except (OSError, ValueError, EOFError, AttributeError, TypeError, MemoryError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as a .npz of plain arrays: {' '.join(str(error).split())}") from error
    return arrays, tuple(objects)


def population_of(name: str, file: str, arrays: Mapping[str, NDArray[Any]]) -> Population:
    """Make a population of arrays that :func:`ldpsim.devices.datasets.array_layouts.of_layout` returned.

    Raises:
        ValueError: one line that names ``file`` and the first fault.
    """
    labels, indptr = arrays["labels"], arrays["indptr"]
    if len(indptr) < 2:
        raise ValueError(f"{file}: there are no people: no edge, label or row of features has one")
    class_names = tuple(str(text) for text in np.atleast_1d(arrays.get("class_names", ())))
    counted = len(class_names) or int(labels.max(initial=-1)) + 1
    population = build_population(
        name, n=len(indptr) - 1, d=int(arrays["num_features"]), edges=arrays["edge_index"], feature_indptr=indptr,
        feature_indices=arrays["indices"], feature_values=arrays.get("values"), labels=labels,
        classes=int(arrays.get("num_classes", counted)), feature_range=range_of(file, arrays),
        class_names=class_names,
    )  # fmt: skip
    parts = {part: arrays[part] for part in PARTS if part in arrays}
    if parts and len(parts) < len(PARTS):
        raise ValueError(f"{file}: a split has the arrays {', '.join(PARTS)}; found {', '.join(parts)} alone")
    return split_of(file, population, parts) if parts else population


def range_of(file: str, arrays: Mapping[str, Any]) -> tuple[float, float]:
    """Return the public range of features, 0 and 1 where the arrays have none.

    Raises:
        ValueError: one line that names ``file``: no two finite numbers, the smaller one first.
    """
    span = np.asarray(arrays.get("feature_range", (0.0, 1.0)))
    if span.shape != (2,) or span.dtype.kind not in "iuf" or not np.isfinite(span).all() or not span[0] < span[1]:
        raise ValueError(f"{file}: feature_range must be two finite numbers, the smaller one first")
    return float(span[0]), float(span[1])


def write_npz_file(population: Population, path: Path) -> None:
    """Write a population in the schema above, whole or not at all, readable by its owner alone.

    :func:`read_npz_file` gives a population of the same digest and split.
    """
    facts, split = population.facts, population.own_split
    arrays: dict[str, Any] = {
        "edge_index": population.edges.astype(np.int32), "labels": population.labels,
        "indptr": population.feature_indptr, "indices": population.feature_indices,
        "num_features": np.int64(facts.d), "num_classes": np.int64(facts.classes),
        "feature_range": np.array([facts.feature_low, facts.feature_high]),
    }  # fmt: skip
    if np.any(population.feature_values != 1):
        arrays["values"] = population.feature_values
    if facts.class_names:
        arrays["class_names"] = np.array(facts.class_names)
    if split is not None:
        arrays |= {part: getattr(split, part) for part in PARTS}
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    write_atomically(path, content.getvalue())


def split_of(name: str, population: Population, parts: dict[str, NDArray[Any]]) -> Population:
    """Attach a data set's own split: ``parts`` has train, val and test, as masks or node ids.

    Raises:
        ValueError: where a mask has the wrong length, a node does not exist, is in two
            parts or has no label, or a part is empty.
    """
    n = len(population)
    seen = np.full(n, "", dtype="<U5")
    ids = {}
    for part in PARTS:
        array = np.asarray(parts[part])
        if array.dtype == bool:
            if array.shape != (n,):
                raise ValueError(f"{name}: the {part} mask has shape {array.shape}, there are {n} nodes")
            array = np.flatnonzero(array)
        if array.ndim != 1 or array.dtype.kind not in "iu" or not len(array):
            raise ValueError(f"{name}: {part} must be a mask or a list of node numbers that is not empty")
        nodes = np.unique(array).astype(np.int64)
        if nodes[0] < 0 or nodes[-1] >= n:
            wrong = nodes[0] if nodes[0] < 0 else nodes[-1]
            raise ValueError(f"{name}: {part} names node {wrong}, but nodes are 0..{n - 1}")
        for node in nodes[seen[nodes] != ""][:1]:
            raise ValueError(f"{name}: node {node} is in {seen[node]} and in {part}")
        for node in nodes[population.labels[nodes] < 0][:1]:
            raise ValueError(f"{name}: node {node} is in {part} but has no label")
        seen[nodes] = part
        ids[part] = nodes
    return replace(population, own_split=Split(**ids))
