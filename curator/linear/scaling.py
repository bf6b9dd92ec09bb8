"""Scaling of feature columns and rows before training."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ldpsim.curator.linear.strips import strips

PUBLIC_SCALINGS = ("row-normalised", "standardised", "literal")


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
    chosen = columns if counted is None or counted.all() else columns[counted]
    if not len(chosen):
        columns[:] = 0
        nothing = np.zeros(columns.shape[1], np.float32)
        return nothing, nothing
    mean = chosen.mean(axis=0, dtype=np.float64)
    deviation = np.sqrt(np.maximum(np.square(chosen - mean.astype(np.float32)).mean(axis=0, dtype=np.float64), 0))
    # a constant column varies by float32 rounding only
    scale = np.where(deviation > 1e-6 * np.maximum(np.abs(mean), 1e-30), 1 / np.maximum(deviation, 1e-300), 0)
    columns -= mean.astype(np.float32)
    columns *= scale.astype(np.float32)
    if chosen is not columns:
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
