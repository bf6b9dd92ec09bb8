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
whose draw is out of the ordinary (a tie, very many flips) is drawn from the device's own stream. Noise alone decides
that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from ldpsim.devices.array_types import BoolArray, IntArray, Words
from ldpsim.devices.mechanisms.base import AdjacencyBits, Reporting
from ldpsim.devices.mechanisms.exact_loss import ONE, log_ratio, probability_threshold
from ldpsim.devices.mechanisms.sampling import Binomial, binomial
from ldpsim.devices.mechanisms.sparse_rows import ROW, SparseRows
from ldpsim.devices.noise import Noise

# Limits of the sparse way; they are part of the version's meaning.
_FEW = ONE // 16  # largest threshold
_MOST_FLIPS = 1 << 17  # bound of the expected number of flips: the table has about as many entries


@dataclass(frozen=True)
class RandomizedResponse(AdjacencyBits):
    """Flip each reported bit of the adjacency row with probability ``flip`` / 2**64.

    ``value`` and ``report``: bool (number of targets,), by target in rising order;
    :meth:`nodes` gives the nodes at its places.

    Args:
        flip: 64-bit flip threshold, 1 .. 2**63 - 1.
        n: Number of people.
        reporting: ``both`` or ``one-end``.

    Raises:
        ValueError: for a threshold or a size outside its range.

    >>> mechanism = RandomizedResponse.from_epsilon(1.0, n=4)
    >>> mechanism.loss()
    Loss(bit=1.0, vector=3.0, delta=0.0)
    >>> mechanism.draw(SparseRows.of([np.array([True, False, False])]), Noise([bytes(32)]))[0].tolist()
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
        if self.n > MOST_BITS:
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

    @property
    def width(self) -> int:
        return 2 * _words(self._law) if self.few_flips else self.n

    def draw(self, values: SparseRows, noise: Noise) -> SparseRows:
        if not self.few_flips:
            bits = noise.bernoulli_by_bytes(self.flip, values.sizes)
            bits[values.rows, values.columns] ^= True
            return values.with_bits(bits)
        flips = self._flips(noise)
        rows = np.arange(len(values)) << ROW
        inside = flips < values.sizes[:, None]
        drawn = np.repeat(rows, np.count_nonzero(inside, axis=1)) | flips[inside]
        return values.with_numbers(_in_one_alone(drawn, values.numbers))

    @property
    def _law(self) -> Binomial:
        return binomial(self.n - 1, self.flip)

    @cached_property
    def few_flips(self) -> bool:
        """Whether the sampler draws the number of the flips and then their places."""
        return self.flip <= _FEW and (self.n - 1) * self.flip < _MOST_FLIPS * ONE

    def _flips(self, noise: Noise) -> Words:
        """uint32 (devices, most flips): sorted places of the flips in a whole row of each, then :data:`_NONE`."""
        if self.n == 1:
            return np.zeros((len(noise), 0), np.uint32)
        flips, left = _flips(self._law, noise, _words(self._law))
        for row in np.flatnonzero(left).tolist():
            own = noise.streams[row]
            places = own.distinct_integers(self.n - 1, self._law.count(own.word)).astype(np.uint32)
            spare = len(places) - flips.shape[1]
            flips = np.pad(flips, ((0, 0), (0, max(0, spare))), constant_values=_NONE)
            flips[row] = _NONE
            flips[row, : len(places)] = places
        return flips

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


def _in_one_alone(one: IntArray, other: IntArray) -> IntArray:
    """Return the numbers that one of two sorted arrays has and the other has not, sorted."""
    numbers = np.empty(len(one) + len(other), np.int64)
    at = np.searchsorted(one, other) + np.arange(len(other))
    rest = np.ones(len(numbers), np.bool_)
    rest[at] = False
    numbers[at], numbers[rest] = other, one
    same = numbers[1:] == numbers[:-1]
    alone = np.ones(len(numbers), np.bool_)
    alone[1:] &= ~same
    alone[:-1] &= ~same
    return numbers[alone]


def _words(law: Binomial) -> int:
    """Return how many words hardly any row needs more than: two for the count, one for each flip, and some to spare."""
    repeated = law.mean * law.mean / max(law.trials, 1)  # an upper bound
    return 2 + math.ceil(law.mean + repeated + 6 * math.sqrt(law.mean) + 8)


def _flips(law: Binomial, noise: Noise, words: int) -> tuple[Words, BoolArray]:
    """Return the sorted flips of each row, then :data:`_NONE`; and the rows whose draw needs more than these words."""
    drawn = noise.first_words(words)
    first = drawn[:, 0].astype(np.uint64) << np.uint64(32) | drawn[:, 1]
    floors = _floors(law)
    counts = np.searchsorted(floors, first)
    left = (floors[np.minimum(counts, len(floors) - 1)] == first) | (counts > words - 2)
    counts[left] = 0
    width = int(counts.max(initial=0))
    flips = _places(drawn[:, 2 : 2 + width], law.trials)
    np.putmask(flips, np.arange(width) >= counts[:, None], _NONE)
    flips.sort(axis=1)
    # Equal neighbours are repeated places, or the rest of the row; a row that ends too early has dropped words.
    equal = np.count_nonzero(flips[:, 1:] == flips[:, :-1], axis=1)
    odd = equal != np.maximum(width - counts - 1, 0)
    odd |= (counts > 0) & (flips[np.arange(len(counts)), counts - 1] == _NONE) if width else False
    places = np.flatnonzero(odd)
    flips[places], left[places] = _completed(flips[places], counts[places], drawn[places, 2:], law.trials, left[places])
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
