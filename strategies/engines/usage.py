"""CPU time and memory of a run: seconds of this process and of those that it started, and its own largest size.

The kernel keeps one mark for a process: its largest resident size. On Linux the mark can be lowered to the present
size, so that a run has a peak of its own. Where it cannot be lowered (other systems, or a container that may not write
to ``/proc``), a run has the peak of the whole process so far: never too small, often too large.
"""

from __future__ import annotations

import resource
import sys
from contextlib import suppress
from pathlib import Path

import psutil

_STATUS, _LOWER = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_lost = 0.0  # of processes that ended without being waited for


def cpu_seconds() -> float:
    """Return user and system time so far: of this process, of ended children and of running descendants."""
    return _waited() + _running() + _lost


def note_ending() -> float:
    """Return the time of all descendants, before they are stopped; :func:`note_ended` takes it."""
    return _ended() + _running()


def note_ended(before: float) -> None:
    """Keep the time of descendants that were stopped and that nobody waited for."""
    global _lost
    _lost += max(0.0, before - _ended() - _running())


def _waited() -> float:
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime + _ended()


def _ended() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def _running() -> float:
    total = 0.0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def peak_rss() -> int:
    """Return the largest resident size since the process began, or since :func:`forget_peak`, in bytes."""
    # Not ru_maxrss first: a new process inherits there what its parent needed.
    with suppress(OSError, IndexError):
        return int(_STATUS.read_text().split("VmHWM:")[1].split()[0]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(most if sys.platform == "darwin" else most * 1024)


def forget_peak() -> None:
    """Begin anew: what the process needed before, for other runs, does not count any more."""
    with suppress(OSError):
        _LOWER.write_text("5")
