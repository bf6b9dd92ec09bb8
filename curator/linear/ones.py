"""Sparse matrices of zeros and ones, as reports of neighbour lists are kept."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array


def numbers(ones: csr_array) -> csr_array:
    """Return a bool matrix as int8, whose entries can be added; places and values are shared, not copied.

    >>> numbers(csr_array(np.eye(2, dtype=bool))).toarray()
    array([[1, 0],
           [0, 1]], dtype=int8)
    """
    data = ones.data.view(np.int8) if ones.dtype == np.bool_ else ones.data.astype(np.int8)
    return csr_array((data, ones.indices, ones.indptr), shape=ones.shape)
