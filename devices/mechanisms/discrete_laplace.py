"""The discrete Laplace distribution on the integers, sampled exactly.

Pr[Z = z] = (1 - a) / (1 + a) * a^|z| with a = e^(-s/t): the two-sided geometric distribution of scale
t/s, both integers (Ghosh et al. 2009, https://arxiv.org/abs/0811.2841). It is drawn by exact
inversion (:mod:`ldpsim.devices.mechanisms.inversion`): Pr[Z >= k] = a^k / (1 + a) for k >= 1. Noise and report are
integers. A floating-point sum would leak through its low bits
(Mironov 2012, https://doi.org/10.1145/2382196.2382264).

A count that changes by 1 shifts the distribution by 1. Its loss is s/t exactly, for any output.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction

import numpy as np

from ldpsim.devices.array_types import FloatArray, IntArray
from ldpsim.devices.mechanisms.exact_loss import check_epsilon, round_up
from ldpsim.devices.mechanisms.inversion import DIGITS, by_inversion
from ldpsim.devices.noise import Noise

LARGEST = 1 << 32
_DIGITS = 60


def scale_for(epsilon: float, *, sensitivity: int) -> tuple[int, int]:
    """Return (t, s) with sensitivity * s / t = epsilon, or as little below it as 32 bits allow.

    Raises:
        ValueError: for an epsilon that is not a positive finite number, or so small (or
            so large) beside the sensitivity that 32 bits cannot hold the scale.
    """
    check_epsilon(epsilon)
    exact = Fraction(sensitivity) / Fraction(repr(float(epsilon)))
    if max(exact.numerator, exact.denominator) >= LARGEST:
        s = max(1, int((LARGEST - 1) / max(exact, Fraction(1))))
        exact = Fraction(math.ceil(exact * s), s)
    if max(exact.numerator, exact.denominator) >= LARGEST:
        raise ValueError(f"epsilon {epsilon:g} at a sensitivity of {sensitivity} needs a scale beyond 2**32")
    return exact.numerator, exact.denominator


def check_scale(t: int, s: int) -> None:
    """Refuse a scale that is not two integers of 1 .. 2**32 - 1 in lowest terms (ValueError)."""
    if not (0 < t < LARGEST and 0 < s < LARGEST) or math.gcd(t, s) != 1:
        raise ValueError(f"a scale is two integers of 1..2**32-1 in lowest terms, not {t}/{s}")


def loss(t: int, s: int, *, shift: int) -> float:
    """Return the exact loss shift * s / t of values that move by so much together, rounded up."""
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_CEILING
        return round_up(Decimal(shift * s) / Decimal(t))


def log_likelihood(report: IntArray, t: int, s: int, *, shift: int) -> FloatArray:
    """Return ln Pr[report | shift] - ln Pr[report | 0] of each entry."""
    return np.asarray(s / t * (np.abs(report) - np.abs(report - shift)), np.float64)


def sample(noise: Noise, t: int, s: int, size: int) -> IntArray:
    """int64 (devices, size): independent draws of scale t/s."""
    excess = math.log1p(math.exp(-s / t))
    return by_inversion(
        noise, size, quantile=lambda u: np.maximum(-np.log(u) - excess, 0), scale=t / s, offset=0.0,
        tail=lambda k: tail(k, t, s),
    )  # fmt: skip


def tail(k: int, t: int, s: int) -> Decimal:
    """Pr[Z >= k] for k >= 1, to 80 digits."""
    with localcontext() as context:
        context.prec = DIGITS + 20
        rate = Decimal(s) / t
        return (-k * rate).exp() / (1 + (-rate).exp())


def log_probability(z: IntArray, t: int, s: int) -> float:
    """Return the sum of ln Pr[Z = z] over an array."""
    rate = s / t
    return float(np.size(z) * math.log(math.tanh(rate / 2)) - rate * np.abs(z).sum())


def variance(t: int, s: int) -> float:
    """2a / (1 - a)^2 = 1 / (2 sinh^2(s / 2t))."""
    half = s / t / 2
    return 0.0 if half > 350 else 1 / (2 * math.sinh(half) ** 2)
