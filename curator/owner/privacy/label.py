"""Exact privacy loss of the noisy *label* of a query, alone and composed.

A query releases argmax(f + noise) for a posterior f in the c-simplex, with noise drawn
from Lap(1 / lambda) for each class. With h, H the density and distribution function of
that noise,

    A = int h(x - 1) H(x)^(c-1) dx           Pr[label 1 | f = e_1]
    B = int h(x) H(x - 1) H(x)^(c-2) dx      Pr[label 1 | f = e_2]      A + (c-1) B = 1

and the exact loss of one label is eps* = ln(A / B). Pr[label j | f] increases in f_j and
decreases in the rest, so A is its maximum; it is log-concave in f (Prékopa), so its
minimum over the simplex is at a vertex, B. Every label therefore has the distribution
B + (A - B) s with s in the simplex, and every jointly convex divergence between two such
distributions is largest at vertices. Hence P = (A, B, B, ..), Q = (B, A, B, ..) dominate a query:
randomised response over c classes that tells the truth with probability A, which is also
the highest accuracy that labels of this noise can have.

Removing a person from Poisson-sampled data changes (1 - gamma) Q + gamma P to Q, adding
one does the reverse. Over n queries only the numbers of labels 1 and 2 matter, a
trinomial distribution, so that (epsilon, delta) is a finite sum. One edge that changes is a
substitution and has a pair of its own (:func:`label_edge_epsilon`).

Where one sample answers every query, as Algorithm 1 of the PrivGnn paper draws it, the queries
compose *without* amplification to (epsilon_Q, delta / gamma), and the one sample then amplifies
the whole (Balle, Barthe and Gaboardi 2018, Theorem 8):

    epsilon = ln(1 + gamma (e^epsilon_Q - 1)),   delta.

For a base pair that is the same in both directions this is exact: adding a person never loses
more than removing one. For large epsilon_Q the gain is no more than ln(1 / gamma).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from scipy.special import gammaln, xlogy

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.mechanisms.smallest import smallest

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_FAR = 45.0  # e^-45 is below the last bit of what is added up
_FORGOTTEN = 1e-10  # share of delta that outcomes outside the window may have; it is counted as lost


def _points(start: float, width: float) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on panels of length 1 at most."""
    panels = max(1, math.ceil(width))
    half = 0.5 * width / panels
    centres = start + half * (2 * np.arange(panels) + 1)
    return (centres[:, None] + half * _NODES).ravel(), np.tile(half * _WEIGHTS, panels)


@lru_cache(maxsize=256)
def label_probabilities(classes: int, lambda_: float) -> tuple[float, float]:
    """Return (A, B): the label of a certain posterior is right, or one given other class.

    The integrals are taken over lambda x, where the noise has scale 1. Below 0 they are
    elementary; above, the integrand is smooth on each side of the shifted peak and is
    summed by Gauss-Legendre panels. Only positive terms are added: 13 digits and more.

    Args:
        classes: c, at least 2.
        lambda_: 1 / scale of the noise, in (0, 500].

    Raises:
        ValueError: for a value outside these.
    """
    if classes < 2:
        raise ValueError(f"a label needs at least 2 classes, not {classes}")
    if not 0 < lambda_ <= 500:
        raise ValueError(f"lambda must be above 0 and at most 500, not {lambda_}")

    def power(t: FloatArray, exponent: int) -> FloatArray:
        """H(t)^exponent for t >= 0."""
        return np.exp(exponent * np.log1p(-0.5 * np.exp(-t)))

    left = math.exp(-lambda_) * math.ldexp(1.0, -classes) / classes
    t, dt = _points(0.0, lambda_)
    s, ds = _points(0.0, _FAR + math.log(classes))
    right = float(
        left
        + 0.5 * np.sum(dt * np.exp(t - lambda_) * power(t, classes - 1))
        + 0.5 * np.sum(ds * np.exp(-s) * power(lambda_ + s, classes - 1))
    )
    wrong = float(
        left
        + 0.25 * math.exp(-lambda_) * np.sum(dt * power(t, classes - 2))
        + 0.5 * math.exp(-lambda_) * np.sum(ds * np.exp(-s) * power(s, 1) * power(lambda_ + s, classes - 2))
    )
    return (right if right < 0.5 else 1.0 - (classes - 1) * wrong), wrong


def label_loss(classes: int, lambda_: float) -> float:
    """eps* = ln(A / B), the exact loss of one label on unsampled data."""
    right, wrong = label_probabilities(classes, lambda_)
    return math.log(right) - math.log(wrong)


def sampled_once(gamma: float, delta: float, unsampled: Callable[[float], float]) -> float:
    """Return the epsilon at ``delta`` of queries that share one sample.

    Args:
        gamma: Probability that a person is in the sample, in (0, 1].
        delta: In (0, 1).
        unsampled: delta -> epsilon of the same queries on all of the data.
    """
    if delta >= gamma:  # the person is in the sample with probability gamma at most
        return 0.0
    return amplified(unsampled(delta / gamma), gamma)


def amplified(epsilon: float, gamma: float) -> float:
    """ln(1 + gamma (e^epsilon - 1)), without overflow; ``epsilon`` may be negative."""
    if abs(epsilon) < 1:
        return math.log1p(gamma * math.expm1(epsilon))
    return epsilon + math.log(gamma + (1.0 - gamma) * math.exp(-epsilon))


def _outcomes(
    queries: int, chances: Sequence[float], steps: Sequence[float], forgotten: float
) -> tuple[FloatArray, FloatArray]:
    """Return losses above 0 of the outcomes of all queries, and the outcomes' probabilities, trinomially.

    Args:
        queries: n.
        chances: Probabilities of label 1, of label 2, of any other.
        steps: Loss of label 1 and of label 2; of any other it is 0.
        forgotten: Probability that may be left out.
    """
    # Bernstein: a binomial count leaves mean ± (sqrt(2 v t) + t / 3) with probability 2 e^-t at most.
    t = math.log(8 / forgotten)
    ranges = []
    for p in chances[:2]:
        reach = math.sqrt(2 * queries * p * (1 - p) * t) + t / 3
        low, high = math.floor(queries * p - reach), math.ceil(queries * p + reach)
        ranges.append(np.arange(max(low, 0), min(high, queries) + 1))
    rare = math.log(forgotten / 2 / (len(ranges[0]) * len(ranges[1])))
    losses, masses = [], []
    for n1 in np.array_split(ranges[0], 1 + len(ranges[0]) // 64):  # in slices: the window may be wide
        ones, twos = n1[:, None], ranges[1][None, :]
        rest = np.maximum(queries - ones - twos, 0)
        mass = gammaln(queries + 1) - gammaln(ones + 1) - gammaln(twos + 1) - gammaln(rest + 1)
        mass += xlogy(ones, chances[0]) + xlogy(twos, chances[1]) + xlogy(rest, chances[2])
        loss = ones * steps[0] + twos * steps[1]
        cells = (ones + twos <= queries) & (loss > 0) & (mass > rare)
        losses.append(loss[cells])
        masses.append(np.exp(mass[cells]))
    return np.concatenate(losses), np.concatenate(masses)


def _label_composed(queries: int, chances: Sequence[float], steps: Sequence[float], delta: float) -> float:
    """Return the smallest epsilon, from above, at which the hockey-stick divergence of n queries is at most delta."""
    forgotten = delta * _FORGOTTEN
    losses, masses = _outcomes(queries, chances, steps, forgotten)

    def needed(epsilon: float) -> float:
        lost = losses > epsilon
        return float(masses[lost] @ -np.expm1(epsilon - losses[lost])) + forgotten

    if needed(0.0) <= delta:
        return 0.0
    return smallest(needed, delta)


def label_epsilon(*, queries: int, classes: int, lambda_: float, delta: float, gamma: float = 1.0) -> float:
    """Return the epsilon at ``delta`` of the labels of all queries, a fresh sample for each.

    Exact up to the rounding of the sum (relative 1e-9 in delta), and on the safe side of
    it: outcomes too rare to be worth adding count as lost.

    Args:
        queries: n, at least 1.
        classes, lambda_: As in :func:`label_probabilities`.
        delta: In (0, 1).
        gamma: Probability that a person is in a query's sample.
    """
    a, b = label_probabilities(classes, lambda_)
    one, two, other = b + gamma * (a - b), a - gamma * (a - b), (classes - 2) * b
    loss = math.log(a) - math.log(b)
    steps = amplified(loss, gamma), amplified(-loss, gamma)
    remove = _label_composed(queries, (one, two, other), steps, delta)
    return max(remove, _label_composed(queries, (b, a, other), (-steps[0], -steps[1]), delta))


def label_edge_epsilon(*, queries: int, classes: int, lambda_: float, delta: float, gamma: float = 1.0) -> float:
    """Return the epsilon at ``delta`` of the labels of all queries, where one private edge changes.

    The edge plays a part only where both its ends are drawn, with probability g = gamma^2.
    Nobody joins or leaves, so this is a substitution: the two distributions of a query are
    (1 - g) R + g P1 and (1 - g) R + g Q1, and their common part R need be neither P1 nor Q1.
    With p = B + g (A - B) the distributions (p, B, 1 - p - B) and (B, p, 1 - p - B) dominate. Three
    classes attain them (R = e_3, P1 = e_1, Q1 = e_2); for two classes they are an upper bound.

    Args:
        queries, classes, lambda_, delta: As in :func:`label_epsilon`.
        gamma: Probability that a person is in a query's sample; every query has a fresh one.
    """
    a, b = label_probabilities(classes, lambda_)
    p = b + gamma**2 * (a - b)
    loss = amplified(math.log(a) - math.log(b), gamma**2)  # ln(p / B)
    return _label_composed(queries, (p, b, 1.0 - p - b), (loss, -loss), delta)


def label_epsilon_once(*, queries: int, classes: int, lambda_: float, delta: float, gamma: float) -> float:
    """Return the epsilon at ``delta`` of the labels of all queries, one sample for all of them."""
    return sampled_once(
        gamma, delta, lambda d: label_epsilon(queries=queries, classes=classes, lambda_=lambda_, delta=d)
    )
