"""Observer of a training: called with figures of each epoch or round, while somebody watches.

The figures are computed only where :func:`watched` is active. They are read from scores that the training has
anyway: nothing is drawn at random, so a watched training gives the same bytes.

>>> with watched(lambda name, value, step: print(name, value, step)):
...     log_metric("val_accuracy", 0.5, 1)
val_accuracy 0.5 1
>>> log_metric("val_accuracy", 0.5, 2)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Observer = Callable[[str, float, int], None]  # name, value, epoch or round (from 1)

_watching: ContextVar[Observer | None] = ContextVar("ldpsim_observer", default=None)


@contextmanager
def watched(observer: Observer | None) -> Iterator[None]:
    """Call the observer from the trainings inside the block; None: nobody watches, whoever watched outside."""
    token = _watching.set(observer)
    try:
        yield
    finally:
        _watching.reset(token)


def is_watched() -> bool:
    """Return whether somebody watches."""
    return _watching.get() is not None


def log_metric(name: str, value: float, step: int) -> None:
    """Call the observer, if there is one."""
    observer = _watching.get()
    if observer is not None:
        observer(name, value, step)
