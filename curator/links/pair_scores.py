"""Public scores of pairs of people by their features, as columns for the prior of an edge.

Public features give the cosine s of weighted rows (tf-idf for text) and ln(s + .02): among unlike people a little
likeness means much. Reported bits give the cosine of their debiased rows. With q the flip probability, d bits and
o_i ones of person i, c_ij of them common,

    sum_k (b_ik - q) (b_jk - q) = c_ij - q (o_i + o_j) + d q^2,   length_i^2 = o_i - d q,

over the product of the lengths. The length of a row that is too short to be told from noise is that of a third of
the median row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ldpsim.curator.links.similarity import BitRows, RealRows
from ldpsim.curator.reports.feature_bits import FlippedFeatures
from ldpsim.devices.array_types import IntArray

Scores = Callable[[IntArray, IntArray], NDArray[np.float64]]  # left, right, int64 (k,) -> float64 (k, scores)
_OFFSET = 0.02
_ROWS_AT_ONCE = 1 << 14
_SHORTEST = 0.3  # of the median squared length


def public_scores(rows: Any) -> Scores:
    """Return the scores of rows of length 1, (n, d), CSR or numpy."""
    positive = issparse(rows) and rows.min() >= 0
    cosine = RealRows(csr_array(rows).astype(np.float64)).cosine if positive else partial(_products, rows)

    def scores(left: IntArray, right: IntArray) -> NDArray[np.float64]:
        cosines = cosine(left, right)
        return np.stack([cosines, np.log(np.maximum(cosines, 0) + _OFFSET)], axis=1)

    return scores


def reported_scores(bits: FlippedFeatures) -> Scores:
    """Return the scores of reported bits; a pair with a person who did not answer has the score 0."""
    rows, count, flip, answered = BitRows(bits.packed), bits.count, bits.flip, bits.answered
    squares = rows.ones - count * flip
    middle = float(np.median(squares[answered])) if answered.any() else 1.0
    lengths = np.sqrt(np.maximum(squares, max(_SHORTEST * middle, 1.0)))

    def scores(left: IntArray, right: IntArray) -> NDArray[np.float64]:
        product = rows.common(left, right) - flip * (rows.ones[left] + rows.ones[right]) + count * flip**2
        cosines = product / (lengths[left] * lengths[right])
        cosines[~(answered[left] & answered[right])] = 0
        return np.asarray(cosines[:, None], np.float64)

    return scores


def _products(rows: Any, left: IntArray, right: IntArray) -> NDArray[np.float64]:
    """float64 (k,): products of rows of length 1 with entries of both signs."""
    products = np.empty(len(left))
    for start in range(0, len(left), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        first, second = rows[left[part]], rows[right[part]]
        if issparse(first):
            products[part] = np.asarray(first.multiply(second).sum(axis=1)).ravel()
        else:
            products[part] = np.einsum("ij,ij->i", first, second)
    return products
