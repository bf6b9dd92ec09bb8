"""Steps of long work, told to a listener: the epochs of a training, the answers of a collection.

>>> with on_progress(lambda share: print(f"{share:.0%}")):
...     total = sum(track([1, 2], 2))
0%
50%
>>> sum(track([1, 2], 2))  # nobody listens
3
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")
_listener: ContextVar[Callable[[float], None] | None] = ContextVar("ldpsim_steps", default=None)


@contextmanager
def on_progress(listener: Callable[[float], None]) -> Iterator[None]:
    """Tell a listener the share that is done of the work inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def track(items: Iterable[T], total: int) -> Iterator[T]:
    """Yield the items of a number that is known; tell about a hundred times the share that is done."""
    listener = _listener.get()
    if listener is None:
        yield from items
        return
    every = max(1, total // 100)
    for number, item in enumerate(items):
        if number % every == 0:
            listener(number / total)
        yield item
