"""Reports of sampler 2 of randomised response for many devices at once, byte for byte those of each device alone.

All flips and all neighbours of a batch are numbers in one array: the row, then the place in the row. One sort finds
what is in both. A row with a dropped word or a repeated place takes its next words. A row whose draw is out of the
ordinary (a tie, very many flips) is left to the device's own
:meth:`~devices.mechanisms.randomized_response.RandomizedResponse.respond`. Noise alone decides that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from devices.array_types import BoolArray, IntArray, Words
from devices.data.population import Record
from devices.data.records import joined
from devices.mechanisms.bits import pack_rows
from devices.noise import NoiseStream, joined_words
from devices.sampling.binomial import Binomial

_WORDS = 1 << 16  # of noise that one batch holds: its arrays stay in a core's cache
_ROW, _PLACE = 33, 1  # a number is row << 33 | place << 1 | (1 for a neighbour, 0 for a flip)


def sparse_reports(
    law: Binomial, records: Sequence[Record], streams: Sequence[NoiseStream], devices: Sequence[int], *, one_end: bool
) -> list[bytes | None]:
    """Return each device's report; None for a device that is left to its own ``respond``.

    Args:
        law: Law of the number of flips in a whole row.
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
        flips, left = _flips(law, streams[part], words)
        who = np.array(devices[part], np.int64)
        numbers = np.concatenate((flips, _neighbours(records[part], who, law.trials + 1)))
        numbers.sort()
        places = _in_one(numbers)
        rows, places = places >> _ROW, places >> _PLACE & (1 << _ROW - _PLACE) - 1
        sizes = np.full(len(who), law.trials)
        if one_end:
            inside = places < who[rows]
            rows, places, sizes = rows[inside], places[inside], who
        reports = pack_rows(places, rows, sizes)
        found += [None if alone else report for alone, report in zip(left.tolist(), reports, strict=True)]
    return found


def _words(law: Binomial) -> int:
    """Return how many words hardly any row needs more than: two for the count, one for each flip, and some to spare."""
    return 2 + math.ceil(law.mean + 6 * math.sqrt(law.mean) + 8)


def _flips(law: Binomial, streams: Sequence[NoiseStream], words: int) -> tuple[IntArray, BoolArray]:
    """Return the numbers of the flips, and bool (rows,): the rows whose draw needs more than the first words."""
    noise = joined_words(streams, [words] * len(streams)).reshape(-1, words)
    first = noise[:, 0].astype(np.uint64) << np.uint64(32) | noise[:, 1]
    floors = _floors(law)
    counts = np.searchsorted(floors, first)
    left = (floors[np.minimum(counts, len(floors) - 1)] == first) | (counts > words - 2)
    counts[left] = 0
    used = np.arange(int(counts.max(initial=0))) < counts[:, None]
    numbers, fair = _numbers(noise[:, 2 : 2 + used.shape[1]][used], law.trials)
    rows = np.repeat(np.arange(len(counts)), counts)
    flips = rows << _ROW | numbers << _PLACE
    flips.sort()
    odd = np.zeros(len(counts), np.bool_)
    odd[rows[~fair]] = True
    odd[flips[1:][flips[1:] == flips[:-1]] >> _ROW] = True
    if odd.any():
        drawn = [flips[~odd[flips >> _ROW]]]
        for row in np.flatnonzero(odd).tolist():
            places = _first_different(noise[row, 2:], law.trials, int(counts[row]))
            left[row] |= len(places) < counts[row]
            drawn.append(row << _ROW | places << _PLACE)
        flips = np.concatenate(drawn)
    return flips, left


def _first_different(words: Words, bound: int, count: int) -> IntArray:
    """Return the first ``count`` different numbers that the words give; fewer where the words do not suffice."""
    numbers, fair = _numbers(words, bound)
    numbers = numbers[fair]
    taken, found = count, np.unique(numbers[:count])
    while len(found) < count and taken < len(numbers):
        taken += count - len(found)
        found = np.unique(numbers[:taken])
    return found


def _numbers(words: Words, bound: int) -> tuple[IntArray, BoolArray]:
    """Return the number below the bound that each word gives, and whether the word counts.

    As :meth:`devices.noise.NoiseStream.distinct_integers` draws them.
    """
    products = words * np.uint64(bound)
    fair = (products & np.uint64(0xFFFFFFFF)) >= np.uint64((1 << 32) % bound)
    return (products >> np.uint64(32)).view(np.int64), fair


@lru_cache(maxsize=8)
def _floors(law: Binomial) -> np.ndarray:
    return np.array(law.floors(64), np.uint64)


def _neighbours(records: Sequence[Record], who: IntArray, n: int) -> IntArray:
    """Return the numbers of the neighbours, sorted, each once."""
    people = joined(records)
    rows = np.repeat(np.arange(len(people)), people.neighbour_counts)
    nodes = people.neighbours.astype(np.int64).clip(0, n - 1)
    own = who[rows]
    numbers = (rows << _ROW | (nodes - (nodes > own)) << _PLACE | 1)[nodes != own]
    numbers.sort()
    return numbers[np.diff(numbers, prepend=-1) != 0]


def _in_one(numbers: IntArray) -> IntArray:
    """Return the sorted numbers whose place is a flip or a neighbour, not both."""
    same = numbers[1:] >> _PLACE == numbers[:-1] >> _PLACE
    alone = np.ones(len(numbers), np.bool_)
    alone[1:] &= ~same
    alone[:-1] &= ~same
    return numbers[alone]
