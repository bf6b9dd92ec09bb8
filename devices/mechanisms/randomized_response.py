"""Randomised response on an adjacency row.

Every reported bit is flipped with probability p = 1 / (e^eps + 1). Device i reports about
every j != i (``both``: both ends report each pair) or about j < i only (``one-end``).

Loss of one bit: eps = ln((1 - p) / p). Loss of the whole list: (number of bits) * eps. Loss
of an undirected edge: 2 eps if both ends report it, eps with ``one-end``
(:mod:`ldpsim.curator.privacy.guarantee`).

Where at most one bit in 16 is flipped, the exact number of flips is drawn (:mod:`ldpsim.devices.mechanisms.sampling`),
then a uniform subset of so many bits. The report is coded from the sorted ones, without a row of n bits: time O(flips +
neighbours). Otherwise there is one trial a bit. Only public parameters decide between the two. A ``one-end`` row takes
the flips of a whole row that fall into it.

Warner 1965, https://doi.org/10.1080/01621459.1965.10480775

Reports of randomised response for many devices at once, byte for byte those of each device alone.

The flips of a batch are an array with a row for each device, and each row is sorted. A row with a dropped word or a
repeated place takes its next words. Then the neighbours are put between the flips, and what is in both goes. A row
whose draw is out of the ordinary (a tie, very many flips) is left to
:mod:`~ldpsim.devices.mechanisms.randomized_response`, which draws it from the device's own stream. Noise alone decides
that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from ldpsim.devices.array_types import BoolArray, IntArray, Words
from ldpsim.devices.data.population import Record, records_by_column
from ldpsim.devices.mechanisms.base import FEW, AdjacencyBits, Grouping, Reporting, existing
from ldpsim.devices.mechanisms.bits import pack_positions, pack_rows
from ldpsim.devices.mechanisms.exact_loss import ONE, log_ratio, probability_threshold
from ldpsim.devices.mechanisms.sampling import Binomial, binomial
from ldpsim.devices.noise import NoiseStream, joined_words

# Limits of the sparse way; they are part of the version's meaning.
_FEW = ONE // 16  # largest threshold
_MOST_FLIPS = 1 << 17  # bound of the expected number of flips: the table has about as many entries


@dataclass(frozen=True)
class RandomizedResponse(AdjacencyBits):
    """Flip each reported bit of the adjacency row with probability ``flip`` / 2**64.

    ``value`` and ``report``: bool (number of targets,), by target in rising order;
    :meth:`positions` and :meth:`nodes` convert between nodes and places.

    Args:
        flip: 64-bit flip threshold, 1 .. 2**63 - 1.
        n: Number of people.
        reporting: ``both`` or ``one-end``.

    Raises:
        ValueError: for a threshold or a size outside its range.

    >>> mechanism = RandomizedResponse.from_epsilon(1.0, n=4)
    >>> mechanism.loss()
    Loss(bit=1.0, vector=3.0, delta=0.0)
    >>> mechanism.perturb(np.array([True, False, False]), NoiseStream(bytes(32))).tolist()
    [True, True, False]
    """

    flip: int
    n: int
    reporting: Reporting = "both"

    attained: ClassVar[bool] = True
    name: ClassVar[str] = "randomized_response"
    sampler: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not 0 < self.flip < ONE // 2:
            raise ValueError(f"the flip threshold must lie in 1..2**63-1, not {self.flip}")
        if self.n - 1 > 1 << 32:
            raise ValueError(f"randomised response does not draw rows of {self.n} people")
        super().__post_init__()

    @classmethod
    def from_epsilon(cls, epsilon: float, *, n: int, reporting: Reporting = "both") -> RandomizedResponse:
        """Return the mechanism whose loss per bit is at most ``epsilon``."""
        return cls(flip=probability_threshold(epsilon), n=n, reporting=reporting)

    @property
    def flip_probability(self) -> float:
        """p, the probability that a bit is flipped."""
        return self.flip / ONE

    @property
    def flip_odds(self) -> float:
        """p / (1 - p), exact up to the last rounding."""
        return self.flip / (ONE - self.flip)

    def perturb(self, value: BoolArray, noise: NoiseStream) -> BoolArray:
        if not self.few_flips:
            return noise.bernoulli_by_bytes(self.flip, len(value)) ^ value
        report = value.copy()
        report[self.flips(noise, len(value))] ^= True
        return report

    @property
    def _law(self) -> Binomial:
        return binomial(self.n - 1, self.flip)

    @cached_property
    def few_flips(self) -> bool:
        """Whether the sampler draws the number of the flips and then their places."""
        return self.flip <= _FEW and (self.n - 1) * self.flip < _MOST_FLIPS * ONE

    def flips(self, noise: NoiseStream, size: int) -> IntArray:
        """Return the sorted places of the flipped bits in a row of ``size`` bits."""
        places = noise.distinct_integers(self.n - 1, self._law.count(noise.word))
        return places if size == self.n - 1 else places[: np.searchsorted(places, size)]

    def respond(
        self, records: Sequence[Record], streams: Sequence[NoiseStream], *, devices: Sequence[int],
        grouping: Grouping = None,
    ) -> list[bytes]:  # fmt: skip
        if not self.few_flips:
            return super().respond(records, streams, devices=devices, grouping=grouping)
        reports: Sequence[bytes | None] = [None] * len(records)
        if len(records) >= FEW and 1 < self.n <= MOST_BITS:
            reports = sparse_reports(self._law, records, streams, devices, one_end=self.reporting == "one-end")
        return [
            self._sparse(records[place], streams[place], devices[place]) if report is None else report
            for place, report in enumerate(reports)
        ]

    def _sparse(self, record: Record, noise: NoiseStream, device: int) -> bytes:
        """Return the bytes of a report whose flips are drawn alone."""
        size = self.targets(device)
        ones = self.positions(device, existing(record.neighbours, self.n))
        return pack_positions(np.setxor1d(self.flips(noise, size), ones, assume_unique=True), size)

    def log_probability(self, report: BoolArray, value: BoolArray) -> float:
        flipped = int(np.count_nonzero(report != value))
        p = self.flip_probability
        return flipped * math.log(p) + (len(value) - flipped) * math.log1p(-p)

    def estimate(self, report: BoolArray) -> np.ndarray:
        p = self.flip_probability
        return (report - p) / (1 - 2 * p)

    @property
    def weight(self) -> float:
        return math.log((ONE - self.flip) / self.flip)

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return log_ratio(ONE - self.flip, self.flip, self.most_targets(device, changed))


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
    all_reports: list[bytes | None] = []
    for start in range(0, len(records), step):
        part = slice(start, start + step)
        who = np.array(devices[part], np.int64)
        sizes = who if one_end else np.full(len(who), law.trials)
        flips, left = _flips(law, streams[part], words)
        ones, counts = _reported(flips, records[part], who, law.trials + 1, sizes)
        reports = pack_rows(ones, counts, sizes)
        all_reports += [None if alone else report for alone, report in zip(left.tolist(), reports, strict=True)]
    return all_reports


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
