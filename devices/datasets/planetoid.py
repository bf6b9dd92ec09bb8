"""Cora, CiteSeer and PubMed in the Planetoid files (Yang, Cohen and Salakhudinov, 2016): pickles of arrays.

Pickles of numpy arrays, scipy's CSR matrices and dicts of lists, read without running anything that they name.

A pickle names functions, and Python's reader calls them. Here every admitted name stands for a class of this module
that only keeps what the file says; arrays are then made from the bytes, and checked. Another name is refused.
"""

from __future__ import annotations

import io
import pickle
import re
from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.datasets.npz_file import split_of

PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
_VALIDATION = 500  # nodes of the published split


def read_planetoid(classes: int, feature_range: tuple[float, float], name: str, *paths: Path) -> Population:
    """Read the files of :data:`PARTS`, in this order."""
    from scipy.sparse import csr_array, vstack

    file = dict(zip(PARTS, paths, strict=True))
    allx, tx, y, ally, ty = (_table(file[part]) for part in ("allx", "tx", "y", "ally", "ty"))
    tested = np.loadtxt(file["test.index"], dtype=np.int64, ndmin=1)
    first, many = ally.shape[0], ally.shape[0] + len(tested)
    fits = allx.shape[0] == first and tx.shape == (len(tested), allx.shape[1])
    fits = fits and ally.shape == (first, classes) and ty.shape == (len(tested), classes)
    if not fits or len(np.unique(tested)) < len(tested) or np.any((tested < first) | (tested >= 2 * many)):
        raise ValueError(f"{name}: the files ind.{name}.* do not belong together")
    # Row i of tx is node tested[i]. Some nodes of CiteSeer are in no file: they have no feature, and class 0.
    nodes = np.concatenate([np.arange(first), tested])
    n = max(first, int(nodes.max(initial=-1)) + 1)
    x = vstack([allx, tx]).tocoo()
    features = csr_array((x.data, (nodes[x.row], x.col)), shape=(n, allx.shape[1]))
    labels = np.zeros(n, np.int64)
    labels[nodes] = vstack([ally, ty]).toarray().argmax(axis=1)
    population = build_population(
        name, n=n, d=features.shape[1], edges=_edges(file["graph"]), feature_indptr=features.indptr,
        feature_indices=features.indices, feature_values=features.data, labels=labels, classes=classes,
        feature_range=feature_range,
    )  # fmt: skip
    train = np.arange(y.shape[0])
    return split_of(name, population, {"train": train, "val": len(train) + np.arange(_VALIDATION), "test": tested})


def _table(file: Path) -> Any:
    """Return the CSR array that a pickle holds, dense or sparse."""
    from scipy.sparse import csr_array

    table = load_plain_pickle(file)
    if getattr(table, "ndim", 0) != 2:
        raise ValueError(f"{file.name} is no table of numbers")
    return csr_array(table)


def _edges(file: Path) -> NDArray[np.int64]:
    """Return the edges (2, m) of a dict of lists."""
    lists = load_plain_pickle(file)
    try:
        sizes = [len(ends) for ends in lists.values()]
        if sum(sizes) > file.stat().st_size:  # one long list, named by many nodes: an honest edge takes two bytes
            raise ValueError
        left = np.repeat(np.array(list(lists), np.int64), sizes)
        return np.stack([left, np.fromiter(chain.from_iterable(lists.values()), np.int64)])
    except (AttributeError, TypeError, ValueError, OverflowError):
        raise ValueError(f"{file.name} is no dict of lists of node numbers") from None


_NUMBERS = re.compile(r"[biuf][1248]")


class _Type:
    """A ``numpy.dtype``."""

    def __init__(self, code: str, *_: object) -> None:
        self.code, self.order = code, "|"

    def __setstate__(self, state: Any) -> None:
        self.order = state[1]

    def made(self) -> np.dtype[Any]:
        if not _NUMBERS.fullmatch(self.code) or self.order not in ("<", ">", "|"):
            raise ValueError("an array of something else than numbers")
        return np.dtype(self.order + self.code)


class _Array:
    """A ``numpy.ndarray``."""

    def __init__(self, *_: object) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def made(self) -> NDArray[Any]:
        _, shape, kind, by_columns, data = self.state
        content = data.encode("latin1") if isinstance(data, str) else data
        return np.frombuffer(content, kind.made()).reshape(shape, order="F" if by_columns else "C")


class _Matrix:
    """A ``scipy.sparse.csr_matrix``; its state becomes its attributes."""

    def made(self) -> Any:
        from scipy.sparse import csr_array

        state = vars(self)
        data, indices, indptr = (state[part].made() for part in ("data", "indices", "indptr"))
        matrix = csr_array((data, indices, indptr), shape=state["_shape"])
        matrix.check_format(full_check=True)
        return matrix


def _bytes_of(text: str, _encoding: str) -> bytes:
    """Return bytes as Python 3 writes them into an old pickle (``_codecs.encode``)."""
    return text.encode("latin1")


_ADMITTED: dict[str, Any] = {
    "numpy dtype": _Type, "numpy ndarray": _Array, "numpy.core.multiarray _reconstruct": _Array,
    "numpy._core.multiarray _reconstruct": _Array, "scipy.sparse.csr csr_matrix": _Matrix,
    "scipy.sparse._csr csr_matrix": _Matrix, "_codecs encode": _bytes_of, "collections defaultdict": defaultdict,
    "__builtin__ list": list, "builtins list": list,
}  # fmt: skip


class _Reader(pickle._Unpickler):  # the one in C takes gigabytes where a file numbers an object 2^31
    def find_class(self, module: str, name: str) -> Any:
        found = _ADMITTED.get(f"{module} {name}")
        if found is None:
            raise ValueError(f"it names {module}.{name}, which is no array of numbers")
        return found


def load_plain_pickle(path: Path) -> Any:
    """Return what a pickle holds: an array, a CSR array, or a dict.

    Raises:
        ValueError: one line: it holds or names anything else.
    """
    try:
        found = _Reader(io.BytesIO(path.read_bytes()), encoding="latin1").load()
        if isinstance(found, dict):
            return found
        return found.made()
    except Exception as error:  # a hostile file ends in any of them
        raise ValueError(f"{path.name} is no pickle of arrays: {' '.join(str(error).split())}") from None
