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

Shrunk naive Bayes for bits that may be flipped, with out-of-fold rows for the people it learns from.

Person i has the bits b_i, each flipped with probability q (0 for public bits), k = 1 - 2q, and the weight
w_ic for class c: 1 for its class and 0 for others where labels are public; for a reported label an unbiased estimate
of that (:meth:`ldpsim.curator.reports.labels.LabelEvidence.estimates`). With N_c = sum_i w_ic and V_c = sum_i w_ic^2:

    mu_k     = (mean of b_ik - q) / k, shrunk to the mean over k by the flips' variance     word rates
    m_k      = q + k mu_k
    t_ck     = sum_i w_ic (b_ik - m_k) / (N_c k)                                             deviation of a class
    v_ck     = m_k (1 - m_k) V_c / (N_c k)^2                                                 its variance
    kappa^2  = sum_k mu_k mean_c(t_ck^2 - v_ck) / sum_k mu_k^3                               true spread, relative
    s_k      = max(kappa^2, .001) mu_k^2
    theta_ck = mu_k + s_k / (s_k + v_ck) t_ck
    L_i(c)   = ln pi_c + sum_k b_ik ln(q + k theta_ck) + (1 - b_ik) ln(1 - q - k theta_ck)

The people to learn from are dealt to folds without a look at their labels. The row of such a person comes from
the N_c, V_c and t_ck of the other folds. The rows of everybody else come from all of them.
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
from scipy.sparse import csr_array, issparse

from ldpsim.devices.array_types import BoolArray, DoubleArray, IntArray

PENALTIES = (0.1, 0.3, 1.0, 3.0)  # for rows of length 1
_ROWS_AT_ONCE = 1024
_ENTRIES_AT_ONCE = 1 << 25  # of dense rows: 256 MiB in double


@dataclass(frozen=True, eq=False)
class Ridge:
    """A fit with its predictions.

    Args:
        scores: float64 (n, classes): f of every row.
        left_out: float64 (T, classes): the prediction for each training person by the fit to all others.
        penalty: lam.
        error: Mean square of the labels less ``left_out``.
        weights, mean: w, (d, classes), and m, (classes,).
    """

    scores: DoubleArray = field(repr=False)
    left_out: DoubleArray = field(repr=False)
    penalty: float
    error: float
    weights: DoubleArray = field(repr=False)
    mean: DoubleArray = field(repr=False)


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
    z = _Taught(rows, train)
    y = np.eye(classes)[labels[train]] if labels.ndim == 1 else labels
    count = len(train)
    mean, without = y.mean(axis=0), (y.sum(axis=0) - y) / max(1, count - 1)
    primal = rows.shape[1] < count
    gram = z.gram() if primal else _dense(z.whole @ z.whole.T)
    both = np.concatenate([y, np.ones((count, 1))], axis=1)

    def fit(penalty: float) -> tuple[float, float, DoubleArray, DoubleArray]:
        inverse = _inverse(gram, penalty)
        if primal:
            solved = (both - z.times(inverse @ z.transposed_times(both))) / penalty
            diagonal = (1 - z.quadratic(inverse)) / penalty
        else:
            solved, diagonal = inverse @ both, np.diag(inverse)
        labels_part, ones_part = solved[:, :-1], solved[:, -1:]  # A^-1 Y and A^-1 1
        left_out = y - (labels_part - ones_part * without) / diagonal[:, None]
        return float(np.square(y - left_out).mean()), penalty, left_out, labels_part - ones_part * mean

    error, penalty, left_out, dual = _downhill(fit, penalties)
    weights = z.transposed_times(dual).astype(
        np.result_type(rows.dtype, np.float32)
    )  # a float32 matrix of rows is not copied
    return Ridge(mean + rows @ weights, left_out, penalty, error, weights, mean)


class _Taught:
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


def _downhill(
    fit: Callable[[float], tuple[float, float, DoubleArray, DoubleArray]], penalties: tuple[float, ...]
) -> tuple[float, float, DoubleArray, DoubleArray]:
    """Return the fit of the penalty at which the error stops to fall, a step at a time from the middle one."""
    middle = place = len(penalties) // 2
    best = fit(penalties[place])
    for step in (-1, 1):
        while (step < 0 or place >= middle) and 0 <= place + step < len(penalties):
            other = fit(penalties[place + step])
            if other[0] > best[0] or (step == 1 and other[0] == best[0]):
                break
            best, place = other, place + step
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


FOLDS = 5
_PEOPLE_AT_ONCE = 2048
_LEAST_RATE, _LEAST_THETA, _LEAST_SPREAD = 3e-4, 1e-5, 1e-3
_PRIOR_COUNT = 1.0  # people that each class has before anybody is counted


def folds_of(count: int, folds: int, seed: int) -> IntArray:
    """int64 (count,): a fold for each of ``count`` people, in turn along a random order; at most ``count`` folds.

    >>> np.bincount(folds_of(7, 3, seed=0)).tolist()
    [3, 2, 2]
    """
    places = np.empty(count, np.int64)
    places[np.random.Generator(np.random.PCG64(seed)).permutation(count)] = np.arange(count) % max(1, folds)
    return places


def naive_bayes(
    bits: Any,
    train: IntArray,
    weights: DoubleArray,
    *,
    flip: float = 0.0,
    answered: BoolArray | None = None,
    folds: int = FOLDS,
    seed: int = 0,
) -> DoubleArray:
    """float64 (n, classes): ln of the class probabilities, out of fold for the people of ``train``.

    Args:
        bits: (n, d) of zeros and ones, CSR or numpy.
        train: int64 (T,): people to learn from; T may be 0.
        weights: float64 (T, classes): w of each of them.
        flip: q, below 1/2.
        answered: bool (n,): people whose bits are known; a row of anybody else is ln pi. None for everybody.
        folds: Number of folds.
        seed: Seed of the folds.
    """
    n, classes = bits.shape[0], weights.shape[1]
    has_bits = np.ones(n, np.bool_) if answered is None else answered
    valid = has_bits[train]
    own = folds_of(len(train), folds, seed)
    fold_of = np.full(n, -1, np.int64)  # -1: learned from by nobody's fold
    fold_of[train] = own
    count = int(own.max(initial=-1)) + 1
    rates = _rates(_column_sums(bits, has_bits), int(has_bits.sum()), flip)
    # Row (fold, class) of `sums` holds the weighted bits of this class in this fold.
    people, place = train[valid], own[valid]
    chooser = csr_array(
        (weights[valid].ravel(), ((place[:, None] * classes + np.arange(classes)).ravel(), np.repeat(people, classes))),
        shape=(max(1, count) * classes, n),
    )
    sums = _product(chooser, bits).reshape(max(1, count), classes, -1)
    scores = np.empty((n, classes))
    for fold in range(-1, count):
        others = own != fold
        law = _law(sums.sum(axis=0) - (sums[fold] if fold >= 0 else 0), weights[others & valid], rates, flip)
        shares = np.log(_shares(weights[others]))
        rows = np.flatnonzero(fold_of == fold)
        scores[rows] = shares
        with_bits = rows[has_bits[rows]]
        scores[with_bits] += _scores(bits, with_bits, *law)
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def _shares(weights: DoubleArray) -> DoubleArray:
    """float64 (classes,): pi, never 0."""
    counts = np.maximum(weights.sum(axis=0), 0) + _PRIOR_COUNT
    return np.asarray(counts / counts.sum())


def _rates(sums: DoubleArray, n: int, flip: float) -> DoubleArray:
    """float64 (d,): mu_k."""
    if not n:
        return np.full(len(sums), 0.5)
    slope = 1 - 2 * flip
    rates = (sums / n - flip) / slope
    if flip > 0 and len(rates):
        noise = flip * (1 - flip) / (n * slope**2)
        spread = max(float(rates.var()) - noise, 1e-9)
        middle = rates.mean()
        rates = middle + spread / (spread + noise) * (rates - middle)
    return np.asarray(np.clip(rates, _LEAST_RATE, 1 - 1e-4))


def _law(sums: DoubleArray, weights: DoubleArray, rates: DoubleArray, flip: float) -> tuple[DoubleArray, DoubleArray]:
    """Return ln-odds float64 (d, classes) and, for a row without a one, its ln-likelihood float64 (classes,)."""
    slope = 1 - 2 * flip
    mean = flip + slope * rates
    counts, squares = weights.sum(axis=0), np.square(weights).sum(axis=0)
    some = counts > 0
    deviation, variance = np.zeros_like(sums), np.full_like(sums, np.inf)
    deviation[some] = (sums[some] - counts[some, None] * mean) / (counts[some, None] * slope)
    variance[some] = mean * (1 - mean) * (squares[some] / np.square(counts[some] * slope))[:, None]
    relative = 0.0
    if some.any() and len(rates):
        excess = (np.square(deviation[some]) - variance[some]).mean(axis=0)
        relative = float(excess @ rates / (rates**3).sum())
    spread = max(relative, _LEAST_SPREAD) * rates**2
    theta = np.clip(rates + spread / (spread + variance) * deviation, _LEAST_THETA, 1 - _LEAST_THETA)
    one, zero = np.log(flip + slope * theta), np.log1p(-flip - slope * theta)
    return (one - zero).T, zero.sum(axis=1)


def _scores(bits: Any, people: IntArray, odds: DoubleArray, nothing: DoubleArray) -> DoubleArray:
    """float64 (len(people), classes): the ln-likelihood of each row, a block of rows at a time."""
    scores = np.empty((len(people), len(nothing)))
    for start in range(0, len(people), _PEOPLE_AT_ONCE):
        rows = slice(start, start + _PEOPLE_AT_ONCE)
        scores[rows] = bits[people[rows]].astype(np.float64) @ odds
    return scores + nothing


def _column_sums(bits: Any, people: BoolArray) -> DoubleArray:
    return _product(csr_array(people[None, :].astype(np.float64)), bits)[0]


def _product(chooser: csr_array, bits: Any) -> DoubleArray:
    """float64 (m, d): chooser @ bits, dense, without a float copy of dense bits."""
    if issparse(bits):
        return np.asarray((chooser @ bits).toarray(), np.float64)
    product = np.zeros((chooser.shape[0], bits.shape[1]))
    for start in range(0, bits.shape[0], _PEOPLE_AT_ONCE):
        rows = slice(start, start + _PEOPLE_AT_ONCE)
        product += chooser[:, rows] @ bits[rows].astype(np.float64)
    return product
