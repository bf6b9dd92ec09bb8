"""Names that people type: the nearest known one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean a or b?`` for a name that is close to known ones, else an empty text."""
    close = get_close_matches(name.lower(), list(known), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ""
