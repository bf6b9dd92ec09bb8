"""Progress on standard error, for anything that takes more than two seconds.

On a terminal each phase has a bar with its percentage and the time left, and the bars disappear at
the end. Elsewhere, as in a pipe or a log file, a phase gets a line, and one more for each 10 %. A figure that is known
before the end is shown at once.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ldpsim.strategies.foreign_text import printable
from ldpsim.strategies.results.numbers import duration

PATIENCE = 2.0  # seconds of silence before anything appears


class Progress:
    """Progress of phases, called as ``progress(phase, share)``.

    Args:
        shown: Whether to show anything at all.
        patience: Seconds before a terminal gets its bars, and before a phase gets a line elsewhere;
            None for :data:`PATIENCE`.
    """

    def __init__(self, *, shown: bool = True, patience: float | None = None) -> None:
        self._shown, self._patience = shown, PATIENCE if patience is None else patience
        self._lock, self._timer, self._stream = threading.Lock(), threading.Timer(0, lambda: None), sys.stderr
        self._phase, self._tenths = "", 0  # tenths of the phase that have a line
        self._began, self._before = 0.0, 0.0  # time, and the share that was done then: cells of an earlier command
        self._bars: Any = _bars() if shown else None
        self._tasks: dict[str, Any] = {}
        if self._bars is not None:
            self._later(self._bars.start)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._shown = False
            self._timer.cancel()
            if self._bars is not None:
                self._bars.stop()

    def __call__(self, phase: str, share: float | None) -> None:
        """Show a phase and the share of it that is done (0 to 1), None if that is not known."""
        with self._lock:
            if self._shown:
                show = self._write_lines if self._bars is None else self._draw
                show(phase, None if share is None else min(max(share, 0.0), 1.0))

    def figure(self, words: str) -> None:
        """Show a figure that is known before the end: beside the bars, and gone with them; a line elsewhere."""
        with self._lock:
            if self._shown and self._bars is None:
                self._write(words)
            elif self._shown:
                self._bars.add_task(words, total=None, left="")
                self._bars.start()

    def _draw(self, phase: str, share: float | None) -> None:
        """Update the bar of a phase; the one before it is done."""
        if phase != self._phase:
            self._begin(share)
            if self._phase:
                self._bars.update(self._tasks[self._phase], total=1.0, completed=1.0, left="")
            if phase in self._tasks:  # the next repeat
                self._bars.reset(self._tasks[phase], total=None, left="")
            else:
                self._tasks[phase] = self._bars.add_task(phase, total=None, left="")
            self._phase = phase
        if share is not None:
            self._bars.update(self._tasks[phase], total=1.0, completed=share, left=self._left(share))

    def _write_lines(self, phase: str, share: float | None) -> None:
        """Write a line for a phase that is not over soon, and for each 10 % of it."""
        if phase != self._phase:
            self._phase, self._tenths = phase, 0
            self._begin(share)
            self._later(lambda: self._write(phase))
        tenths = int((share or 0.0) * 10 + 1e-9)
        if share and tenths > self._tenths and time.monotonic() - self._began >= self._patience:
            self._tenths = tenths
            self._timer.cancel()
            left = self._left(share)
            self._write(f"{phase} {tenths * 10} %" + (f", {left}" if left else ""))

    def _begin(self, share: float | None) -> None:
        self._began, self._before = time.monotonic(), share or 0.0

    def _left(self, share: float) -> str:
        """Return the words for the time that the rest takes at the pace so far; empty where there is none yet."""
        done = share - self._before
        if done <= 0 or share >= 1:
            return ""
        return f"{duration((time.monotonic() - self._began) * (1 - share) / done)} left"

    def _write(self, line: str) -> None:
        with suppress(OSError, ValueError):  # nobody reads any more
            print(printable(line), file=self._stream, flush=True)

    def _later(self, call: Callable[[], object]) -> None:
        """Call a function after the patience, unless there is another one, or the end, before."""

        def run() -> None:
            with self._lock:
                if self._shown and self._timer is timer:
                    call()

        self._timer.cancel()
        self._timer = timer = threading.Timer(self._patience, run)
        timer.daemon = True
        timer.start()


def _bars() -> Any:
    """Return bars for a terminal; None where there is none."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        SpinnerColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
    )
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        return None
    bar = (BarColumn(bar_width=20),) if console.width >= 60 else ()
    return Bars(SpinnerColumn(), TextColumn("{task.description}"), *bar, TaskProgressColumn(), TimeElapsedColumn(),
                TextColumn("{task.fields[left]}"), console=console, transient=True)  # fmt: skip
