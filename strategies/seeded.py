"""Global random generators of a process, seeded for a while."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global states of ``random`` and ``numpy.random``, and put them back afterwards."""
    kept = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        yield
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])
