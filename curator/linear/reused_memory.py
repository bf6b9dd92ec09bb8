"""Memory of large arrays that is used again, where it would be given back and asked for again in each epoch.

The allocator of glibc maps an array of 32 MiB or more by itself, and unmaps it when it is freed. The system fills each
page of the next one with zeros: a tenth of an epoch's CPU time with a million people.

Large pages for large arrays (``THP_MEM_ALLOC_ENABLE`` of PyTorch, Linux). A sparse product reads the rows of a large
array in any order, and finds each one's page first. With pages of 2 MiB it takes half the time with a million people.
No number changes.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # PyTorch reads it at its first array

MAPPED = 32 << 20  # bytes of an array from which glibc maps it by itself, at its largest
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # malloc.h
_LARGEST, _KEPT = 1 << 28, 1 << 30  # of an array that is kept, and of all that is kept at the top of the heap


@contextmanager
def reused_memory(size: int) -> Iterator[None]:
    """Keep freed arrays of up to 256 MiB in this process until the end of the block, at most 1 GiB of them.

    Args:
        size: Bytes of the arrays that the block makes again and again. Small ones are kept in any case: then nothing
            changes. Nor does it where the C library is another one.
    """
    library = ctypes.CDLL(None) if sys.platform == "linux" and size >= MAPPED else None
    if library is None or not hasattr(library, "gnu_get_libc_version"):
        yield
        return
    library.mallopt(_MMAP_THRESHOLD, _LARGEST)
    library.mallopt(_TRIM_THRESHOLD, _KEPT)
    try:
        yield
    finally:
        library.mallopt(_MMAP_THRESHOLD, MAPPED)
        library.mallopt(_TRIM_THRESHOLD, 2 * MAPPED)
        library.malloc_trim(0)
