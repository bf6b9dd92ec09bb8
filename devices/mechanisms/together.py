"""Draws of many devices at once, for :meth:`devices.mechanisms.base.Mechanism.respond_many`.

Each device has noise of its own. Only the arithmetic on it is done for several devices
together. A draw that consumes further words (a tie with a threshold, a word beyond the last
whole multiple of a bound) is rare: that device then responds alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from devices.array_types import BoolArray, IntArray
from devices.data.population import Record
from devices.noise import NoiseStream

AT_ONCE = 1 << 17  # words; 512 KiB of them stay in a core's cache
Words = NDArray[np.uint32]


def first_words(streams: Sequence[NoiseStream], sizes: Sequence[int]) -> Iterator[tuple[int, int, Words]]:
    """Yield (first, end, words): the first words of the streams first .. end - 1, joined.

    Args:
        streams: The noise of each device.
        sizes: How many words of each stream.
    """
    first, total = 0, 0
    for place, size in enumerate(sizes):
        if total and total + size > AT_ONCE:
            yield first, place, joined_words(streams[first:place], sizes[first:place])
            first, total = place, 0
        total += size
    if first < len(sizes):
        yield first, len(sizes), joined_words(streams[first:], sizes[first:])


def joined_words(streams: Sequence[NoiseStream], sizes: Sequence[int]) -> Words:
    """Return the first words of all streams, joined."""
    words = [stream.first_words(size) for stream, size in zip(streams, sizes, strict=True)]
    return np.frombuffer(b"".join(words), "<u4")


def dense_rows(records: Sequence[Record], d: int) -> NDArray[np.float32]:
    """float32 (len(records), d): the features of each record, as :func:`devices.mechanisms.base.dense_features`."""
    dense = np.zeros((len(records), d), np.float32)
    for row, record in zip(dense, records, strict=True):
        row.put(record.feature_indices, record.feature_values, mode="clip")
    return dense


def rows_with(marks: BoolArray, ends: IntArray) -> list[int]:
    """Return the numbers of the rows that hold a mark; row k ends before ``ends[k]``.

    >>> rows_with(np.array([False, True, True, False, False, True]), np.array([1, 3, 5, 6]))
    [1, 3]
    """
    return sorted(set(np.searchsorted(ends, np.flatnonzero(marks), side="right").tolist())) if marks.any() else []
