"""Inputs of a device's local steps, and the network that the steps train
(:mod:`ldpsim.devices.federated.batched_steps`).

A device holds a few input rows g_r (its scaled features; for ``sums`` the rows of S X of
itself and its neighbours), sums what comes out of them with weights c_r, and adds what
neighbours sent, which stays constant:

    z_r = g_r W1 + k1 + b1,   p = sum_r c_r relu(z_r) + k2,   scores = p W2 + b2.

The loss is the cross-entropy of the device's own label, plus FedProx's
(mu / 2) |w - w0|^2 where mu > 0 (Li et al. 2020); the steps are plain gradient descent.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.data.population import Record
from ldpsim.devices.training_task import Task


@dataclass(frozen=True, eq=False)
class Inputs:
    """Data that one device trains on.

    Args:
        indptr, columns, values: CSR rows of the inputs; a column stands once in a row.
        weights: float (rows,): c_r.
        first: float (hidden,): k1, 0 where neighbours sent nothing.
        second: float (hidden,): k2.
        label: Class, 0 .. classes - 1.
        variate: The device's control variate (:mod:`ldpsim.devices.federated.control_variate`); None: it has none.
    """

    indptr: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: FloatArray = field(repr=False)
    weights: FloatArray
    first: FloatArray = field(repr=False)
    second: FloatArray = field(repr=False)
    label: int
    variate: FloatArray | None = field(default=None, repr=False)


def scaled_record(record: Record, task: Task, dtype: np.dtype) -> tuple[NDArray[np.int64], FloatArray]:
    """Return a record's columns and scaled values; a column outside 0 .. d - 1 is left out."""
    columns = record.feature_indices.astype(np.int64)
    values = record.feature_values.astype(dtype)
    if len(columns) and not (columns[0] >= 0 and columns[-1] < task.d):
        inside = (columns >= 0) & (columns < task.d)
        columns, values = columns[inside], values[inside]
    return columns, values if task.scaling == "none" else values / dtype.type(size_of(values, task.scaling))


def size_of(values: FloatArray, scaling: str) -> float:
    """Return what a scaling divides a record's features by; 1 where there is nothing to divide."""
    if scaling == "none":
        return 1.0
    return float(np.abs(values).sum() if scaling == "row" else np.sqrt((values * values).sum())) or 1.0


def class_of(record: Record, task: Task) -> int:
    """Return the label, or the first class for a label outside the classes."""
    return record.label if 0 <= record.label < task.classes else 0
