"""Exact losses, and the 64-bit thresholds that they are computed from.

A Bernoulli trial on a device compares a 64-bit random integer with a threshold t, so its
probability is exactly t / 2**64. Queries carry thresholds, not epsilons: the printed loss
is the loss of the probabilities that were used. It is computed with 60 decimal digits and
rounded *up* at the ninth decimal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from functools import lru_cache

ONE = 1 << 64
_DIGITS = 60
_LAST_PLACE = Decimal("1e-9")


@dataclass(frozen=True)
class Loss:
    """Privacy loss of one attribute's report; every figure is an upper bound.

    Args:
        bit: Loss when one entry changes (one adjacency bit, one feature, the label).
        vector: Loss when the whole attribute changes (list, feature vector, label).
            ``math.inf`` means unprotected.
        delta: The delta at which the figures hold, 0 for a pure loss.
    """

    bit: float
    vector: float
    delta: float = 0.0

    def __add__(self, other: Loss) -> Loss:
        return Loss(round_up(self.bit + other.bit), round_up(self.vector + other.vector), self.delta + other.delta)


def round_up(value: float | Decimal) -> float:
    """Round up at the ninth decimal; sums of printed losses stay readable."""
    if isinstance(value, float) and not math.isfinite(value):
        return value
    with localcontext() as context:
        context.prec = _DIGITS
        # A float sum of multiples of 1e-9 is off by units in its last place, which must not lift it to the next one.
        slack = Decimal(max(1e-12, 8 * math.ulp(value))) if isinstance(value, float) and value else Decimal(0)
        exact = Decimal(value) - slack
        return float(exact.quantize(_LAST_PLACE, rounding=ROUND_CEILING))


def check_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that is not a positive finite number (ValueError)."""
    if not (isinstance(epsilon, (int, float)) and math.isfinite(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon must be a finite number above 0, not {epsilon}")


def probability_threshold(epsilon: float, odds_against: int = 1, odds_for: int = 1) -> int:
    """64-bit threshold of the probability k / (j e^epsilon + k), k = ``odds_against``, j = ``odds_for``.

    With j = k = 1 this is the flip probability of randomised response; with k = g - 1 it is
    the probability that GRR over g categories does not tell the truth; with j cells inside a
    window and k outside, it is that of an answer outside. Rounded up, so the loss never
    exceeds epsilon.

    Raises:
        ValueError: where 64 bits cannot hold it (epsilon beyond about 44, or so small
            that the report would carry nothing).
    """
    check_epsilon(epsilon)
    power = min(float(epsilon), 1e3)  # far beyond any threshold; larger powers overflow
    with localcontext() as context:
        context.prec = _DIGITS
        exact = Decimal(ONE) * odds_against / (Decimal(repr(power)).exp() * odds_for + odds_against)
        threshold = int(exact.to_integral_value(rounding=ROUND_CEILING))
        indifferent = Decimal(ONE) * odds_against / (odds_for + odds_against)
    if exact < 1:
        raise ValueError(f"epsilon {epsilon:g} is beyond what a 64-bit threshold can hold (about 44)")
    if threshold >= indifferent:
        raise ValueError(f"epsilon {epsilon:g} is too small: the report would say nothing")
    return threshold


@lru_cache(maxsize=1024)  # every device of a population asks for the same few
def log_ratio(numerator: int, denominator: int, times: int = 1) -> float:
    """``times`` * ln(numerator / denominator), rounded up."""
    with localcontext() as context:
        context.prec = _DIGITS
        return round_up((Decimal(numerator) / Decimal(denominator)).ln() * times)


def check_delta(delta: float) -> None:
    """Refuse a delta that does not lie between 0 and 1 (ValueError)."""
    if not 1e-300 < delta < 1:
        raise ValueError(f"delta must lie between 0 and 1, both excluded, not {delta}")
