"""Code of other packages: it is imported where somebody names it, and not where a secret key lies.

Mechanisms, methods and networks of other packages have entry points; a network may also be named as ``package:Class``.
A name may come from a file that somebody else wrote. So nothing but :func:`imported` imports such code, and inside
:func:`nothing_imported` it refuses.

>>> with nothing_imported():
...     imported("mine:Net", lambda: __import__("mine"))
Traceback (most recent call last):
    ...
ValueError: mine:Net is code of another package, and none is imported where terms are signed (--import-packages)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Code = TypeVar("Code")
_ALLOWED: ContextVar[bool] = ContextVar("allowed", default=True)


@contextmanager
def nothing_imported() -> Iterator[None]:
    """Import no code of another package inside the block."""
    before = _ALLOWED.set(False)
    try:
        yield
    finally:
        _ALLOWED.reset(before)


def may_import() -> bool:
    """Return whether code of other packages may be imported; lists of all names leave it out elsewhere."""
    return _ALLOWED.get()


def imported(name: str, load: Callable[[], Code]) -> Code:
    """Return what ``load`` imports.

    Args:
        name: What somebody wrote to name it.
        load: Imports it.

    Raises:
        ValueError: inside :func:`nothing_imported`.
    """
    if not may_import():
        raise ValueError(
            f"{name} is code of another package, and none is imported where terms are signed (--import-packages)"
        )
    return load()
