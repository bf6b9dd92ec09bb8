"""Progress of long work, reported to a caller, warnings, and what is kept of work that is interrupted."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ldpsim.strategies.foreign_text import printable

# Called with a phase's name and the share of it that is done (0 to 1), None where that is not known.
Progress = Callable[[str, float | None], None]
# Called with a figure: its name, its value, the epoch or round, and the phase (ldpsim.strategies.tracking.metrics).
OnMetric = Callable[[str, float, int, str], None]

NOTHING_KEPT = "nothing is kept, and the same command starts again on simulated people of its own"


def warn(line: str) -> None:
    """Write a warning to standard error and to the run's log."""
    logging.getLogger("ldpsim").warning(line)
    print(f"warning: {printable(line)}", file=sys.stderr)


def tell(line: str) -> None:
    """Write a line to standard error and to the run's log."""
    logging.getLogger("ldpsim").info(line)
    print(printable(line), file=sys.stderr)


def quiet(phase: str, share: float | None) -> None:
    """Do nothing."""


class SteppedProgress:
    """Progress of a run, to which the steps of its longest phases add the share that is done.

    Args:
        progress: Called as :data:`Progress`.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress, self._phase = progress, ""

    def __call__(self, phase: str, share: float | None) -> None:
        """Tell a phase and the share of it that is done, None where that is not known."""
        self._phase = phase
        self._progress(phase, share)

    def step(self, share: float) -> None:
        """Tell the share of a collection or a training, as :func:`ldpsim.curator.steps.track` gives it."""
        if self._phase in ("collect", "train"):
            self._progress(self._phase, share)


@contextmanager
def noted_if_interrupted(note: Callable[[], str]) -> Iterator[None]:
    """Note on a KeyboardInterrupt what is kept of the work: its ``__notes__`` are for a person.

    Args:
        note: Returns the note, without a full stop; called after the interrupt.

    >>> try:
    ...     with noted_if_interrupted(lambda: "2 of 3 cells are finished"):
    ...         raise KeyboardInterrupt
    ... except KeyboardInterrupt as stop:
    ...     print(stop.__notes__)
    ['2 of 3 cells are finished']
    """
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.add_note(note())
        raise
