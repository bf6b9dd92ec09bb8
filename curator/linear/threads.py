"""Number of threads of a full-batch training.

Too many threads are slow: 300 epochs on 3,000 nodes took 1.2 s on one thread and 69 s on four
of a busy machine, where they wait for each other at every small operation. The number depends on
the problem alone, so that a seed gives the same bytes on a busy machine too. A process that
shares its machine with others of its kind (a sweep's worker) uses fewer: see :func:`limit_threads`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_ENTRIES_A_THREAD = 1 << 24
_most = 2


def limit_threads(most: int) -> None:
    """Limit this process to ``most`` threads."""
    global _most
    _most = most
    torch.set_num_threads(most)


def trainings_at_once(entries: int) -> int:
    """Return how many trainings with a feature matrix of so many entries may run side by side in this process.

    Each then uses one thread, as it does alone. One, where torch itself was limited to one thread.
    """
    most = min(_most, os.cpu_count() or 1, torch.get_num_threads())
    return most if entries // _ENTRIES_A_THREAD <= 1 else 1


@contextmanager
def threads_for(entries: int) -> Iterator[None]:
    """Use one thread for each 16 million entries of the feature matrix, at most two and one a core."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, min(_most, os.cpu_count() or 1, entries // _ENTRIES_A_THREAD)))
    try:
        yield
    finally:
        torch.set_num_threads(before)
