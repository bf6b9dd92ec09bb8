"""Global random generators of a process, seeded for a while."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global states of ``random`` and ``numpy.random`` with all bits of a seed; put them back afterwards."""
    states = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(np.frombuffer(seed.to_bytes(4 * max(1, -(-seed.bit_length() // 32)), "little"), "<u4"))
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
