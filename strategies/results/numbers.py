"""Shares, losses, bytes, seconds and counts as people read them: on the terminal, on pages, in tables and notebooks.

A loss, and the chance of the best guess that follows from it, are never rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ldpsim.curator.shown import rounded_up, shown_loss

NONE = "–"
IN_CLEAR = "in clear"  # the word for the status ``unprotected``


def points(value: float | None, digits: int = 1) -> str:
    """A share in per cent without the sign, a dash where there is none."""
    return NONE if value is None or math.isnan(value) else f"{100 * value:.{digits}f}"


def percent(value: float | None) -> str:
    """A share in per cent, a dash where there is none."""
    text = points(value)
    return text if text == NONE else f"{text} %"


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
    """A loss, rounded up (:func:`ldpsim.curator.shown.shown_loss`)."""
    if value is None:
        return NONE
    return IN_CLEAR if math.isinf(value) else shown_loss(value)


def short_loss(value: float) -> str:
    """A loss in the few digits of a column, rounded up: two decimals, from 1,000 on none.

    >>> short_loss(11.2), short_loss(5.220000004), short_loss(3727.7334), short_loss(0.0041)
    ('11.2', '5.23', '3,728', '0.0041')
    """
    if math.isinf(value) or value < 0.1:
        return epsilon(value)
    return rounded_up(value, 0 if value >= 1000 else 2)


def word_of(status: str) -> str:
    """The word for the status of a level; stored statuses keep their names."""
    return IN_CLEAR if status == "unprotected" else status


def planned_loss(entry: Mapping[str, Any]) -> str:
    """The loss at the level of a plan, or the word for its status."""
    if entry["value"] is None:
        return "not asked" if entry["status"] == "not asked" else IN_CLEAR
    return epsilon(entry["value"])


def guessed(chance: float) -> str:
    """The chance of a right guess: one decimal, rounded up; what is below certainty does not look certain.

    >>> guessed(0.99991), guessed(0.7310000004), guessed(0.75)
    ('>99.9 %', '73.2 %', '75 %')
    """
    return ">99.9 %" if chance > 0.999 else f"{rounded_up(100 * chance, 1)} %"


def share(entry: Mapping[str, Any]) -> str:
    """The test accuracy of a model in per cent, with its spread over repeats if there is one."""
    return percent(entry["test"]) + plus_minus(entry["std"])


def difference(entry: Mapping[str, float]) -> str:
    """A difference of two shares in points, with its interval.

    >>> difference({"value": -0.004, "low": -0.025, "high": 0.021})
    '-0.4 points (95 % CI -2.5 to +2.1)'
    """
    value, low, high = (f"{round(100 * entry[part], 1) + 0.0:+.1f}" for part in ("value", "low", "high"))
    return f"{value} points (95 % CI {low} to {high})"
