"""Texts and numbers of a result that somebody else may have written: a result.json is an untrusted file."""

from __future__ import annotations

import math
import unicodedata
from typing import Any

_LONGEST = 600


def text(value: Any) -> str:
    """Return text as one line without control characters, at most 600 characters long."""
    kept = "".join(sign if unicodedata.category(sign)[0] != "C" else " " for sign in str(value)[: 4 * _LONGEST])
    line = " ".join(kept.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def number(value: Any) -> float | None:
    """Return a finite number, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
