"""Recovery from T independent reports: exact success rates of maximum likelihood without a prior.

A value that may be either of two is guessed by the majority of T reports, each right with
probability r. A coin decides a tie:

    Pr[right] = Pr[Bin(T, r) > T/2] + Pr[Bin(T, r) = T/2] / 2.

A label under GRR over g categories (truth p, each other q) is guessed by the plurality, and
chance decides between k equals. Both are the best guesses without a prior.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom, poisson

from ldpsim.devices.array_types import FloatArray


def constant_guess(counts: ArrayLike) -> float:
    """Share of values that one guess, the same for all, gets right without any report: that of the most frequent value.

    Of the entries of neighbour lists the guess is "no neighbour", and the share is 1 - density.

    Args:
        counts: Number of times that each value occurs, (values,).

    >>> constant_guess([966, 34])
    0.966
    """
    each = np.asarray(counts, np.float64)
    return float(each.max(initial=0) / max(each.sum(), 1))


def bit_recovery(right: ArrayLike, asks: int) -> FloatArray:
    """Pr[a majority of ``asks`` reports is right], each right with probability ``right`` (any shape).

    Raises:
        ValueError: for fewer than one ask.
    """
    _check(asks)
    p = np.asarray(right, np.float64)
    won: Any = binom.sf(asks // 2, asks, p)
    return won + binom.pmf(asks // 2, asks, p) / 2 if asks % 2 == 0 else won


def label_recovery(truth: float, categories: int, asks: int) -> float:
    """Pr[the plurality of ``asks`` GRR reports is the truth], ``truth`` = Pr[a report is the truth].

    Given that a reports are the truth, the others fall evenly on g - 1 categories. Their
    counts are independent Poisson numbers given their sum, so that the chance that none
    exceeds a, and k equal it, is a coefficient of a product of g - 1 truncated series.

    Raises:
        ValueError: for fewer than one ask, or fewer than two categories.
    """
    _check(asks)
    if categories < 2:
        raise ValueError(f"a label needs at least 2 categories, not {categories}")
    total = 0.0
    for hits, weight in enumerate(binom.pmf(np.arange(asks + 1), asks, truth)):
        if hits and weight > 1e-14:  # what is left out adds up to less than 1e-11
            total += weight * _others_behind(hits, asks - hits, categories - 1)
    return float(min(total, 1.0))


def _others_behind(hits: int, rest: int, others: int) -> float:
    """Sum over k of Pr[k of the others have ``hits`` reports, the rest fewer] / (k + 1)."""
    if rest < hits:
        return 1.0
    mean = rest / others
    below = poisson.pmf(np.arange(hits), mean)
    equal = float(poisson.pmf(hits, mean))
    size = 1 << (max(rest, others * (hits - 1)) + 1).bit_length()
    spectrum = np.fft.rfft(below, size)
    found = 0.0
    for ties in range(min(others, rest // hits) + 1):
        left = rest - ties * hits
        power = np.fft.irfft(spectrum ** (others - ties), size)[left] if ties < others else float(left == 0)
        found += math.comb(others, ties) * equal**ties / (ties + 1) * max(power, 0.0)
    return min(found / float(poisson.pmf(rest, rest)), 1.0)


def _check(asks: int) -> None:
    if asks < 1:
        raise ValueError(f"a recovery needs at least one report, not {asks}")
