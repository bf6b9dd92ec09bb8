"""Gaussian noise rounded to whole numbers, drawn exactly, and its privacy curve.

The curve delta(eps) of the Gaussian mechanism with L2 sensitivity D and deviation sigma is
Theorem 8 of Balle and Wang 2018 (https://arxiv.org/abs/1805.06530):

    delta(eps) = Phi(D / 2 sigma - eps sigma / D) - e^eps Phi(-D / 2 sigma - eps sigma / D).

A device puts its value on a grid of whole numbers, adds Gaussian noise and rounds. With
x whole, round(x + sigma N) = x + round(sigma N): the noise alone can be rounded. Rounding
is post-processing of the Gaussian mechanism, so delta(eps) above holds for the report, at
any sigma, in any dimension and for any shift. (A discrete Gaussian has no such closed curve
for vectors.)

round(sigma N) is drawn by exact inversion (:mod:`ldpsim.devices.mechanisms.inversion`).
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.mechanisms.exact_loss import check_epsilon, round_up
from ldpsim.devices.mechanisms.inversion import DIGITS, by_inversion
from ldpsim.devices.mechanisms.smallest import smallest
from ldpsim.devices.noise import Noise

_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899863")


def delta_of(epsilon: float, *, shift: float, sigma: float) -> float:
    """Return delta(eps) of Gaussian noise of deviation ``sigma`` on values ``shift`` apart (L2)."""
    if not shift:
        return 0.0
    a = shift / (2 * sigma) - epsilon * sigma / shift
    b = -shift / (2 * sigma) - epsilon * sigma / shift
    density = math.exp(-a * a / 2) / math.sqrt(2 * math.pi)  # e^eps phi(b) = phi(a), so e^eps never overflows
    upper = density * _mills(-a) if a < 0 else 1 - density * _mills(a)
    return max(0.0, upper - density * _mills(-b))


def _mills(x: float) -> float:
    """(1 - Phi(x)) / phi(x) for x >= 0."""
    from scipy.special import erfcx

    return math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2)))


@lru_cache(maxsize=256)
def printed_epsilon(delta: float, *, shift: float, sigma: float) -> float:
    """Return :func:`epsilon_of`, rounded up as every printed loss is."""
    return round_up(epsilon_of(delta, shift=shift, sigma=sigma))


def epsilon_of(delta: float, *, shift: float, sigma: float) -> float:
    """Return the smallest epsilon >= 0 with delta(eps) <= delta, from above within one part in 1e12."""
    if delta_of(0.0, shift=shift, sigma=sigma) <= delta:
        return 0.0
    return smallest(lambda epsilon: delta_of(epsilon, shift=shift, sigma=sigma), delta)


def calibrate(epsilon: float, delta: float, *, shift: float) -> float:
    """Return the smallest sigma with delta(epsilon) <= delta, from above within one part in 1e13."""
    check_epsilon(epsilon)
    return smallest(
        lambda sigma: delta_of(epsilon, shift=shift, sigma=sigma), delta, start=shift / epsilon, within=1e-13,
        from_start=True,
    )  # fmt: skip


def sample(noise: Noise, sigma: Fraction, size: int) -> IntArray:
    """int64 (devices, size): independent draws of round(sigma N)."""
    from scipy.special import ndtri

    return by_inversion(
        noise, size, quantile=lambda u: -ndtri(u), scale=float(sigma), offset=0.5,
        tail=lambda k: upper_tail((k - Fraction(1, 2)) / sigma),
    )  # fmt: skip


def upper_tail(x: Fraction) -> Decimal:
    """Pr[N > x] for x >= 0, good to about 75 digits after the point."""
    with localcontext() as context:
        context.prec = DIGITS + 20
        at = Decimal(x.numerator) / Decimal(x.denominator)
        term = total = at
        n = 1
        while term > total * Decimal(10) ** -(DIGITS + 10):
            n += 2
            term = term * at * at / n
            total += term
        return Decimal("0.5") - (-at * at / 2).exp() / (2 * _PI).sqrt() * total


def log_probability(z: IntArray, sigma: float) -> float:
    """Return the sum of ln Pr[round(sigma N) = z] over an array."""
    from scipy.special import log_ndtr

    inner, outer = (log_ndtr(-(np.abs(z) + side) / sigma) for side in (-0.5, 0.5))
    return float((inner + np.log1p(-np.exp(outer - inner))).sum())
