"""Names that people type: the nearest known one, and the new home of one that moved."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from importlib import import_module
from typing import Any


def nearest(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean a or b?`` for a name that is close to known ones, else an empty text."""
    close = get_close_matches(name.lower(), list(known), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def moved(old: str, *homes: str) -> Callable[[str], Any]:
    """Return a module's ``__getattr__`` that finds names where they are now, and warns where that is.

    Args:
        old: The module that callers still import from.
        homes: The modules that hold its names today, in the order in which they are asked.
    """

    def find(name: str) -> Any:
        for home in homes:
            module = import_module(home)
            if not name.startswith("__") and hasattr(module, name):
                warnings.warn(f"{old}.{name} moved: import it from {home}", DeprecationWarning, stacklevel=2)
                return getattr(module, name)
        raise AttributeError(f"module {old!r} has no attribute {name!r}")

    return find
