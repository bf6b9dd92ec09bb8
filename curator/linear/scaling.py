"""Scaling of feature columns and rows before training.

Rows of length 1 from features: tf-idf rows of text, rows of standardised columns of everything else.

Text means: no negative entry, and at most half of the entries differ from 0 (words of a document,
items that a person liked). Then row i is x_ij ln((1 + n) / (1 + n_j)) over its length, where n_j is
the number of people with feature j: rare words weigh more. No weight is negative. A word that everybody
has weighs 0, as it distinguishes nobody.

For other features (coordinates, counts that nearly everybody has, noisy reports) the number of people
with a feature has no meaning. Their columns get mean 0 and standard deviation 1, so that no column's
unit counts, and then the rows get length 1. Sparse features with negative entries are only
divided by the root of their columns' mean square: they stay sparse, and a zero stays a zero.

Features are read of all people, labels of nobody.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

from ldpsim.curator.linear.strips import strips

PUBLIC_SCALINGS = ("row-normalised", "standardised", "literal")
_ROWS_AT_ONCE = 1 << 16
_MOST_OF_TEXT = 0.5  # share of entries that differ from 0


def standardise(
    columns: NDArray[np.float32], counted: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Bring every column to mean 0 and standard deviation 1, in place; a constant column to 0.

    Args:
        columns: float32 (n, k).
        counted: bool (n,): the rows that define mean and deviation; the others become 0, the mean.

    Returns:
        float32 (k,) and (k,), centre and scale: x * scale + centre restores the columns.
    """
    counted_rows = columns if counted is None or counted.all() else columns[counted]
    if not len(counted_rows):
        columns[:] = 0
        zeros = np.zeros(columns.shape[1], np.float32)
        return zeros, zeros
    mean = counted_rows.mean(axis=0, dtype=np.float64)
    deviation = np.sqrt(np.maximum(np.square(counted_rows - mean.astype(np.float32)).mean(axis=0, dtype=np.float64), 0))
    # a constant column varies by float32 rounding only
    scale = np.where(deviation > 1e-6 * np.maximum(np.abs(mean), 1e-30), 1 / np.maximum(deviation, 1e-300), 0)
    columns -= mean.astype(np.float32)
    columns *= scale.astype(np.float32)
    if counted_rows is not columns:
        columns[~counted] = 0  # type: ignore[operator]
    return mean.astype(np.float32), deviation.astype(np.float32)


def scale_public(features: Any, how: str) -> Any:
    """Scale public features: ``row-normalised`` (sums of 1), ``standardised`` (dense) or ``literal``.

    Args:
        features: scipy CSR or numpy (n, d).
        how: One of :data:`PUBLIC_SCALINGS`.
    """
    if how == "row-normalised":
        matrix = csr_array(features, dtype=np.float32, copy=True)
        sums = np.asarray(abs(matrix).sum(axis=1, dtype=np.float64)).ravel()
        factors = np.divide(1, sums, out=np.zeros_like(sums), where=sums > 0)
        matrix.data *= np.repeat(factors, np.diff(matrix.indptr)).astype(np.float32)
        return matrix
    if how == "standardised":
        dense = (features.toarray() if issparse(features) else np.array(features)).astype(np.float32, copy=False)
        for columns in strips(*dense.shape):
            standardise(dense[:, columns])
        return dense
    return features


def weighted_rows(features: Any) -> Any:
    """Return rows of length 1: :func:`tfidf_rows` of text, else :func:`standardised_rows`; a row of zeros stays."""
    return tfidf_rows(features) if is_text(features) else standardised_rows(features)


def is_text(features: Any) -> bool:
    """Return whether no entry is negative, and at most half of them differ from 0."""
    values = features.data if issparse(features) else features
    lowest = values.min(initial=0)
    return bool(lowest >= 0 and np.count_nonzero(values) <= _MOST_OF_TEXT * np.prod(features.shape))


def tfidf_rows(features: Any) -> csr_array:
    """float32 CSR (n, d): rows x_ij ln((1 + n) / (1 + n_j)) of length 1.

    >>> tfidf_rows(np.array([[1.0, 1.0], [1.0, 0.0]])).toarray()  # everybody has the first word
    array([[0., 1.],
           [0., 0.]], dtype=float32)
    """
    words = csr_array(features, dtype=np.float32, copy=True)
    words.eliminate_zeros()
    n = words.shape[0]
    people = np.bincount(words.indices, minlength=words.shape[1])
    return _unit_rows(csr_array(words @ diags_array(np.log((1 + n) / (1 + people)))))


def standardised_rows(features: Any) -> Any:
    """float32 (n, d), dense: rows of length 1 of standardised columns; sparse features with negative entries stay CSR.

    Args:
        features: (n, d), numpy or CSR.
    """
    if issparse(features) and features.nnz <= _MOST_OF_TEXT * np.prod(features.shape):
        squares = np.asarray(features.power(2).mean(axis=0)).ravel()
        factors = np.divide(1, np.sqrt(squares), out=np.zeros_like(squares), where=squares > 0)
        return _unit_rows(csr_array(features @ diags_array(factors)))
    dense: NDArray[np.float32] = scale_public(features, "standardised")
    for start in range(0, len(dense), _ROWS_AT_ONCE):
        block = dense[start : start + _ROWS_AT_ONCE]
        lengths = np.linalg.norm(block, axis=1, keepdims=True)
        np.divide(block, lengths, out=block, where=lengths > 0)
    return dense


def _unit_rows(rows: csr_array) -> csr_array:
    lengths = np.sqrt(np.asarray(rows.power(2).sum(axis=1)).ravel())
    factors = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return csr_array(diags_array(factors) @ rows).astype(np.float32)
