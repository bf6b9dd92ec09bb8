"""How many threads a full-batch training uses.

More threads than the work needs cost far more than they bring: 300 epochs on 3,000 nodes
took 1.2 s on one thread and 69 s on four of a busy machine, where they wait for each
other at every small operation. The choice depends on the problem, so that a seed gives
the same bytes whatever else the machine does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_ENTRIES_A_THREAD = 1 << 24


@contextmanager
def threads_for(entries: int) -> Iterator[None]:
    """Use one thread for each 16 million entries of the feature matrix, at most four and one a core."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, min(4, os.cpu_count() or 1, entries // _ENTRIES_A_THREAD)))
    try:
        yield
    finally:
        torch.set_num_threads(before)
