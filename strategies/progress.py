"""Progress of long work, reported to a caller."""

from __future__ import annotations

from collections.abc import Callable

# Called with a phase's name and the share of it that is done (0 to 1), None where that is not known.
Progress = Callable[[str, float | None], None]


def quiet(phase: str, share: float | None) -> None:
    """Do nothing."""
