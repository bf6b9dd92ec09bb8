"""Figures as people read them on the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from cli.summary import epsilon, size


def percent(value: float | None, digits: int = 1) -> str:
    """A share as a percentage, a dash where there is none."""
    return "–" if value is None else f"{100 * value:.{digits}f}"


def bytes_(value: float) -> str:
    """A number of bytes, ``none`` for 0."""
    return size(value) if value else "none"


def seconds(value: float) -> str:
    """Seconds with as many digits as mean something."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 0.05 else "<0.1"


def level(entry: Mapping[str, Any]) -> str:
    """What holds at one level: a figure rounded up, or the word for what is none."""
    if entry["status"] != "bounded":
        return str(entry["status"])
    delta = f" (δ {entry['delta']:.0e})".replace("e-0", "e-") if entry["delta"] else ""
    return f"{loss(entry['value'])}{delta}"


def loss(value: float) -> str:
    """A loss with three significant digits or more, never rounded down."""
    if value >= 1000:
        return f"{math.ceil(value):,}"
    if value >= 10:
        return epsilon(math.ceil(round(value * 10, 6)) / 10)
    return epsilon(value)


def claim(entry: Mapping[str, Any]) -> str:
    """The paper's figure, a dash where it claims none."""
    return "–" if entry["value"] is None else loss(entry["value"])


def method_names(rows: Sequence[Mapping[str, Any]]) -> str:
    """Labels as a list in a sentence."""
    names = [str(row["label"]) for row in rows]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
