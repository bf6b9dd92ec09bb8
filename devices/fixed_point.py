"""Exponentials and logarithms in whole numbers, equal on every machine.

A float sum depends on its order, and so on the processor and on the number of threads. Here
an array holds whole numbers only. The constants come from ``decimal``, whose ``exp`` and
``ln`` are correctly rounded by the standard, and everything else is shifts, additions and
products of 64-bit integers.

A logarithm is a whole number of *units*, 2**-16 nats each.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal, localcontext
from functools import lru_cache

import numpy as np

from ldpsim.devices.array_types import IntArray

UNIT_BITS = 16  # a unit of a logarithm is 2**-16 nats
LARGEST = 1 << 62
_DIGITS = 40
_FINE = 16  # further bits of a logarithm until it is rounded
_KNOTS = 10  # the logarithm is linear between 2**10 knots; it is off by less than 2**-22
_MANTISSA = 26


@lru_cache(maxsize=8)
def falling_powers(steps_per_nat: int, size: int, *, one: int) -> IntArray:
    """int64 (size,): ``one`` * e^(-k / steps_per_nat) for k = 0 .. size - 1, to the nearest whole number."""
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_HALF_EVEN
        powers = [one * (Decimal(-k) / steps_per_nat).exp() for k in range(size)]
        made = np.array([int(power.to_integral_value()) for power in powers], np.int64)
    made.flags.writeable = False
    return made


@lru_cache(maxsize=1)
def _knots() -> tuple[IntArray, int]:
    """int64 (2**10 + 1,): ln(1 + k / 2**10), and ln 2, in 2**-32 nats."""
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_HALF_EVEN
        scale = Decimal(1 << UNIT_BITS + _FINE)
        size = 1 << _KNOTS
        logs = [int(((1 + Decimal(k) / size).ln() * scale).to_integral_value()) for k in range(size + 1)]
        return np.array(logs, np.int64), logs[-1]


def logarithm(numbers: IntArray) -> IntArray:
    """int64, same shape: ln of whole numbers 1 .. 2**62, in units, to the nearest one but for rounding errors.

    >>> (logarithm(np.array([1, 2, 1 << 40])) / 2**16).round(4).tolist()
    [0.0, 0.6931, 27.7259]
    """
    rest = np.asarray(numbers, np.int64)
    power = np.zeros(rest.shape, np.int64)
    left = rest.copy()
    for step in (32, 16, 8, 4, 2, 1):
        larger = (left >> step) > 0
        power += step * larger
        left = np.where(larger, left >> step, left)
    # 2**26 .. 2**27 - 1: ten bits choose a knot and sixteen lie between two
    mantissa = np.where(power >= _MANTISSA, rest >> np.maximum(power - _MANTISSA, 0),
                        rest << np.maximum(_MANTISSA - power, 0))  # fmt: skip
    knots, ln_2 = _knots()
    between = _MANTISSA - _KNOTS
    place = (mantissa >> between) - (1 << _KNOTS)
    part = mantissa & ((1 << between) - 1)
    low = knots[place]
    fine = power * ln_2 + low + ((knots[place + 1] - low) * part >> between)
    result: IntArray = (fine + (1 << _FINE - 1)) >> _FINE
    return result
