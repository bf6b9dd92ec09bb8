"""Exact tails of the counts and of the noise that the defences test.

Among k true bits and N - k false ones, each reported as 1 with probability h if it is true and f if it is false, the
number of ones is the sum of two binomials, Bin(k, h) + Bin(N - k, f). Its law is the convolution of the two.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ldpsim.devices.array_types import FloatArray

_WIDTH = 45  # standard deviations, and a margin: what lies beyond has no weight that a float could add
_DIRECT = 1 << 22  # multiplications of a convolution beyond which it is done by Fourier transform


@lru_cache(maxsize=1024)
def ones_law(true: int, false: int, hit: float, false_hit: float) -> tuple[int, FloatArray]:
    """Return (first, law): law[x - first] is the probability of x ones, by the definition above."""
    starts, parts = zip(*(_binomial(size, chance) for size, chance in ((true, hit), (false, false_hit))), strict=True)
    if len(parts[0]) * len(parts[1]) <= _DIRECT:
        law = np.convolve(*parts)
    else:
        from scipy.signal import fftconvolve  # as long as a run's own imports: only where it is needed

        law = np.maximum(fftconvolve(*parts), 0)
    return sum(starts), law


def at_least(count: int, true: int, false: int, hit: float, false_hit: float) -> float:
    """Probability of ``count`` ones or more."""
    first, law = ones_law(true, false, hit, false_hit)
    return float(law[max(0, count - first) :].sum())


def probability_at_most(count: int, true: int, false: int, hit: float, false_hit: float) -> float:
    """Probability of ``count`` ones or fewer."""
    first, law = ones_law(true, false, hit, false_hit)
    return float(law[: max(0, count - first + 1)].sum())


def largest_noise(t: int, s: int, level: float) -> int:
    """Return the smallest L with Pr[Z > L] <= level, for discrete Laplace noise Z of scale t/s."""
    rate = s / t
    # Pr[Z > L] = a^(L + 1) / (1 + a), a = e^-rate
    exact = (-math.log(level) - math.log1p(math.exp(-rate))) / rate - 1
    return max(0, math.ceil(exact))


def largest_sum(t: int, s: int, terms: int, level: float) -> float:
    """Return an x with Pr[Z_1 + ... + Z_terms >= x] <= level, by Chernoff's bound.

    E e^(v Z) = (1 - a)^2 / ((1 - a e^v) (1 - a e^-v)) for v below the rate s/t.
    """
    rate = s / t
    v = rate * np.linspace(0, 1, 2002)[1:-1]
    a = math.exp(-rate)
    # 1 - a e^v = -expm1(v - rate)
    growth = 2 * math.log1p(-a) - np.log(-np.expm1(v - rate)) - np.log(-np.expm1(-v - rate))
    return float(np.min((terms * growth - math.log(level)) / v))


def _binomial(size: int, chance: float) -> tuple[int, FloatArray]:
    """Return (first, law) of a binomial without the values that are too far from its mean to matter."""
    from scipy.stats import binom  # imported where it is needed: the import takes as long as a small run

    reach = _WIDTH * math.sqrt(size * chance * (1 - chance)) + 1000
    first = max(0, math.floor(size * chance - reach))
    last = min(size, math.ceil(size * chance + reach))
    return first, np.asarray(binom.pmf(np.arange(first, last + 1), size, chance), np.float64)
