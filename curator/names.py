"""Names that people type: the nearest known one, and its refusal."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean a or b?`` for a name that is close to known ones, else an empty text."""
    close = get_close_matches(name.lower(), list(known), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def check_known(option: str, name: str, known: Collection[str]) -> None:
    """Raise ValueError with the known names, unless a name of an option is one of them."""
    if name not in known:
        raise ValueError(f"--{option} {name}: must be one of {', '.join(known)}{nearest(name, known)}")
