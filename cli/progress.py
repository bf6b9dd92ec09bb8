"""Progress on standard error, for anything that takes more than two seconds."""

from __future__ import annotations

import threading
from typing import Any

PATIENCE = 2.0  # seconds of silence before a bar appears


class Progress:
    """Progress bars, one per phase, called as ``progress(phase, share)``.

    Nothing is drawn in the first :data:`PATIENCE` seconds, if standard error is no terminal,
    or if ``shown`` is false. The bars disappear at the end.

    Args:
        shown: Whether to draw at all.
        patience: Seconds before the first line.
    """

    def __init__(self, *, shown: bool = True, patience: float = PATIENCE) -> None:
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}
        self._phase: str | None = None
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        if not shown:
            return
        from rich.console import Console

        console = Console(stderr=True)
        if not console.is_terminal:
            return
        from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        self._bars = Bars(
            SpinnerColumn(),
            TextColumn("{task.description:<13}"),
            BarColumn(bar_width=28),
            TextColumn("{task.fields[share]:>5}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._timer = threading.Timer(patience, self._start)
        self._timer.daemon = True

    def __enter__(self) -> Progress:
        if self._timer is not None:
            self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._timer is None:
            return
        self._timer.cancel()
        with self._lock:
            self._timer = None
            self._bars.stop()

    def __call__(self, phase: str, share: float | None) -> None:
        """Show a phase and the share of it that is done (0 to 1), None if that is not known."""
        if self._bars is None:
            return
        with self._lock:
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
                share = min(max(share, 0.0), 1.0)
                self._bars.update(self._tasks[phase], total=1.0, completed=share, share=f"{share:.0%}")

    def _start(self) -> None:
        with self._lock:
            if self._timer is not None:
                self._bars.start()
