"""How many threads a full-batch training uses.

More threads than the work needs cost far more than they bring: 300 epochs on 3,000 nodes
took 1.2 s on one thread and 69 s on four of a busy machine, where they wait for each
other at every small operation. The choice depends on the problem, so that a seed gives
the same bytes whatever else the machine does. Only a process that shares its machine with
others of its kind (a sweep's worker) takes fewer: see :func:`limit_threads`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_ENTRIES_A_THREAD = 1 << 24
_most = 2


def limit_threads(most: int) -> None:
    """Let this process never use more than ``most`` threads."""
    global _most
    _most = most
    torch.set_num_threads(most)


@contextmanager
def threads_for(entries: int) -> Iterator[None]:
    """Use one thread for each 16 million entries of the feature matrix, at most two and one a core."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, min(_most, os.cpu_count() or 1, entries // _ENTRIES_A_THREAD)))
    try:
        yield
    finally:
        torch.set_num_threads(before)
