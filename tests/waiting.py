"""Waits that end when something is true: no clock of their own, so the load of the machine does not matter.

What never comes true is ended by pytest's own limit of a test (``timeout`` in ``pyproject.toml``), which says where.
"""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(true: Callable[[], object], *, needs: Callable[[], object] = lambda: True) -> None:
    """Wait until something is true.

    Args:
        true: Asked again and again.
        needs: What has to be true meanwhile, for example that a process still runs (AssertionError).
    """
    while not true():
        alive = bool(needs())
        assert alive or true(), "it ended before"
        time.sleep(0.01)
