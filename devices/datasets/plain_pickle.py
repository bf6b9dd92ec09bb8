"""Pickles of numpy arrays, scipy's CSR matrices and dicts of lists, read without running anything that they name.

A pickle names functions, and Python's reader calls them. Here every admitted name stands for a class of this module
that only keeps what the file says; arrays are then made from the bytes, and checked. Another name is refused.
"""

from __future__ import annotations

import io
import pickle
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
