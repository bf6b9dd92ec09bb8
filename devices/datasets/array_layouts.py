"""Layouts of arrays that other programs publish, made the schema of :mod:`ldpsim.devices.datasets.npz_file`.

Known are: PyG's names (``x``, ``edge_index`` or a sparse ``adj_t``, ``y``; ``feat`` and ``label`` where a graph was
DGL's), CSR parts with ``adj_`` and ``attr_`` in front (Shchur et al., 2018;
Bojchevski and Günnemann, 2018), and ``node_features``, ``node_labels``, ``edges`` (Platonov et al., 2023). `ldpsim
import`, `ldpsim run --dataset` and ``AskOnce`` read arrays by this one function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import IntArray, check_growth, check_rows, checked_array, checked_numbers
from ldpsim.devices.facts import LARGEST_SIZE

PARTS = ("train", "val", "test")
NO_LABEL = ("", "-1", "nan")  # texts, in small letters
_DIGITS = 1_000  # of a whole number that is a name or a label
_X = ("x", "feat", "feats", "features", "attr", "attr_matrix", "node_features", "node_feat")
_LABELS = ("labels", "label", "y", "node_labels", "node_label")
_CLASS_NAMES = ("class_names", "label_names")
_SPLITS = {
    "train": ("train", "train_mask", "train_masks", "train_idx", "idx_train"),
    "val": ("val", "val_mask", "val_masks", "valid_mask", "valid", "val_idx", "valid_idx", "idx_val"),
    "test": ("test", "test_mask", "test_masks", "test_idx", "idx_test"),
}
_CSR_PARTS = ("indices", "indptr", "shape")
_SPARSE_EDGES = ("adj_t", "adj")
_KNOWN = {
    *_X, *_LABELS, *_CLASS_NAMES, *(name for names in _SPLITS.values() for name in names), *_SPARSE_EDGES,
    *(f"{front}_{part}" for front in ("adj", "attr") for part in ("data", "indices", "indptr", "shape")),
    "edge_index", "edges", "indptr", "indices", "values", "num_features",
    "feature_range", "num_classes", "num_nodes",
}  # fmt: skip


def of_layout(
    file: str, arrays: Mapping[str, Any], *, label: str | None = None, ignore: Sequence[str] = (),
    class_names: Sequence[str] = (),
) -> tuple[dict[str, Any], tuple[str, ...]]:  # fmt: skip
    """Return arrays of the schema, and notes on what was left out.

    Args:
        file: Name of the file.
        arrays: Its arrays by name, scipy's sparse ones among them; a dict inside a dict has a dot in its names.
        label: Array of the labels, where its name is another one.
        ignore: Arrays to leave out.
        class_names: Public names of the classes; empty: those of the file, if any.

    Raises:
        ValueError: one line: arrays that are missing or have the wrong shape.
    """
    for option, name in [("--label", label), *(("--ignore", name) for name in ignore)]:
        if name is not None and name not in arrays:
            raise ValueError(f"{option} {name}: no such array; {file} has {', '.join(arrays) or 'none'}")
    left = _of_scipy(file, {name: array for name, array in arrays.items() if name not in (*ignore, label)})
    own_labels = arrays[label] if label is not None else _first(_LABELS, left)
    edges = edges_of(file, _edges(file, left))
    starts, columns, values, width = _features(file, left)
    n = _people(left, own_labels, edges) if starts is None else len(starts) - 1
    check_growth(f"{file}: {n:,} people", n, sum(map(np.size, arrays.values())))
    if starts is None:
        starts, columns, values = np.zeros(n + 1, np.int64), np.zeros(0, np.int64), np.zeros(0)
    made = {"edge_index": edges, "indptr": starts, "indices": columns, "values": values, "num_features": width}
    made = {name: np.asarray(array) for name, array in made.items()}
    made |= {name: np.asarray(left[name]) for name in ("feature_range", "num_classes") if name in left}
    if "num_classes" in made:
        checked_numbers(f"{file}: num_classes", made["num_classes"], LARGEST_SIZE + 1, shape=())
    names = tuple(class_names) or tuple(str(name) for name in np.atleast_1d(_first(_CLASS_NAMES, left, ())))
    if class_names:
        made.pop("num_classes", None)
    made["labels"], names = _labels(file, own_labels, n, names, made.get("num_classes"), bool(class_names))
    if names:
        made["class_names"] = text_array(f"{file}: class_names", names)
    unread = [name for name in left if name not in _KNOWN]
    notes = [f"{file}: not read: {', '.join(unread)}"] if unread else []
    for part, aliases in _SPLITS.items():
        name = next((name for name in aliases if name in left), None)
        if name is None:
            continue
        array = np.asarray(left[name])
        if array.ndim == 2 and 0 in array.shape:
            raise ValueError(f"{file}: {name} has the shape {array.shape}, no split; --ignore {name} leaves it out")
        if array.ndim == 2:
            notes.append(f"{file}: {name} has {min(array.shape)} splits; the first is read")
            array = array[0] if array.shape[1] == n else array[:, 0]
        made[part] = array.astype(bool) if "mask" in name else array
    return made, tuple(notes)


def classes_stated(arrays: Mapping[str, Any]) -> bool:
    """Return whether a file states its classes, so that they are not counted in the labels."""
    return any(name in ("num_classes", *_CLASS_NAMES) for name in arrays)


def numbered(
    labels: Sequence[Any], stated: Sequence[str] = (), size: int | None = None
) -> tuple[IntArray, tuple[str, ...]]:
    """Return int64 classes (n,), -1 where a person has none, and the names of the classes.

    Empty, -1 and nan are no label; -1 and nan are one where they are stated. Whole numbers 0 to k - 1 stay as they are,
    and have no names unless they are stated. Other labels are numbered in order and keep their text as name.

    Args:
        labels: One a person: text or numbers; None is no label.
        stated: Public list of the classes; empty: the labels themselves make it.
        size: Public number of classes, where only that is stated.

    Raises:
        ValueError: for a label that is not in the stated list; its second argument is the person's place.

    >>> numbered(["b", "None", "", "b"])
    (array([ 1,  0, -1,  1]), ('None', 'b'))
    >>> numbered([1, 2, 3.0])[1], numbered([0, 2, 1])[1]
    (('1', '2', '3'), ())
    >>> numbered(["-1", "1", ""], stated=("-1", "1"))[0]
    array([ 0,  1, -1])
    """
    texts = [_text(label, stated) for label in labels]
    here = dict.fromkeys(text for text in texts if text)
    whole = all(map(is_whole, here))
    if whole and not (stated and here.keys() <= set(stated)):
        most = len(stated) if stated else len(here) if size is None else size
        if all(int(text) < most for text in here) or (size is not None and len(here) != size):
            return np.array([int(text) if text else -1 for text in texts], np.int64), tuple(stated)
    names = tuple(stated) or tuple(sorted(here, key=int if whole else None))
    number = {name: k for k, name in enumerate(names)}
    for place, text in enumerate(texts):
        if text and text not in number:
            raise ValueError(f"{text[:40]!r} is none of the classes {', '.join(names)[:200]}", place)
    return np.array([number[text] if text else -1 for text in texts], np.int64), names


def is_whole(text: str) -> bool:
    """Return whether a text is a whole number as Python writes it, of a length that is read in no time.

    >>> is_whole("7"), is_whole("07"), is_whole("-7"), is_whole("9" * 5000)
    (True, False, False, False)
    """
    return text.isdecimal() and len(text) <= _DIGITS and str(int(text)) == text


def text_array(what: str, texts: Sequence[str]) -> NDArray[np.str_]:
    """Return texts as an array, in which each takes as much room as the longest.

    Raises:
        ValueError: one line, where a long one would fill the memory.
    """
    sizes = [len(text) for text in texts]
    longest = max(sizes, default=0)
    check_growth(f"{what}: {len(sizes):,} texts, the longest has {longest:,} signs", len(sizes) * longest, sum(sizes))
    return np.array(texts, str)


def _text(label: Any, stated: Sequence[str]) -> str:
    """Return a label's text, empty for none; a whole number that was written as ``2.0`` is ``2``.

    A text that is stated as a class is a label, whatever it says.
    """
    text = "" if label is None else str(label).strip()
    if text.endswith(".0") and text[:-2].lstrip("-").isdecimal():
        text = text[:-2]
    return "" if text.lower() in NO_LABEL and text not in stated else text


def _first(names: Sequence[str], arrays: Mapping[str, Any], otherwise: Any = None) -> Any:
    return next((arrays[name] for name in names if name in arrays), otherwise)


def _edges(file: str, arrays: Mapping[str, Any]) -> Any:
    """Return the edges, whole numbers (2, m)."""
    if "edge_index" in arrays:
        return np.asarray(arrays["edge_index"])
    if "edges" in arrays:
        edges = np.asarray(arrays["edges"])
        if edges.shape == (2, 2):
            raise ValueError(f"{file}: edges of shape (2, 2) has two readings; name it edge_index if it is (2, m)")
        return edges.T if edges.ndim == 2 and edges.shape[1] == 2 else edges
    matrix = csr_part(file, "adj", arrays) if "adj_indptr" in arrays else _first(_SPARSE_EDGES, arrays)
    if hasattr(matrix, "nonzero") and len(matrix.shape) == 2:
        return np.stack(matrix.nonzero()).astype(np.int64)  # a stored 0 is no edge
    names = ", ".join(arrays) or "nothing"
    raise ValueError(f"{file}: the edges are missing: edge_index, edges or adj_indptr; found {names}")


def _of_scipy(file: str, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return arrays with one matrix ``adj`` instead of the parts that ``scipy.sparse.save_npz`` writes.

    Raises:
        ValueError: one line: parts that do not fit, a matrix that is not square, or another form than CSR, CSC and COO.
    """
    if not {"format", "shape", "data"} <= set(arrays):
        return dict(arrays)
    stated = np.asarray(arrays["format"])
    if stated.size != 1:
        raise ValueError(f"{file}: format must be one text, such as csr, not an array of the shape {stated.shape}")
    text = stated.item()
    form = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    if form not in ("csr", "csc", "coo"):
        raise ValueError(f"{file}: a scipy matrix of the form {form[:20]!r}; save_npz(file, matrix.tocsr()) writes one")
    names = ("row", "col") if form == "coo" else ("indices", "indptr")
    parts = {f"adj_{name}": arrays[name] for name in (*names, "data", "shape") if name in arrays}
    rest = {name: array for name, array in arrays.items() if name not in (*names, "data", "shape", "format")}
    size = np.asarray(arrays["shape"])
    if size.shape == (2,) and size[0] != size[1]:
        raise ValueError(
            f"{file}: a scipy matrix of {size[0]} rows and {size[1]} columns has no edges; a graph has one of each for "
            "a person, and features stand in a file with both (np.savez: edge_index, x, labels)"
        )
    if form == "coo":
        return {**rest, "adj": _coo(file, parts)}
    matrix = csr_part(file, "adj", parts)
    return {**rest, "adj": matrix if form == "csr" else matrix.T}


def _coo(file: str, parts: Mapping[str, Any]) -> Any:
    """Return the matrix of rows, columns and values."""
    from scipy.sparse import coo_array

    try:
        rows, columns, shape, data = (np.asarray(parts[f"adj_{name}"]) for name in ("row", "col", "shape", "data"))
        n, d = checked_numbers("shape", shape, LARGEST_SIZE + 1, shape=(2,)).tolist()
        rows, columns = checked_numbers("row", rows, n), checked_numbers("col", columns, d, shape=rows.shape)
        return coo_array((checked_array("data", data, "biuf", rows.shape), (rows, columns)), shape=(n, d))
    except (KeyError, ValueError) as error:
        raise ValueError(f"{file}: row, col and data do not fit: {error}") from None


def _features(file: str, arrays: Mapping[str, Any]) -> tuple[Any, Any, Any, int]:
    """Return row starts, columns, values and width; None, where there are no features."""
    x = csr_part(file, "attr", arrays) if "attr_indptr" in arrays else _first(_X, arrays)
    if hasattr(x, "indptr"):
        return x.indptr, x.indices, x.data, x.shape[1]
    if x is None and {"indptr", "indices", "num_features"} <= set(arrays):
        starts, columns, width = (np.asarray(arrays[name]) for name in ("indptr", "indices", "num_features"))
        values = np.asarray(arrays.get("values", np.ones(columns.shape)))
        try:
            d = int(checked_numbers("num_features", width, LARGEST_SIZE + 1, shape=()))
            check_csr(starts, columns, values, starts.size - 1, d)
        except ValueError as error:
            raise ValueError(f"{file}: indptr, indices, values and num_features do not fit: {error}") from None
        return starts, columns, values, d
    if x is None:
        return None, None, None, 0
    dense = np.asarray(x)
    return *csr_of(file, dense), dense.shape[1]


def _people(arrays: Mapping[str, Any], labels: Any, edges: IntArray) -> int:
    """Return the number of people where there are no features: stated, or that of labels, or the largest number + 1."""
    if "num_nodes" in arrays:
        return int(checked_numbers("num_nodes", np.asarray(arrays["num_nodes"]), LARGEST_SIZE + 1, shape=()))
    if labels is not None:
        return int(np.shape(np.atleast_1d(labels))[0])
    shape = arrays["adj_shape"] if "adj_shape" in arrays else getattr(_first(_SPARSE_EDGES, arrays), "shape", None)
    return int(edges.max(initial=-1)) + 1 if shape is None else int(shape[0])


def _labels(
    file: str, array: Any, n: int, names: tuple[str, ...], size: Any, stated: bool
) -> tuple[Any, tuple[str, ...]]:
    """Return the classes (n,), -1 for none, and their names.

    Args:
        file: Name of the file.
        array: Its labels; None: nobody has one.
        n: Number of people.
        names: Names of the classes; empty: none are known.
        size: Number of classes that the file states, or None.
        stated: Whether an option states the names.
    """
    if array is None:
        return np.full(n, -1, np.int64), names
    labels = _one_a_person(np.asarray(array))
    if labels.shape != (n,) or labels.dtype.kind not in "biufUS":
        raise ValueError(f"{file}: labels must be {n} whole numbers or texts, not {labels.dtype} {labels.shape}")
    empty = np.isnan(labels) if labels.dtype.kind == "f" else np.zeros(n, bool)
    if labels.dtype.kind == "f":
        if not (empty | (labels == labels.round())).all():
            raise ValueError(f"{file}: labels must be {n} whole numbers or texts, not fractions")
        labels = np.where(empty, -1, labels)
    if labels.dtype.kind in "biuf":
        labels = labels.astype(np.int64)
        kinds, place = np.unique(labels, return_inverse=True)
        if stated and np.ndim(array) == 2 and np.shape(array)[1] > 1:  # columns are numbers of classes, no names
            stated, size = False, len(names)
        if not (stated and "-1" in names):
            empty |= labels == -1
        if not stated and (
            kinds[:1].tolist() < [-1]  # a label below -1 is told with its person
            or np.array_equal(kinds[kinds >= 0], np.arange(np.sum(kinds >= 0)))
            or (size is not None and kinds[-1] < size)  # a file that states the number of classes has their numbers
        ):
            return labels, names
    else:
        texts = [text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in labels.tolist()]
        kinds, place = np.unique(np.array(texts, str), return_inverse=True)
    try:
        classes, names = numbered(kinds.tolist(), names, None if size is None else int(size))
    except ValueError as error:
        row = int((place == error.args[1]).argmax())
        raise ValueError(f"{file}: row {row}, labels: {error.args[0]}; --class-names states all") from None
    return np.where(empty, -1, classes[place]), names


def _one_a_person(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as a list: those of one column, or the columns that hold a 1, nan where none does."""
    if labels.ndim == 2 and labels.shape[1] == 1:
        return labels[:, 0]
    if labels.ndim == 2 and labels.shape[1] and labels.dtype.kind in "buif" and np.isin(labels, (0, 1)).all():
        if (labels.sum(axis=1) <= 1).all():
            return np.where(labels.any(axis=1), labels.argmax(axis=1), np.nan)
    return labels


def csr_of(name: str, x: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """Return row starts, columns and values of the non-zero entries of a dense (n, d) array.

    NaN counts as non-zero, so that it reaches the check that names its row and column.

    Raises:
        ValueError: where ``x`` is no table of numbers.
    """
    if x.ndim != 2 or x.dtype.kind not in "buif":
        raise ValueError(f"{name}: x must be a table of numbers (n, d), not {x.dtype} {x.shape}")
    check_growth(f"{name}: x of the shape {x.shape}", len(x), x.size)
    rows, columns = np.nonzero(x)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(x)))])
    return indptr, columns, x[rows, columns]


def edges_of(name: str, edges: NDArray[Any]) -> NDArray[np.int64]:
    """Check that an edge list is whole numbers (2, m) and return it as int64."""
    if edges.ndim != 2 or edges.shape[0] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(f"{name}: edge_index must be whole numbers of shape (2, m), not {edges.dtype} {edges.shape}")
    return edges.astype(np.int64)


def csr_part(file: str, front: str, arrays: Mapping[str, Any]) -> Any:
    """Return the CSR matrix whose parts have a word in front; a missing ``data`` is all ones."""
    from scipy.sparse import csr_array

    missing = [f"{front}_{part}" for part in _CSR_PARTS if f"{front}_{part}" not in arrays]
    if missing:
        raise ValueError(f"{file}: the array {missing[0]} is missing; found {', '.join(arrays)}")
    indices, indptr, shape = (np.asarray(arrays[f"{front}_{part}"]) for part in _CSR_PARTS)
    data = np.asarray(arrays.get(f"{front}_data", np.ones(indices.shape)))
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
