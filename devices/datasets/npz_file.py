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

from ldpsim.devices.array_types import check_rows, checked_numbers
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.facts import LARGEST_SIZE, Split

LARGEST_BYTES = 1 << 35
_PARTS = ("train", "val", "test")
_CSR_PARTS = ("indices", "indptr", "shape")


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
    return population_of(name, path.name, arrays)


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
    given = [part for part in _PARTS if part in arrays]
    if not given:
        return population
    _require(file, arrays, *_PARTS)
    return split_of(file, population, {part: arrays[part] for part in _PARTS})


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
        arrays |= {part: getattr(split, part) for part in _PARTS}
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
            raise ValueError(f"{file}: the array {name} is missing; found {found} (ldpsim import reads other layouts)")


def _whole(file: str, arrays: Mapping[str, NDArray[Any]], name: str, ndim: int = 1) -> NDArray[Any]:
    array = arrays[name]
    if array.ndim != ndim or array.dtype.kind not in "iu":
        what = "a list of whole numbers" if ndim else "one whole number"
        raise ValueError(f"{file}: {name} must be {what}, not {array.dtype} {array.shape}")
    return array


def csr_of(name: str, x: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Return row starts, columns and values of the non-zero entries of a dense (n, d) array.

    NaN counts as non-zero, so that it reaches the check that names its row and column.

    Raises:
        ValueError: where ``x`` is no table of numbers.
    """
    if x.ndim != 2 or x.dtype.kind not in "buif":
        raise ValueError(f"{name}: x must be a table of numbers (n, d), not {x.dtype} {x.shape}")
    rows, columns = np.nonzero(x)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(x)))])
    return indptr, columns, x[rows, columns]


def edges_of(name: str, edges: NDArray[Any]) -> NDArray[np.int64]:
    """Check that an edge list is whole numbers (2, m) and return it as int64."""
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(f"{name}: edge_index must be whole numbers of shape (2, m), not {edges.dtype} {edges.shape}")
    return edges.astype(np.int64)


def split_of(name: str, population: Population, parts: dict[str, NDArray[Any]]) -> Population:
    """Attach a data set's own split: ``parts`` has train, val and test, as masks or node ids.

    Raises:
        ValueError: where a mask has the wrong length, a node does not exist, is in two
            parts or has no label, or a part is empty.
    """
    n = len(population)
    seen = np.full(n, "", dtype="<U5")
    ids = {}
    for part in _PARTS:
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


def csr_part(file: str, front: str, found: Mapping[str, Any]) -> Any:
    """Return the CSR matrix whose parts have a word in front; a missing ``data`` is all ones."""
    from scipy.sparse import csr_array

    missing = [f"{front}_{part}" for part in _CSR_PARTS if f"{front}_{part}" not in found]
    if missing:
        raise ValueError(f"{file}: the array {missing[0]} is missing; found {', '.join(found)}")
    indices, indptr, shape = (np.asarray(found[f"{front}_{part}"]) for part in _CSR_PARTS)
    data = np.asarray(found.get(f"{front}_data", np.ones(indices.shape)))
    try:
        rows, columns = checked_numbers("shape", shape, LARGEST_SIZE + 1, shape=(2,)).tolist()
        check_csr(indptr, indices, data, rows, columns)
    except ValueError as error:
        raise ValueError(f"{file}: {front}_indptr, {front}_indices and {front}_data do not fit: {error}") from None
    return csr_array((data, indices, indptr), shape=(rows, columns))


def check_csr(indptr: Any, indices: Any, values: Any, rows: int, columns: int) -> None:
    """Check the parts of features; a value that is not finite is left to the check that names its row and column."""
    check_rows("rows", (rows, columns), indptr, indices)
    if values.shape != indices.shape or values.dtype.kind not in "buif":
        raise ValueError(f"values of the type {values.dtype} and the shape {values.shape} for {len(indices)} entries")
