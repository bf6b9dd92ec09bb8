"""Reports of randomised response for many devices at once, byte for byte those of each device alone.

The flips of a batch are an array with a row for each device, and each row is sorted. A row with a dropped word or a
repeated place takes its next words. Then the neighbours are put between the flips, and what is in both goes. A row
whose draw is out of the ordinary (a tie, very many flips) is left to
:mod:`~ldpsim.devices.mechanisms.randomized_response`, which draws it from the device's own stream. Noise alone decides
that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ldpsim.devices.array_types import BoolArray, IntArray, Words
from ldpsim.devices.data.population import Record
from ldpsim.devices.data.records import records_by_column
from ldpsim.devices.mechanisms.bits import pack_rows
from ldpsim.devices.noise import NoiseStream, joined_words
from ldpsim.devices.sampling.binomial import Binomial

MOST_BITS = (1 << 32) - 1  # of a row: a place has 32 bits, and not all of them are 1
_NONE = np.uint32(MOST_BITS)  # where a row of the array holds no flip; it comes after all places
_WORDS = 1 << 16  # of noise that one batch holds: its arrays stay in a core's cache
_ROW = 32  # a number is row << 32 | place


def sparse_reports(
    law: Binomial, records: Sequence[Record], streams: Sequence[NoiseStream], devices: Sequence[int], *, one_end: bool
) -> list[bytes | None]:
    """Return each device's report; None for a device that is left to its own stream.

    Args:
        law: Law of the number of flips in a whole row of at most :data:`MOST_BITS` bits.
        records: The records of the devices.
        streams: The noise of each one; nothing is taken from a stream that is left over.
        devices: The devices' numbers.
        one_end: Whether a device reports about those before it only.
    """
    words = _words(law)
    step = max(_WORDS // words, 1)
    found: list[bytes | None] = []
    for start in range(0, len(records), step):
        part = slice(start, start + step)
        who = np.array(devices[part], np.int64)
        sizes = who if one_end else np.full(len(who), law.trials)
        flips, left = _flips(law, streams[part], words)
        ones, counts = _reported(flips, records[part], who, law.trials + 1, sizes)
        reports = pack_rows(ones, counts, sizes)
        found += [None if alone else report for alone, report in zip(left.tolist(), reports, strict=True)]
    return found


def _words(law: Binomial) -> int:
    """Return how many words hardly any row needs more than: two for the count, one for each flip, and some to spare."""
    repeated = law.mean * law.mean / max(law.trials, 1)  # an upper bound
    return 2 + math.ceil(law.mean + repeated + 6 * math.sqrt(law.mean) + 8)


def _flips(law: Binomial, streams: Sequence[NoiseStream], words: int) -> tuple[Words, BoolArray]:
    """Return the sorted flips of each row, then :data:`_NONE`; and the rows whose draw needs more than these words."""
    noise = joined_words(streams, words)
    first = noise[:, 0].astype(np.uint64) << np.uint64(32) | noise[:, 1]
    floors = _floors(law)
    counts = np.searchsorted(floors, first)
    left = (floors[np.minimum(counts, len(floors) - 1)] == first) | (counts > words - 2)
    counts[left] = 0
    width = int(counts.max(initial=0))
    flips = _places(noise[:, 2 : 2 + width], law.trials)
    np.putmask(flips, np.arange(width) >= counts[:, None], _NONE)
    flips.sort(axis=1)
    # Equal neighbours are repeated places, or the rest of the row; a row that ends too early has dropped words.
    equal = np.count_nonzero(flips[:, 1:] == flips[:, :-1], axis=1)
    odd = equal != np.maximum(width - counts - 1, 0)
    odd |= (counts > 0) & (flips[np.arange(len(counts)), counts - 1] == _NONE) if width else False
    places = np.flatnonzero(odd)
    flips[places], left[places] = _completed(flips[places], counts[places], noise[places, 2:], law.trials, left[places])
    return flips, left


def _completed(flips: Words, counts: IntArray, noise: Words, bound: int, left: BoolArray) -> tuple[Words, BoolArray]:
    """Return the rows with so many different flips each, from their next words; and those with too few words."""
    taken, left = counts.copy(), left.copy()
    while True:
        np.putmask(flips[:, 1:], flips[:, 1:] == flips[:, :-1], _NONE)
        flips.sort(axis=1)
        missing = counts - np.count_nonzero(flips != _NONE, axis=1)
        left |= taken + missing > noise.shape[1]
        missing[left] = 0
        total = int(missing.sum())
        if not total:
            return flips, left
        rows = np.repeat(np.arange(len(counts)), missing)
        further = np.arange(total) - np.repeat(np.cumsum(missing) - missing, missing)
        flips[rows, (counts - missing)[rows] + further] = _places(noise[rows, taken[rows] + further], bound)
        flips.sort(axis=1)
        taken += missing


def _places(words: Words, bound: int) -> Words:
    """Return the place below the bound that each word gives, :data:`_NONE` for a word that does not count.

    As :meth:`ldpsim.devices.noise.NoiseStream.distinct_integers` draws them.
    """
    products = words * np.uint64(bound)
    places = (products >> np.uint64(32)).astype(np.uint32)
    np.putmask(places, products.astype(np.uint32) < np.uint32((1 << 32) % bound), _NONE)
    return places


@lru_cache(maxsize=8)
def _floors(law: Binomial) -> np.ndarray:
    return np.array(law.floors(64), np.uint64)


def _reported(
    flips: Words, records: Sequence[Record], who: IntArray, n: int, sizes: IntArray
) -> tuple[Words, IntArray]:
    """Return the places of the ones of each row, sorted, joined, and their number: flips or neighbours, not both."""
    inside = flips < sizes[:, None]
    rows = np.arange(len(who)) << _ROW
    drawn = np.repeat(rows, np.count_nonzero(inside, axis=1)) | flips[inside]
    near = _neighbours(records, who, n, sizes)
    numbers = np.empty(len(drawn) + len(near), np.int64)
    at = np.searchsorted(drawn, near) + np.arange(len(near))
    others = np.ones(len(numbers), np.bool_)
    others[at] = False
    numbers[at], numbers[others] = near, drawn
    same = numbers[1:] == numbers[:-1]
    alone = np.ones(len(numbers), np.bool_)
    alone[1:] &= ~same
    alone[:-1] &= ~same
    ones = numbers[alone]
    return ones.astype(np.uint32), np.diff(np.searchsorted(ones, np.append(rows, len(rows) << _ROW)))


def _neighbours(records: Sequence[Record], who: IntArray, n: int, sizes: IntArray) -> IntArray:
    """Return the numbers of the neighbours that a row tells about, sorted, each once."""
    people = records_by_column(records)
    rows = np.repeat(np.arange(len(people)), people.neighbour_counts)
    nodes = people.neighbours.astype(np.int64).clip(0, n - 1)
    own = who[rows]
    places = nodes - (nodes > own)
    numbers = (rows << _ROW | places)[(nodes != own) & (places < sizes[rows])]
    numbers.sort()
    return numbers[np.diff(numbers, prepend=-1) != 0]
