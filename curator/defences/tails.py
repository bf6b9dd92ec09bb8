"""Exact tails of the counts and of the noise that the defences test.

Among k true bits and N - k false ones, each reported as 1 with probability h if it is true and f if it is false, the
number of ones is the sum of two binomials, Bin(k, h) + Bin(N - k, f). Its distribution is the convolution of the two.
"""

from __future__ import annotations

import math

import numpy as np

from ldpsim.devices.array_types import FloatArray


def tails(true: int, false: int, hit: float, false_hit: float) -> tuple[FloatArray, FloatArray]:
    """float64 (true + false + 1,) each: probabilities of so many ones or more, and of so many or fewer."""
    from scipy.stats import binom  # imported where it is needed: the import takes as long as a small run

    chances = np.convolve(binom.pmf(np.arange(true + 1), true, hit), binom.pmf(np.arange(false + 1), false, false_hit))
    return chances[::-1].cumsum()[::-1], chances.cumsum()


def largest_noise(t: int, s: int, level: float) -> int:
    """Return the smallest L with Pr[Z > L] <= level, for discrete Laplace noise Z of scale t/s."""
    rate = s / t
    # Pr[Z > L] = a^(L + 1) / (1 + a), a = e^-rate
    exact = (-math.log(level) - math.log1p(math.exp(-rate))) / rate - 1
    return max(0, math.ceil(exact))
