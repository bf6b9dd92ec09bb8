"""Columns of a large matrix in strips, so that work on them needs little memory beside the result.

A strip has 128 columns for up to 131,072 people, and fewer for more: about 64 MiB of float32. Every column is
worked on by itself, so the width changes no result.
"""

from __future__ import annotations

from collections.abc import Iterator

_MOST, _FEWEST = 128, 8  # whole bytes of packed bits
COMPARED = 256  # columns of a strip at most, where reconstructed features are compared with the truth
_ENTRIES = 1 << 24


def columns_at_once(rows: int, most: int = _MOST) -> int:
    """Return the number of columns of a strip, a multiple of 8.

    >>> columns_at_once(3000), columns_at_once(10**6), columns_at_once(10**8)
    (128, 16, 8)
    """
    return max(_FEWEST, min(most, _ENTRIES // max(1, rows) // 8 * 8))


def strips(rows: int, columns: int, most: int = _MOST) -> Iterator[slice]:
    """Yield the strips of a matrix with so many rows and columns.

    >>> [(strip.start, strip.stop) for strip in strips(3000, 300)]
    [(0, 128), (128, 256), (256, 300)]
    """
    width = columns_at_once(rows, most)
    for start in range(0, columns, width):
        yield slice(start, min(start + width, columns))
