"""Losses as people read them. A loss is never rounded down; a bound from below is never rounded up."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

_LAST_PLACE = Decimal("0.0001")


def shown_loss(value: float) -> str:
    """Return a loss as people read it, rounded up at the fourth decimal.

    >>> [shown_loss(value) for value in (0.41231, 14.00001, 19_762.1, 0.8)]
    ['0.4124', '14.0001', '19,762.1', '0.8']
    """
    if math.isinf(value):
        return "inf"
    return _rounded(value, ROUND_CEILING)


def loss_in_table(value: float) -> str:
    """Return a loss as :func:`shown_loss`, but as a number that programs read too: without commas.

    >>> loss_in_table(19_762.1)
    '19762.1'
    """
    return shown_loss(value).replace(",", "")


def shown_bound(value: float) -> str:
    """Return a bound from below on a loss as people read it: four decimals, rounded down.

    >>> shown_bound(0.41239), shown_bound(2.0)
    ('0.4123', '2')
    """
    return _rounded(value, ROUND_FLOOR)


def _rounded(value: float, way: str) -> str:
    if abs(value) >= 1e15:
        return f"{value:,.0f}"
    # Noise of sums in the ninth decimal must not turn 0.8 into 0.8001.
    text = Decimal(repr(round(value, 8))).quantize(_LAST_PLACE, rounding=way)
    return f"{text:,f}".rstrip("0").rstrip(".")
