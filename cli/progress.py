"""Progress on standard error, for anything that takes more than two seconds.

On a terminal each phase has a bar with its percentage and the time left, and the bars disappear at
the end. Elsewhere, as in a pipe or a log file, a phase gets a line, and one more for each 10 %.
"""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from typing import Any

from ldpsim.strategies.foreign_text import printable
from ldpsim.strategies.results.numbers import duration

PATIENCE = 2.0  # seconds of silence before anything appears
_NARROW = 60  # columns, below which there is no room for a bar


class Progress:
    """Progress of phases, called as ``progress(phase, share)``.

    Args:
        shown: Whether to show anything at all.
        patience: Seconds before a terminal gets its bars, and before a phase gets a line elsewhere;
            None for :data:`PATIENCE`.
    """

    def __init__(self, *, shown: bool = True, patience: float | None = None) -> None:
        self._view: _Bars | _Lines | None = None
        self._lock = threading.Lock()
        if shown:
            from rich.console import Console

            console = Console(stderr=True)
            view = _Bars if console.is_terminal and not console.is_dumb_terminal else _Lines
            self._view = view(console, self._lock, PATIENCE if patience is None else patience)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        with self._lock:
            view, self._view = self._view, None
            if view is not None:
                view.stop()

    def __call__(self, phase: str, share: float | None) -> None:
        """Show a phase and the share of it that is done (0 to 1), None if that is not known."""
        with self._lock:
            if self._view is not None:
                self._view.show(phase, None if share is None else min(max(share, 0.0), 1.0))


class _Later:
    """Call of a function after some seconds, under the lock of the progress, unless it is stopped before."""

    def __init__(self, seconds: float, lock: threading.Lock, call: Any) -> None:
        self._lock, self._call, self._stopped = lock, call, False
        self._timer = threading.Timer(seconds, self._run)
        self._timer.daemon = True
        self._timer.start()

    def _run(self) -> None:
        with self._lock:
            if not self._stopped:
                self._call()

    def stop(self) -> None:
        """Stop it; the caller holds the lock."""
        self._stopped = True
        self._timer.cancel()


class _Bars:
    """Bars on a terminal, one for each phase; in a narrow one the percentage and the times alone."""

    def __init__(self, console: Any, lock: threading.Lock, patience: float) -> None:
        from rich.progress import BarColumn, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars
        from rich.table import Column
        from rich.text import Text

        class TimeLeft(ProgressColumn):
            def render(self, task: Any) -> Text:
                left = task.time_remaining
                return Text("" if left is None or task.finished else f"{duration(left)} left")

        def column(**more: Any) -> Column:
            return Column(no_wrap=True, overflow="ellipsis", **more)

        bar = () if console.width < _NARROW else (BarColumn(bar_width=20),)
        self._bars = Bars(
            SpinnerColumn(),
            TextColumn(
                "{task.description}", table_column=column(max_width=max(8, console.width - (48 if bar else 27)))
            ),
            *bar,
            TextColumn("{task.fields[share]:>4}", table_column=column(min_width=4)),
            TimeElapsedColumn(table_column=column(min_width=7)),
            TimeLeft(table_column=column(min_width=11)),
            console=console,
            transient=True,
        )
        self._tasks: dict[str, Any] = {}
        self._phase: str | None = None
        self._start = _Later(patience, lock, self._bars.start)

    def show(self, phase: str, share: float | None) -> None:
        """Update the bar of a phase; the one before it is done."""
        if phase != self._phase:
            if self._phase is not None:
                self._bars.update(self._tasks[self._phase], total=1.0, completed=1.0, share="done")
                self._bars.stop_task(self._tasks[self._phase])
            if phase in self._tasks:  # the next repeat
                self._bars.reset(self._tasks[phase], total=None, share="")
            else:
                self._tasks[phase] = self._bars.add_task(phase, total=None, share="")
            self._phase = phase
        if share is not None:
            self._bars.update(self._tasks[phase], total=1.0, completed=share, share=f"{share:.0%}")

    def stop(self) -> None:
        """Remove the bars."""
        self._start.stop()
        self._bars.stop()


class _Lines:
    """Lines where there is no terminal: one for a phase that is not over soon, one for each 10 % of it."""

    def __init__(self, _console: Any, lock: threading.Lock, patience: float) -> None:
        self._stream, self._lock, self._patience = sys.stderr, lock, patience
        self._phase: str | None = None
        self._began = 0.0
        self._tenths = 0  # that have a line
        self._first: _Later | None = None

    def show(self, phase: str, share: float | None) -> None:
        """Write what is due."""
        now = time.monotonic()
        if phase != self._phase:
            self.stop()
            self._phase, self._began, self._tenths = phase, now, 0
            self._first = _Later(self._patience, self._lock, lambda: self._write(phase))
        tenths = int((share or 0.0) * 10 + 1e-9)
        if share and tenths > self._tenths and now - self._began >= self._patience:
            self._tenths = tenths
            if self._first is not None:
                self._first.stop()
            left = (now - self._began) * (1 - share) / share
            self._write(f"{phase} {tenths * 10} %" + (f", {duration(left)} left" if share < 1 else ""))

    def _write(self, line: str) -> None:
        with suppress(OSError, ValueError):  # nobody reads any more
            print(printable(line), file=self._stream, flush=True)

    def stop(self) -> None:
        """Write nothing any more."""
        if self._first is not None:
            self._first.stop()
