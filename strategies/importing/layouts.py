"""Layouts of arrays that other collections publish, made the schema of :mod:`ldpsim.devices.datasets.npz_file`.

Known are: PyG's names (``x``, ``edge_index``, ``y``), DGL's (``feat``, ``label``, ``src`` and
``dst``, all with or without ``ndata`` in front), CSR parts with ``adj_`` and ``attr_`` in front (Shchur
et al., 2018; Bojchevski and Günnemann, 2018), and ``node_features``, ``node_labels``, ``edges``
(Platonov et al., 2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ldpsim.devices.array_types import checked_numbers
from ldpsim.devices.datasets.npz_file import check_csr, csr_of, csr_part, edges_of
from ldpsim.devices.facts import LARGEST_SIZE
from ldpsim.strategies.importing.labels import numbered
from ldpsim.strategies.importing.parts import PARTS, FoundGraph

NAMES = {
    "x": ("x", "feat", "feats", "features", "attr", "attr_matrix", "node_features", "node_feat"),
    "labels": ("labels", "label", "y", "node_labels", "node_label"),
    "class_names": ("class_names", "label_names"),
    "train": ("train", "train_mask", "train_masks", "train_idx", "idx_train"),
    "val": ("val", "val_mask", "val_masks", "valid_mask", "valid", "val_idx", "valid_idx", "idx_val"),
    "test": ("test", "test_mask", "test_masks", "test_idx", "idx_test"),
}
_CSR = ("data", "indices", "indptr", "shape")
_KNOWN = {
    *(name for names in NAMES.values() for name in names),
    *(f"{front}_{part}" for front in ("adj", "attr") for part in _CSR),
    "edge_index", "edges", "edges.0", "edges.1", "src", "dst", "indptr", "indices", "values", "num_features",
    "feature_range", "num_classes", "num_nodes",
}  # fmt: skip


def of_layout(
    file: str, given: Mapping[str, Any], *, label: str | None = None, ignore: tuple[str, ...] = (),
    class_names: tuple[str, ...] = (),
) -> FoundGraph:  # fmt: skip
    """Return the graph of named arrays.

    Args:
        file: Name of the file.
        given: Its arrays by name; a dict inside a dict has its names with a dot between.
        label: Array of the labels, where its name is another one.
        ignore: Arrays to leave out.
        class_names: Public names of the classes; empty: those of the file, if any.

    Raises:
        ValueError: one line: arrays that are missing or have the wrong shape.
    """
    for option, name in [("--label", label), *(("--ignore", name) for name in ignore)]:
        if name is not None and name not in given:
            raise ValueError(f"{option} {name}: no such array; {file} has {', '.join(given) or 'none'}")
    left = {_bare(name): array for name, array in given.items() if name not in (*ignore, label)}
    found = {ours: left[name] for ours, names in NAMES.items() if (name := _first(names, left))}
    if label is not None:
        found["labels"] = given[label]
    kind = {ours: _first(names, left) for ours, names in NAMES.items()}
    edges = edges_of(file, _edges(file, left))
    starts, columns, values, width = _features(file, left, found)
    n = len(starts) - 1 if starts is not None else _people(left, found, edges)
    if starts is None:
        starts, columns, values = np.zeros(n + 1, np.int64), np.zeros(0, np.int64), np.zeros(0)
    arrays = {"edge_index": edges, "indptr": starts, "indices": columns, "values": values, "num_features": width}
    arrays |= {name: left[name] for name in ("feature_range", "num_classes") if name in left}
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    named = tuple(str(name) for name in np.atleast_1d(found.get("class_names", ())))
    arrays["labels"], named = _labels(file, found.get("labels"), n, class_names or named)
    if named:
        arrays["class_names"] = np.array(named)
        arrays.pop("num_classes", None)
    unread = [name for name in left if name not in _KNOWN]
    notes = [f"{file}: not read: {', '.join(unread)}"] if unread else []
    for part in PARTS:
        if part in found:
            array = np.asarray(found[part])
            if array.ndim == 2:
                notes.append(f"{file}: {kind[part]} has {min(array.shape)} splits; the first is read")
                array = array[0] if array.shape[1] == n else array[:, 0]
            arrays[part] = array.astype(bool) if "mask" in str(kind[part]) else array
    stated = bool(class_names) or "class_names" in found or "num_classes" in left
    return FoundGraph(file, arrays, classes_stated=stated, notes=tuple(notes))


def _bare(name: str) -> str:
    """Return a name without ``ndata`` in front."""
    for front in ("ndata.", "ndata/", "ndata_"):
        name = name.removeprefix(front)
    return name


def _first(names: tuple[str, ...], found: Mapping[str, Any]) -> str | None:
    return next((name for name in names if name in found), None)


def _edges(file: str, found: Mapping[str, Any]) -> Any:
    """Return the edges, whole numbers (2, m)."""
    if "edge_index" in found:
        return np.asarray(found["edge_index"])
    if {"src", "dst"} <= set(found):
        return np.stack([np.asarray(found["src"]), np.asarray(found["dst"])])
    if {"edges.0", "edges.1"} <= set(found):
        return np.stack([np.asarray(found["edges.0"]), np.asarray(found["edges.1"])])
    if "edges" in found:
        edges = np.asarray(found["edges"])
        if edges.shape == (2, 2):
            raise ValueError(f"{file}: edges of shape (2, 2) has two readings; name it edge_index if it is (2, m)")
        return edges.T if edges.ndim == 2 and edges.shape[1] == 2 else edges
    if "adj_indptr" in found:
        rows, columns = csr_part(file, "adj", found).nonzero()  # a stored 0 is no edge
        return np.stack([rows, columns]).astype(np.int64)
    names = ", ".join(found) or "nothing"
    raise ValueError(f"{file}: the edges are missing: edge_index, edges, src and dst, or adj_indptr; found {names}")


def _features(file: str, left: Mapping[str, Any], found: Mapping[str, Any]) -> tuple[Any, Any, Any, int]:
    """Return row starts, columns, values and width; None, where there are no features."""
    if "attr_indptr" in left:
        made = csr_part(file, "attr", left)
        return made.indptr, made.indices, made.data, made.shape[1]
    if "indptr" in left and "indices" in left and "num_features" in left:
        starts, columns, width = (np.asarray(left[name]) for name in ("indptr", "indices", "num_features"))
        values = np.asarray(left.get("values", np.ones(columns.shape)))
        try:
            d = int(checked_numbers("num_features", width, LARGEST_SIZE + 1, shape=()))
            check_csr(starts, columns, values, starts.size - 1, d)
        except ValueError as error:
            raise ValueError(f"{file}: indptr, indices, values and num_features do not fit: {error}") from None
        return starts, columns, values, d
    if "x" not in found:
        return None, None, None, 0
    x = np.asarray(found["x"])
    return *csr_of(file, x), x.shape[1]


def _people(left: Mapping[str, Any], found: Mapping[str, Any], edges: Any) -> int:
    """Return the number of people where there are no features: stated, or that of labels, or the largest number + 1."""
    if "num_nodes" in left:
        return int(checked_numbers("num_nodes", np.asarray(left["num_nodes"]), LARGEST_SIZE + 1, shape=()))
    if "labels" in found:
        return int(np.shape(np.atleast_1d(found["labels"]))[0])
    return int(left["adj_shape"][0]) if "adj_shape" in left else int(edges.max(initial=-1)) + 1


def _labels(file: str, given: Any, n: int, names: tuple[str, ...]) -> tuple[Any, tuple[str, ...]]:
    """Return the classes (n,), -1 for none, and their names; whole numbers stay as they are."""
    if given is None:
        return np.full(n, -1, np.int64), names
    labels = np.asarray(given)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim == 2 and labels.dtype.kind in "buif" and np.isin(labels, (0, 1)).all():
        if (labels.sum(axis=1) <= 1).all():  # one-hot
            labels = np.where(labels.any(axis=1), labels.argmax(axis=1), -1)
    if labels.ndim == 1 and labels.dtype.kind == "f" and (np.isnan(labels) | (labels == labels.round())).all():
        labels = np.where(np.isnan(labels), -1, labels).astype(np.int64)
    if labels.ndim == 1 and labels.dtype.kind in "US":
        texts = [text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in labels.tolist()]
        return numbered(texts, names, lambda row: f"{file}: row {row}, labels")
    return labels, names
