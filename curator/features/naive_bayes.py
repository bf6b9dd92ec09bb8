"""Shrunk naive Bayes for bits that may be flipped, with out-of-fold rows for the people it learns from.

Person i has the bits b_i, each flipped with probability q (0 for public bits), k = 1 - 2q, and the weight
w_ic for class c: 1 for its class and 0 for others where labels are public; for a reported label an unbiased estimate
of that (:meth:`ldpsim.curator.reports.labels.ObservedLabels.estimates`). With N_c = sum_i w_ic and V_c = sum_i w_ic^2:

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

from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from ldpsim.curator.learning.folds import folds_of
from ldpsim.devices.array_types import BoolArray, DoubleArray, IntArray

FOLDS = 5
_PEOPLE_AT_ONCE = 2048
_LEAST_RATE, _LEAST_THETA, _LEAST_SPREAD = 3e-4, 1e-5, 1e-3
_PRIOR_COUNT = 1.0  # people that each class has before anybody is counted


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
    train_folds = folds_of(len(train), folds, seed)
    fold_of = np.full(n, -1, np.int64)  # -1 for people who are not in ``train``: all folds give their row
    fold_of[train] = train_folds
    count = int(train_folds.max(initial=-1)) + 1
    rates = _rates(_column_sums(bits, has_bits), int(has_bits.sum()), flip)
    # Row (fold, class) of `sums` holds the weighted bits of this class in this fold.
    people, numbers = train[valid], train_folds[valid]
    fold_and_class = (numbers[:, None] * classes + np.arange(classes)).ravel()
    selector = csr_array(
        (weights[valid].ravel(), (fold_and_class, np.repeat(people, classes))), shape=(max(1, count) * classes, n)
    )
    sums = _product(selector, bits).reshape(max(1, count), classes, -1)
    scores = np.empty((n, classes))
    for fold in range(-1, count):
        others = train_folds != fold
        log_odds, ln_zeros = _log_odds(
            sums.sum(axis=0) - (sums[fold] if fold >= 0 else 0), weights[others & valid], rates, flip
        )
        shares = np.log(smoothed_class_shares(weights[others]))
        rows = np.flatnonzero(fold_of == fold)
        scores[rows] = shares
        with_bits = rows[has_bits[rows]]
        scores[with_bits] += _scores(bits, with_bits, log_odds, ln_zeros)
    return scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)


def smoothed_class_shares(weights: DoubleArray) -> DoubleArray:
    """float64 (classes,): pi by the weights w of some people, (people, classes), with one more person in each class."""
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
        mean = rates.mean()
        rates = mean + spread / (spread + noise) * (rates - mean)
    return np.asarray(np.clip(rates, _LEAST_RATE, 1 - 1e-4))


def _log_odds(
    sums: DoubleArray, weights: DoubleArray, rates: DoubleArray, flip: float
) -> tuple[DoubleArray, DoubleArray]:
    """Return float64 (d, classes), the log-odds of a one, and float64 (classes,), ln P of a row without a one.

    Args:
        sums: float64 (classes, d): sum of w_ic b_ik over the people to learn from.
        weights: float64 (people, classes): w of each of them.
        rates: float64 (d,): mu.
        flip: q.
    """
    slope = 1 - 2 * flip
    mean = flip + slope * rates
    counts, squares = weights.sum(axis=0), np.square(weights).sum(axis=0)
    known = counts > 0  # classes with people
    deviation, variance = np.zeros_like(sums), np.full_like(sums, np.inf)
    deviation[known] = (sums[known] - counts[known, None] * mean) / (counts[known, None] * slope)
    variance[known] = mean * (1 - mean) * (squares[known] / np.square(counts[known] * slope))[:, None]
    relative = 0.0
    if known.any() and len(rates):
        excess = (np.square(deviation[known]) - variance[known]).mean(axis=0)
        relative = float(excess @ rates / (rates**3).sum())
    spread = max(relative, _LEAST_SPREAD) * rates**2
    theta = np.clip(rates + spread / (spread + variance) * deviation, _LEAST_THETA, 1 - _LEAST_THETA)
    ln_one, ln_zero = np.log(flip + slope * theta), np.log1p(-flip - slope * theta)
    return (ln_one - ln_zero).T, ln_zero.sum(axis=1)


def _scores(bits: Any, people: IntArray, log_odds: DoubleArray, ln_zeros: DoubleArray) -> DoubleArray:
    """float64 (len(people), classes): the log-likelihood of each row, a block of rows at a time."""
    scores = np.empty((len(people), len(ln_zeros)))
    for start in range(0, len(people), _PEOPLE_AT_ONCE):
        rows = slice(start, start + _PEOPLE_AT_ONCE)
        scores[rows] = bits[people[rows]].astype(np.float64) @ log_odds
    return scores + ln_zeros


def _column_sums(bits: Any, people: BoolArray) -> DoubleArray:
    return _product(csr_array(people[None, :].astype(np.float64)), bits)[0]


def _product(selector: csr_array, bits: Any) -> DoubleArray:
    """float64 (m, d): selector @ bits, dense, without a float copy of dense bits."""
    if issparse(bits):
        return np.asarray((selector @ bits).toarray(), np.float64)
    product = np.zeros((selector.shape[0], bits.shape[1]))
    for start in range(0, bits.shape[0], _PEOPLE_AT_ONCE):
        rows = slice(start, start + _PEOPLE_AT_ONCE)
        product += selector[:, rows] @ bits[rows].astype(np.float64)
    return product
