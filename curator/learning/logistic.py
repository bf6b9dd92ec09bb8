"""Multinomial logistic regression with an L2 penalty, on labels in clear or on reports of them.

Person i has the row x_i, and each class c has weights w_c and a bias b_c:

    P(c | x_i) = softmax(x_i W + b)_c.

A label in clear, or the report of one, has the likelihood L_i(c) if the person's class is c. The fit minimises

    sum over the people of -ln sum_c P(c | x_i) L_i(c)  +  |W|^2 / (2 C),

which is the forward correction of a report by its channel; the bias has no penalty. With labels in clear it is the
cross-entropy, and the fit is that of scikit-learn's ``LogisticRegression``. L-BFGS finds it.

Rows may be a product of matrices that is never multiplied out: ``(A, B)`` stands for the rows of A B. A B W is then
A (B W), and the gradient B' (A' G).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from ldpsim.curator.learning.pool import loss_of_scores
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.curator.steps import track
from ldpsim.devices.array_types import DoubleArray, IntArray

STRENGTHS = (0.1, 1.0, 10.0, 100.0)  # C, for rows of length 1
# Relative change of the loss in a step. 1e-5 and 1e-7 took 1.6 and 2.9 times the steps, for no better accuracy.
TOLERANCE = 1e-4
_MOST_STEPS, _MEMORY = 100, 5  # of L-BFGS; with twice its memory a fit of 3,000 people takes half as long again


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """Weights and bias of a fit.

    Args:
        weights: float64 (d, classes): W.
        bias: float64 (classes,): b.
        strength: C.
    """

    weights: DoubleArray = field(repr=False)
    bias: DoubleArray = field(repr=False)
    strength: float

    def scores(self, rows: Sequence[Any]) -> DoubleArray:
        """float64 (n, classes): x W + b of the rows of a product of matrices."""
        return product(rows, self.weights) + self.bias


def product(rows: Sequence[Any], right: Any) -> DoubleArray:
    """Return the product of the matrices ``rows`` and ``right``, from the right to the left, in the matrices' types."""
    return np.asarray(
        reduce(lambda result, matrix: matrix @ result.astype(matrix.dtype, copy=False), reversed(rows), right)
    )


def fit_logistic(
    rows: Sequence[Any], log_likelihood: DoubleArray, strength: float, *, start: LogisticFit | None = None,
    tolerance: float = TOLERANCE, steps: int = _MOST_STEPS,
) -> LogisticFit:  # fmt: skip
    """Fit the regression.

    Args:
        rows: Matrices of floats, numpy or sparse, whose product (m, d) has the rows of the people to learn from.
        log_likelihood: float64 (m, classes): ln L.
        strength: C.
        start: A fit to begin with, of another strength or fewer people; None for zeros.
        tolerance: Relative change of the loss in a step below which the fit ends.
        steps: Largest number of steps.
    """
    from scipy.optimize import minimize  # imported where it is needed: the import takes as long as a small run

    d, classes = rows[-1].shape[1], log_likelihood.shape[1]

    def value(flat: DoubleArray) -> tuple[float, DoubleArray]:
        table = flat.reshape(d + 1, classes)
        weights, gradient = table[:d], np.empty_like(table)
        loss, change = loss_of_scores(product(rows, weights) + table[d], log_likelihood)
        gradient[:d] = product([matrix.T for matrix in reversed(rows)], change) + weights / strength
        gradient[d] = change.sum(axis=0)
        return loss + float(np.vdot(weights, weights)) / (2 * strength), gradient.ravel()

    initial = np.zeros((d + 1, classes)) if start is None else np.concatenate([start.weights, start.bias[None]])
    progress = track(range(steps), steps)
    best = minimize(
        value, initial.ravel(), jac=True, method="L-BFGS-B", callback=lambda _: next(progress, None),
        options={"maxiter": steps, "ftol": tolerance, "gtol": tolerance, "maxcor": _MEMORY},
    )  # fmt: skip
    table = best.x.reshape(d + 1, classes)
    return LogisticFit(table[:d], table[d], strength)


def logistic_scores(
    rows: Sequence[Any], labels: ObservedLabels, train: IntArray, val: IntArray,
    training_people: IntArray | None = None, strengths: Sequence[float] = STRENGTHS,
) -> tuple[DoubleArray, DoubleArray]:  # fmt: skip
    """Fit with the strength that has the most hits on validation labels, and return everybody's scores.

    Strengths are tried in their order, each from the fit before, until one has fewer hits than the best. Of equal ones
    the first is kept.

    Args:
        rows: Matrices of floats, numpy or CSR, whose product (n, d) has everybody's row.
        labels: Labels, public or reported; only those of ``train``, ``val`` and ``training_people`` are read.
        train: int64 (m,), m at least 1: people to learn from while the strength is chosen, all with a label.
        val: int64 (k,): validation people, all with a label.
        training_people: All people to learn from with the strength that was chosen; None for ``train`` alone.
        strengths: Values of C.

    Returns:
        float64 (n, classes): scores by the fits to ``train`` and to ``training_people``; the same without these.
    """

    def of(people: IntArray, strength: float, start: LogisticFit | None) -> LogisticFit:
        people_rows = (rows[0][people], *rows[1:])
        return fit_logistic(people_rows, labels.log_likelihood(people), strength, start=start)

    fit: LogisticFit | None = None
    best: tuple[int, LogisticFit, DoubleArray] | None = None
    for strength in strengths:
        fit = of(train, strength, fit)
        scores = fit.scores(rows)
        hits = int(np.count_nonzero(scores[val].argmax(axis=1) == labels.labels[val]))
        if best is not None and hits < best[0]:
            break
        if best is None or hits > best[0]:
            best = hits, fit, scores
    assert best is not None
    _, fit, scores = best
    return scores, scores if training_people is None else of(training_people, fit.strength, fit).scores(rows)
