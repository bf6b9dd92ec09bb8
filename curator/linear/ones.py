"""Sparse matrices of zeros and ones, as reports of neighbour lists are kept."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

_AT_ONCE = 1 << 26  # ones of a part of a transpose: 320 MiB


def as_numbers(ones: csr_array) -> csr_array:
    """Return a bool matrix as int8, whose entries can be added; places and values are shared, not copied.

    >>> as_numbers(csr_array(np.eye(2, dtype=bool))).toarray()
    array([[1, 0],
           [0, 1]], dtype=int8)
    """
    data = ones.data.view(np.int8) if ones.dtype == np.bool_ else ones.data.astype(np.int8)
    return csr_array((data, ones.indices, ones.indptr), shape=ones.shape)


def transposed_parts(ones: csr_array, step: int) -> Iterator[tuple[int, csr_array]]:
    """Yield (first row, CSR): the transpose in parts that follow one another, so that it is never in memory as a whole.

    Args:
        ones: CSR (n, n) of numbers.
        step: Every part but the last has a multiple of ``step`` rows.

    >>> [(first, part.toarray().tolist()) for first, part in transposed_parts(csr_array([[0, 1], [0, 0]]), step=1)]
    [(0, [[0, 0], [1, 0]])]
    """
    n = ones.shape[0]
    parts = -(-ones.nnz // _AT_ONCE)
    if parts <= 1:
        yield 0, csr_array(ones.T)
        return
    width = -(-n // (parts * step)) * step
    for first in range(0, n, width):
        yield first, csr_array(ones[:, first : first + width].T)
