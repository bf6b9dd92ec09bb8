"""Ridge regression on one-hot labels, with exact leave-one-out predictions in closed form.

Z are the rows of the T training people, Y their one-hot labels (T, classes), m the mean of Y. With
A = Z Z' + lam I the fit of a row z is

    f(z) = m + z w,    w = Z' A^-1 (Y - m).

Let m_-i be the mean without person i. The prediction for i by the fit to all others is

    f_-i(z_i) = Y_i - [A^-1 (Y - 1 m_-i)]_i / (A^-1)_ii,

for both the mean and the weights leave i out (block inverse of A). The error of a penalty lam is the mean square
of Y_i - f_-i(z_i). Of a few penalties, in their order, the middle one is tried first, then its neighbours as long
as the error falls. Where the error has one valley, this is the smallest one; of equal ones the first is kept.

A has T rows. Where there are fewer columns than people, G = Z' Z + lam I is inverted instead, by

    A^-1 = (I - Z G^-1 Z') / lam.

:func:`fit_ridge` is the one way from labels to a fit, of whatever rows: Y are unbiased estimates of the one-hot labels,
one-hot themselves where labels are in clear. The fit is linear in Y, so its predictions are unbiased as well.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse import issparse

from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.devices.array_types import DoubleArray, IntArray

PENALTIES = (0.1, 0.3, 1.0, 3.0)  # for rows of length 1
MORE_PENALTIES = (0.03, *PENALTIES)  # for rows that are shorter, and for few people
SCORE_SCALE = 5.0  # of scores as a component of a pool of ln-probabilities
_ROWS_AT_ONCE = 1024
_ENTRIES_AT_ONCE = 1 << 25  # of dense rows: 256 MiB in double


@dataclass(frozen=True, eq=False)
class Ridge:
    """A fit with its predictions.

    Args:
        scores: float64 (n, classes): f of every row.
        train: int64 (T,): the training people.
        leave_one_out: float64 (T, classes): the prediction for each of them by the fit to all others.
        penalty: lam.
        error: Mean square of the labels less ``leave_one_out``.
        weights, mean: w, (d, classes), and m, (classes,).
    """

    scores: DoubleArray = field(repr=False)
    train: IntArray = field(repr=False)
    leave_one_out: DoubleArray = field(repr=False)
    penalty: float
    error: float
    weights: DoubleArray = field(repr=False)
    mean: DoubleArray = field(repr=False)

    @property
    def without_own_label(self) -> DoubleArray:
        """float64 (n, classes): ``scores``, and ``leave_one_out`` for the training people."""
        scores = np.array(self.scores, np.float64)
        scores[self.train] = self.leave_one_out
        return scores


def fit_ridge(rows: Any, train: IntArray, labels: ObservedLabels, penalties: tuple[float, ...] = PENALTIES) -> Ridge:
    """Fit ridge regression to the labels of ``train``, public or reported; the arguments are those of :func:`ridge`."""
    return ridge(rows, train, labels.estimates(train), labels.classes, penalties)


def ridge(
    rows: Any, train: IntArray, labels: NDArray[Any], classes: int, penalties: tuple[float, ...] = PENALTIES
) -> Ridge:
    """Fit ridge regression, with the penalty of the smallest leave-one-out error.

    Args:
        rows: (n, d), numpy or CSR.
        train: int64 (T,), T at least 1: people to learn from.
        labels: int64 (n,), of which only those of ``train`` are read; or float64 (T, classes), Y itself.
        classes: Number of classes.
        penalties: Positive values of lam to choose from, at least one, rising or falling.
    """
    z = _TrainingRows(rows, train)
    y = np.eye(classes)[labels[train]] if labels.ndim == 1 else labels
    count = len(train)
    mean, mean_of_others = y.mean(axis=0), (y.sum(axis=0) - y) / max(1, count - 1)
    primal = rows.shape[1] < count
    gram = z.gram() if primal else _dense(z.whole @ z.whole.T)
    y_and_ones = np.concatenate([y, np.ones((count, 1))], axis=1)

    def fit(penalty: float) -> tuple[float, float, DoubleArray, DoubleArray]:
        inverse = _inverse(gram, penalty)
        if primal:
            solution = (y_and_ones - z.times(inverse @ z.transposed_times(y_and_ones))) / penalty
            diagonal = (1 - z.quadratic(inverse)) / penalty
        else:
            solution, diagonal = inverse @ y_and_ones, np.diag(inverse)
        labels_part, ones_part = solution[:, :-1], solution[:, -1:]  # A^-1 Y and A^-1 1
        leave_one_out = y - (labels_part - ones_part * mean_of_others) / diagonal[:, None]
        return float(np.square(y - leave_one_out).mean()), penalty, leave_one_out, labels_part - ones_part * mean

    error, penalty, leave_one_out, dual = _best_penalty(fit, penalties)
    weights = z.transposed_times(dual).astype(
        np.result_type(rows.dtype, np.float32)
    )  # a float32 matrix of rows is not copied
    return Ridge(mean + rows @ weights, train, leave_one_out, penalty, error, weights, mean)


class _TrainingRows:
    """Rows Z of the training people in double: all at once, or many dense ones block by block."""

    def __init__(self, rows: Any, train: IntArray) -> None:
        self.rows, self.train = rows, train
        large = not issparse(rows) and len(train) * rows.shape[1] > _ENTRIES_AT_ONCE and rows.shape[1] < len(train)
        self.step = max(1, _ENTRIES_AT_ONCE // rows.shape[1]) if large else len(train)
        self.whole: Any = None if large else rows[train].astype(np.float64)

    def _blocks(self) -> Iterator[tuple[slice, Any]]:
        for start in range(0, len(self.train), self.step):
            part = slice(start, start + self.step)
            yield part, self.rows[self.train[part]].astype(np.float64) if self.whole is None else self.whole

    def gram(self) -> DoubleArray:
        """Z' Z."""
        return _dense(reduce(operator.add, (z.T @ z for _, z in self._blocks())))

    def times(self, right: DoubleArray) -> DoubleArray:
        """Z right."""
        return np.concatenate([z @ right for _, z in self._blocks()])

    def transposed_times(self, right: DoubleArray) -> DoubleArray:
        """Z' right."""
        return np.asarray(reduce(operator.add, (z.T @ right[part] for part, z in self._blocks())))

    def quadratic(self, matrix: DoubleArray) -> DoubleArray:
        """float64 (T,): z_i matrix z_i' of each row."""
        return np.concatenate([_quadratic(z, matrix) for _, z in self._blocks()])


def _best_penalty(
    fit: Callable[[float], tuple[float, float, DoubleArray, DoubleArray]], penalties: tuple[float, ...]
) -> tuple[float, float, DoubleArray, DoubleArray]:
    """Return the fit of the penalty at which the error stops falling, a step at a time from the middle one."""
    middle = place = len(penalties) // 2
    best = fit(penalties[place])
    for step in (-1, 1):
        while (step < 0 or place >= middle) and 0 <= place + step < len(penalties):
            neighbour = fit(penalties[place + step])
            if neighbour[0] > best[0] or (step == 1 and neighbour[0] == best[0]):
                break
            best, place = neighbour, place + step
    return best


def _dense(matrix: Any) -> DoubleArray:
    return np.asfortranarray(matrix.toarray() if issparse(matrix) else matrix)


def _inverse(gram: DoubleArray, penalty: float) -> DoubleArray:
    """(gram + penalty I)^-1 by its Cholesky factor, at a third of the work of a general inverse."""
    shifted = gram.copy(order="F")
    np.fill_diagonal(shifted, shifted.diagonal() + penalty)
    if not len(shifted):
        return shifted
    factor, _ = dpotrf(shifted, lower=1, overwrite_a=1)
    half, _ = dpotri(factor, lower=1, overwrite_c=1)
    for start in range(0, len(half), _ROWS_AT_ONCE):  # the other half is 0; it is written block by block
        block = slice(start, start + _ROWS_AT_ONCE)
        half[block, start + _ROWS_AT_ONCE :] = half[start + _ROWS_AT_ONCE :, block].T
        half[block, block] += np.tril(half[block, block], -1).T
    return half.T  # symmetric, and by rows: what a product of sparse rows with it reads


def _quadratic(z: Any, matrix: DoubleArray) -> DoubleArray:
    """float64 (T,): z_i matrix z_i' of each row, a block of rows at a time."""
    values = np.empty(z.shape[0])
    for start in range(0, z.shape[0], _ROWS_AT_ONCE):
        block = z[start : start + _ROWS_AT_ONCE]
        product = block @ matrix
        values[start : start + _ROWS_AT_ONCE] = np.asarray((block * product).sum(axis=1)).ravel()
    return values
