"""The imports of a command that makes runs."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def large_imports() -> Iterator[None]:
    """Import what runs use, and keep it out of the garbage collector's sight for the rest of the process.

    An import makes hundreds of thousands of objects that stay. The collector walks through all of them several times
    while they come, and again at the end of the process: a third of the CPU time of a small run's start.
    Nothing is done where the imports have been made before: what is there then may be garbage later.
    """
    if "ldpsim.strategies.runs.simulate" in sys.modules:
        yield
        return
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
        from ldpsim.strategies.engines.collect import leave_old_objects_alone

        leave_old_objects_alone()
    finally:
        if collects:
            gc.enable()
