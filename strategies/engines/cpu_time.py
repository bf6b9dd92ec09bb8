"""CPU seconds of this process and of all processes that it started."""

from __future__ import annotations

import resource
from contextlib import suppress

import psutil

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
