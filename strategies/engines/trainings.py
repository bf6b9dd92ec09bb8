"""Trainings side by side, in threads of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from ldpsim.curator.steps import on_progress

T = TypeVar("T")


class Stopped(Exception):
    """Error of a training whose result nobody waits for any more."""


class Trainings:
    """Trainings that are started now and asked for their results later.

    Args:
        workers: How many run at a time; 1: each one runs when it is started, in this thread.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._pool = ThreadPoolExecutor(workers) if workers > 1 else None
        self._stop = threading.Event()

    def start(self, work: Callable[[], T]) -> Callable[[], T]:
        """Start work, and return what waits for its result or raises its error."""
        if self._pool is None:
            found = work()
            return lambda: found
        return self._pool.submit(self._until_stopped, work).result

    def _until_stopped(self, work: Callable[[], T]) -> T:
        with on_progress(self._check):  # nobody sees steps of several trainings: each only looks whether to go on
            self._check(0)
            return work()

    def _check(self, share: float) -> None:
        if self._stop.is_set():
            raise Stopped

    def close(self) -> None:
        """Stop what runs at its next step, and wait for that."""
        self._stop.set()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


@contextmanager
def side_by_side(workers: int) -> Iterator[Trainings]:
    """Offer trainings that run side by side; those that still run at the end of the block are stopped."""
    found = Trainings(workers)
    try:
        yield found
    finally:
        found.close()
