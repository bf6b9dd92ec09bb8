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
import math
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.datasets.array_layouts import PARTS, csr_of, edges_of, of_layout
from ldpsim.devices.facts import Split

LARGEST_BYTES = 1 << 35


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
        ValueError: one line: no such file, no ``.npz``, or a header that does not fit its bytes.
    """
    if not path.is_file():
        raise ValueError(f"no such file: {path}")
    try:
        objects = _check_headers(path)
        with np.load(path, allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files if key not in objects}, objects
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as a .npz of plain arrays: {' '.join(str(error).split())}") from error


def population_of(name: str, file: str, arrays: Mapping[str, NDArray[Any]]) -> Population:
    """Check arrays of the schema above and make a population of them.

    Raises:
        ValueError: one line that names ``file`` and the first fault.
    """
    _require(file, arrays, "edge_index", "labels")
    values: NDArray[Any] | None
    if "x" in arrays:
        indptr, indices, values = csr_of(file, arrays["x"])
        d = arrays["x"].shape[1]
    else:
        if "indptr" not in arrays:
            raise ValueError(f"{file}: the features are missing: x, or indptr, indices and num_features")
        _require(file, arrays, "indptr", "indices", "num_features")
        indptr = _whole(file, arrays, "indptr")
        indices, values = _whole(file, arrays, "indices"), arrays.get("values")
        if values is not None and values.dtype.kind not in "buif":
            raise ValueError(f"{file}: values must be numbers, not {values.dtype} {values.shape}")
        d = int(_whole(file, arrays, "num_features", ndim=0))
    n = len(indptr) - 1
    labels = arrays["labels"]
    if labels.shape != (n,) or labels.dtype.kind not in "iub":
        raise ValueError(f"{file}: labels must be {n} whole numbers, not {labels.dtype} {labels.shape}")
    class_names = tuple(str(text) for text in np.atleast_1d(arrays.get("class_names", ())))
    if "num_classes" in arrays:
        classes = int(_whole(file, arrays, "num_classes", ndim=0))
    else:
        classes = len(class_names) or int(labels.max(initial=-1)) + 1
    span = np.asarray(arrays.get("feature_range", (0.0, 1.0)))
    if span.shape != (2,) or span.dtype.kind not in "iuf" or not np.isfinite(span).all() or not span[0] < span[1]:
        raise ValueError(f"{file}: feature_range must be two finite numbers, the smaller one first")
    population = build_population(
        name, n=n, d=d, edges=edges_of(file, arrays["edge_index"]), feature_indptr=indptr, feature_indices=indices,
        feature_values=values, labels=labels, classes=classes, feature_range=(float(span[0]), float(span[1])),
        class_names=class_names,
    )  # fmt: skip
    given = [part for part in PARTS if part in arrays]
    if not given:
        return population
    _require(file, arrays, *PARTS)
    return split_of(file, population, {part: arrays[part] for part in PARTS})


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


def _check_headers(path: Path) -> tuple[str, ...]:
    """Check that each array's header describes the bytes that are there, before memory is taken for it.

    Returns:
        Names of the arrays of Python objects.

    Raises:
        ValueError: for another header, or more than :data:`LARGEST_BYTES` in all.
    """
    objects = []
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        whole = sum(member.file_size for member in members)
        if whole > LARGEST_BYTES:
            raise ValueError(f"its arrays have more than {LARGEST_BYTES >> 30} GiB")
        for member in members:
            with archive.open(member) as file:
                version = np.lib.format.read_magic(file)
                if version not in ((1, 0), (2, 0)):
                    raise ValueError(f"{member.filename} is no plain array")
                wide = version == (2, 0)
                header = np.lib.format.read_array_header_2_0 if wide else np.lib.format.read_array_header_1_0
                shape, _, dtype = header(file)
                if dtype.hasobject:
                    objects.append(member.filename.removesuffix(".npy"))
                # Texts of no letters, and rows of no columns, take no bytes: a header could promise any number of them.
                elif (
                    not dtype.itemsize
                    or max(shape, default=0) > whole
                    or (file.tell() + math.prod(shape) * dtype.itemsize != member.file_size)
                ):
                    raise ValueError(f"{member.filename} does not hold what its header says")
    return tuple(objects)


def _require(file: str, arrays: Mapping[str, NDArray[Any]], *names: str) -> None:
    for name in names:
        if name not in arrays:
            found = ", ".join(sorted(arrays)) or "nothing"
            raise ValueError(f"{file}: the array {name} is missing; found {found}")


def _whole(file: str, arrays: Mapping[str, NDArray[Any]], name: str, ndim: int = 1) -> NDArray[Any]:
    array = arrays[name]
    if array.ndim != ndim or array.dtype.kind not in "iu":
        what = "a list of whole numbers" if ndim else "one whole number"
        raise ValueError(f"{file}: {name} must be {what}, not {array.dtype} {array.shape}")
    return array


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
        given = np.asarray(parts[part])
        if given.dtype == bool:
            if given.shape != (n,):
                raise ValueError(f"{name}: the {part} mask has shape {given.shape}, there are {n} nodes")
            given = np.flatnonzero(given)
        if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given):
            raise ValueError(f"{name}: {part} must be a mask or a list of node numbers that is not empty")
        nodes = np.unique(given).astype(np.int64)
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
