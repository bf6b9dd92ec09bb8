"""Losses as people read them. A loss is never rounded down; a bound from below is never rounded up."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

# Stored losses are rounded up at the ninth decimal (mechanisms/exact_loss.py). So a budget of 6 * 0.1 =
# 0.6000000000000001 is stored as 0.600000001, and one unit there cannot be told from the noise of a float.
_STORED_PLACE = Decimal("1e-9")


def shown_loss(value: float) -> str:
    """Return a loss as people read it, rounded up at the fourth decimal.

    >>> [shown_loss(value) for value in (0.41231, 14.00001, 19_762.1, 0.8)]
    ['0.4124', '14.0001', '19,762.1', '0.8']
    """
    return "inf" if math.isinf(value) else rounded_up(value)


def rounded_up(value: float, digits: int = 4) -> str:
    """Return a loss, or the chance of a guess that follows from it, rounded up at so many decimals.

    The noise of a float sum, and one unit of the ninth decimal, are no excess over the shown figure.

    >>> rounded_up(0.412300004), rounded_up(3 * 0.1), rounded_up(0.600000001), rounded_up(3729.7, 0)
    ('0.4124', '0.3', '0.6', '3,730')
    """
    return _rounded(value, digits, ROUND_CEILING)


def shown_delta(value: float) -> str:
    """Return a delta as people read it: two digits, rounded up.

    >>> [shown_delta(value) for value in (1e-5, 1.41e-5, 0.01)]
    ['1e-5', '1.5e-5', '1e-2']
    """
    exact = Decimal(value) - 8 * Decimal(math.ulp(value))  # the noise of a float sum is no excess
    return f"{exact.quantize(Decimal(1).scaleb(exact.adjusted() - 1), rounding=ROUND_CEILING).normalize():e}"


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
    return _rounded(value, 4, ROUND_FLOOR)


def _rounded(value: float, digits: int, way: str) -> str:
    if abs(value) >= 1e15:
        return f"{value:,.0f}"
    exact = Decimal(value)
    noise = min(_STORED_PLACE + 8 * Decimal(math.ulp(value)), abs(exact) / 2)  # what is above 0 is never shown as 0
    exact += noise if way == ROUND_FLOOR else -noise
    text = f"{exact.quantize(Decimal(1).scaleb(-digits), rounding=way):,f}"
    return text.rstrip("0").rstrip(".") if digits else text
