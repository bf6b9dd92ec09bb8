"""Digest of arrays, for answers that are kept and used again where the same arrays are given."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy.sparse import issparse


def array_digest(*arrays: Any, start: str = "") -> str:
    """Return the SHA-256, in hex, of a text and of arrays with their types and shapes.

    Args:
        arrays: numpy or CSR; None has a digest of its own.
        start: The text.

    >>> array_digest(np.zeros(2), None) == array_digest(None, np.zeros(2))
    False
    """
    state = hashlib.sha256(start.encode())
    for given in arrays:
        for array in (given.indptr, given.indices, given.data) if issparse(given) else (given,):
            if array is not None:
                whole = np.ascontiguousarray(array)
                state.update(f"{whole.dtype.str}{whole.shape}".encode())
                state.update(whole.data)
            state.update(b"|")
    return state.hexdigest()
