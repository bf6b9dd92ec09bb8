"""Design of a question: how many candidates each person has, from the published table alone.

Person i has the class probabilities q_1 >= q_2 >= ... of its own row, and the w likeliest classes are its
candidates. Suppose that the vote is the true class with probability a, if that is a candidate, and otherwise a
candidate k drawn by rho_k = q_k / (q_1 + ... + q_w). GRR keeps it with probability 1 - l, l = w / (e^eps + w - 1),
and otherwise reports any of the w values. So a report r has

    P(r | c) = (1 - l) (a [r = c] + (1 - a) rho_r) + l / w    for a candidate c,
    P(r | c) = (1 - l) rho_r + l / w                          for any other class.

Two measures of what the report is worth for this person, each from these numbers:

    information   I(r; c) = H(r) - sum_c q_c H(r | c)                        mutual information, in nats
    hits          sum_r max_c q_c P(r | c) - q_1                             more people whose class is guessed

Few values are told truly more often, and many hold the class of more people. Information rewards knowledge that changes
no guess: it gives more candidates than hits do, to people whose class is nearly certain too. Hits is 0 where no report
can change the guess; then information decides. The width with the largest worth is taken, the smallest of equal ones.

The w likeliest classes are the best w candidates in this model; a test compares them with all other sets.
"""

from __future__ import annotations

import math

import numpy as np

from ldpsim.devices.array_types import DoubleArray, IntArray

HIT_RATE = 0.7
MEASURES = ("hits", "information")
_TIE = 1e-6  # weight of information beside hits


def all_classes(epsilon: float, classes: int) -> bool:
    """Return whether GRR over all classes tells the truth in 7 of 8 cases.

    Then everybody has all classes as candidates. It is as good as the best number where friends are of one's own
    class, and votes of people whose friends are of other classes can be read as well.

    >>> [all_classes(epsilon, 7) for epsilon in (1, 2, 4, 8)]
    [False, False, True, True]
    """
    return math.exp(min(epsilon, 700.0)) >= 7 * (classes - 1)


def designed_widths(rows: DoubleArray, epsilon: float, measure: str = "hits") -> IntArray:
    """int64 (n,): number of candidates of each person, 2 .. classes.

    Args:
        rows: float64 (n, classes): class probabilities of any scale; a row of zeros knows nothing.
        epsilon: Loss of the report.
        measure: ``hits`` or ``information``.

    >>> designed_widths(np.array([[0.9, 0.05, 0.05], [0.4, 0.3, 0.3]]), 3.0).tolist()
    [3, 3]
    """
    n, classes = rows.shape
    total = rows.sum(axis=1, keepdims=True)
    q = -np.sort(-np.divide(rows, total, out=np.full_like(rows, 1 / classes), where=total > 0), axis=1)
    worth = np.empty((n, classes - 1))
    for width in range(2, classes + 1):
        found = information(q, width, epsilon)
        if measure == "hits":
            found = hits(q, width, epsilon) + _TIE * found
        worth[:, width - 2] = found
    best = worth.max(axis=1, keepdims=True)
    return np.asarray((worth >= best - 1e-12).argmax(axis=1) + 2, np.int64)


def information(q: DoubleArray, width: int, epsilon: float, *, hit_rate: float = HIT_RATE) -> DoubleArray:
    """float64 (n,): I(r; c) in nats; the rows of ``q`` fall and sum to 1."""
    rho, kept, base = _parts(q, width, epsilon)
    wrong = (1 - hit_rate) * kept * rho + base
    right = wrong + hit_rate * kept
    inside, outside = q[:, :width], 1 - q[:, :width].sum(axis=1)
    entropies = _entropy(wrong).sum(axis=1, keepdims=True) - _entropy(wrong) + _entropy(right)
    report = (
        inside.sum(axis=1, keepdims=True) * wrong + inside * hit_rate * kept + outside[:, None] * (kept * rho + base)
    )
    given = (inside * entropies).sum(axis=1) + outside * _entropy(kept * rho + base).sum(axis=1)
    return np.asarray(_entropy(report).sum(axis=1) - given)


def hits(q: DoubleArray, width: int, epsilon: float, *, hit_rate: float = HIT_RATE) -> DoubleArray:
    """float64 (n,): how much likelier the best guess is right with the report than without; ``q`` as above."""
    rho, kept, base = _parts(q, width, epsilon)
    wrong = (1 - hit_rate) * kept * rho + base
    same = q[:, :width] * (wrong + hit_rate * kept)  # the reported class
    other = np.where(np.arange(width) > 0, q[:, :1], q[:, 1:2]) * wrong  # the likeliest other candidate
    outside = q[:, width : width + 1] * (kept * rho + base) if width < q.shape[1] else 0.0
    return np.asarray(np.maximum(np.maximum(same, other), outside).sum(axis=1) - q[:, 0])


def _parts(q: DoubleArray, width: int, epsilon: float) -> tuple[DoubleArray, float, float]:
    """Return rho, 1 - l and l / w."""
    inside = q[:, :width]
    lost = width / (math.exp(min(epsilon, 700.0)) + width - 1)
    return inside / inside.sum(axis=1, keepdims=True), 1 - lost, lost / width


def _entropy(p: DoubleArray) -> DoubleArray:
    """-p ln p, 0 at 0."""
    return np.asarray(-p * np.log(np.maximum(p, 1e-300)))
