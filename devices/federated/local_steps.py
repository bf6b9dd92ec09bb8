"""One device's local steps, one device at a time: what :mod:`devices.federated.batched_steps` does for many.

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

from devices.array_types import FloatArray
from devices.data.population import Record
from devices.network import Shape, softmax
from devices.training_task import Task


@dataclass(frozen=True, eq=False)
class Inputs:
    """What one device trains on.

    Args:
        indptr, columns, values: CSR rows of the inputs; a column stands once in a row.
        weights: float (rows,): c_r.
        first: float (hidden,): k1, 0 where neighbours sent nothing.
        second: float (hidden,): k2.
        label: Class, 0 .. classes - 1.
    """

    indptr: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: FloatArray = field(repr=False)
    weights: FloatArray
    first: FloatArray = field(repr=False)
    second: FloatArray = field(repr=False)
    label: int


def scaled(record: Record, task: Task, dtype: np.dtype) -> tuple[NDArray[np.int64], FloatArray]:
    """Return a record's columns and scaled values; a column outside 0 .. d - 1 is left out."""
    columns = record.feature_indices.astype(np.int64)
    values = record.feature_values.astype(dtype)
    if len(columns) and not (columns[0] >= 0 and columns[-1] < task.d):
        inside = (columns >= 0) & (columns < task.d)
        columns, values = columns[inside], values[inside]
    if task.scaling != "none" and len(values):
        size = np.abs(values).sum() if task.scaling == "row" else np.sqrt((values * values).sum())
        if size > 0:
            values = values / size
    return columns, values


def class_of(record: Record, task: Task) -> int:
    """The label; one that is outside the classes takes the first."""
    return record.label if 0 <= record.label < task.classes else 0


def hidden(inputs: Inputs, flat: FloatArray, shape: Shape) -> FloatArray:
    """Return the hidden units of every row before the activation, (rows, hidden)."""
    w1, b1, _, _ = shape.parts(flat)
    rows = [
        inputs.values[a:b] @ w1[inputs.columns[a:b]] for a, b in zip(inputs.indptr[:-1], inputs.indptr[1:], strict=True)
    ]
    result: FloatArray = np.stack(rows) + inputs.first + b1
    return result


def scores(inputs: Inputs, flat: FloatArray, shape: Shape) -> FloatArray:
    """Return the scores, (classes,)."""
    _, _, w2, b2 = shape.parts(flat)
    summed = inputs.weights @ np.maximum(hidden(inputs, flat, shape), 0) + inputs.second
    result: FloatArray = summed @ w2 + b2
    return result


def train(inputs: Inputs, flat: FloatArray, task: Task, *, mu: float = 0.0) -> FloatArray:
    """Return the weights after the task's local steps, (size,), of the dtype of ``flat``.

    Args:
        inputs: The device's own.
        flat: Global weights.
        task: Steps, learning rate, sizes.
        mu: Weight of FedProx's term, 0 for none.
    """
    shape, own = task.shape, flat.copy()
    w1, b1, w2, b2 = shape.parts(own)
    for _ in range(task.steps):
        z = hidden(inputs, own, shape)
        p = inputs.weights @ np.maximum(z, 0) + inputs.second
        error = softmax(p @ w2 + b2)
        error[inputs.label] -= 1
        back = inputs.weights[:, None] * (w2 @ error) * (z > 0)
        # The pull is that of the weights before the step.
        pull = mu * (own - flat) if mu else None
        w2 -= task.lr * np.outer(p, error)
        b2 -= task.lr * error
        b1 -= task.lr * back.sum(axis=0)
        for row, (a, b) in enumerate(zip(inputs.indptr[:-1], inputs.indptr[1:], strict=True)):
            w1[inputs.columns[a:b]] -= task.lr * np.outer(inputs.values[a:b], back[row])
        if pull is not None:
            own -= task.lr * pull
    return own.astype(flat.dtype, copy=False)
