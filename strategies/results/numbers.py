"""Shares, bytes, seconds and counts as people read them: on the terminal, on the page, in a notebook."""

from __future__ import annotations

import math

NONE = "–"


def points(value: float | None, digits: int = 1) -> str:
    """A share in per cent without the sign, a dash where there is none."""
    return NONE if value is None or math.isnan(value) else f"{100 * value:.{digits}f}"


def percent(value: float | None) -> str:
    """A share in per cent, a dash where there is none."""
    found = points(value)
    return found if found == NONE else f"{found} %"


def plus_minus(value: float | None, digits: int = 1) -> str:
    """The spread of a share, to stand behind it; empty where there is none.

    >>> points(0.612) + plus_minus(0.0104)
    '61.2 ± 1.0'
    """
    return "" if value is None else f" ± {points(value, digits)}"


def size(count: float) -> str:
    """A number of bytes."""
    for unit, factor in (("EB", 1e18), ("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:,.1f} {unit}"
    return f"{count:,.0f} B"


def bytes_(value: float) -> str:
    """A number of bytes, ``none`` for 0."""
    return size(value) if value else "none"


def seconds(value: float | None) -> str:
    """Seconds with as many digits as mean something."""
    if value is None:
        return NONE
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 0.05 or value == 0 else "<0.1"


def duration(value: float) -> str:
    """A duration: ``12 s``, ``3 min``, ``2 h 05 min``."""
    whole = max(0, round(value))
    if whole < 100:
        return f"{whole} s"
    minutes = round(whole / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"


def count(number: int, noun: str) -> str:
    """A number of things: ``1 round``, ``200 rounds``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def epsilon(value: float | None) -> str:
    """A loss: at most four decimals, rounded up, since a bound may not look smaller than it is."""
    if value is None:
        return NONE
    if math.isinf(value):
        return "unprotected"
    # Tiny rounding noise must not turn 0.8 into 0.8001.
    up = math.ceil(round(value * 1e4, 4)) / 1e4
    return f"{up:,.4f}".rstrip("0").rstrip(".")
