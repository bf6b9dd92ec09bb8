"""Randomised response on an adjacency row.

Every reported bit is flipped with probability p = 1 / (e^eps + 1). Device i reports about
every j != i (``both``: both ends report each pair) or about j < i only (``one-end``).

Loss of one bit: eps = ln((1 - p) / p). Loss of the whole list: (number of bits) * eps. Loss
of an undirected edge: 2 eps if both ends report it, eps with ``one-end``
(:mod:`ldpsim.curator.privacy.guarantee`).

Where at most one bit in 16 is flipped, the exact number of flips is drawn (:mod:`ldpsim.devices.mechanisms.binomial`),
then a uniform subset of so many bits. The report is coded from the sorted ones, without a row of n bits: time O(flips +
neighbours). Otherwise there is one trial a bit. Only public parameters decide between the two. A ``one-end`` row takes
the flips of a whole row that fall into it.

Warner 1965, https://doi.org/10.1080/01621459.1965.10480775
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ldpsim.devices.array_types import BoolArray, FloatArray, IntArray
from ldpsim.devices.mechanisms.binomial import Binomial, binomial
from ldpsim.devices.mechanisms.exact_loss import ONE, log_ratio, probability_threshold
from ldpsim.devices.mechanisms.mechanism import Reporting
from ldpsim.devices.mechanisms.neighbour_lists import AdjacencyBits
from ldpsim.devices.mechanisms.sparse_batch import ROW, SparseBatch
from ldpsim.devices.mechanisms.subsets import NOTHING, distinct_integers
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
    >>> mechanism.draw(SparseBatch.of([np.array([True, False, False])]), Noise([bytes(32)]))[0].tolist()
    [True, False, False]
    """

    flip: int
    n: int
    reporting: Reporting = "both"

    loss_is_tight: ClassVar[bool] = True
    name: ClassVar[str] = "randomized_response"
    sampler: ClassVar[int] = 3

    def __post_init__(self) -> None:
        if not 0 < self.flip < ONE // 2:
            raise ValueError(f"the flip threshold must lie in 1..2**63-1, not {self.flip}")
        if self.n > NOTHING:
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
        return 8 + 2 * math.ceil(self._number_of_flips.mean) if self.few_flips else self.n

    def draw(self, values: SparseBatch, noise: Noise) -> SparseBatch:
        if not self.few_flips:
            bits = noise.bernoulli(self.flip, int(values.sizes.max(initial=0)))
            bits[values.rows, values.columns] ^= True
            return values.with_bits(bits)
        flips = distinct_integers(noise, self.n - 1, self._number_of_flips.counts(noise))
        if values.lengths is not None:
            flips = flips[(flips & NOTHING) < values.lengths[flips >> ROW]]
        return values.with_numbers(_in_one_alone(flips, values.numbers))

    @property
    def _number_of_flips(self) -> Binomial:
        return binomial(self.n - 1, self.flip)

    @cached_property
    def few_flips(self) -> bool:
        """Whether the sampler draws the number of the flips and then their places."""
        return self.flip <= _FEW and (self.n - 1) * self.flip < _MOST_FLIPS * ONE

    def log_probability(self, report: BoolArray, value: BoolArray) -> float:
        flipped = int(np.count_nonzero(report != value))
        p = self.flip_probability
        return flipped * math.log(p) + (len(value) - flipped) * math.log1p(-p)

    def estimate(self, report: BoolArray) -> np.ndarray:
        p = self.flip_probability
        return (report - p) / (1 - 2 * p)

    def log_likelihood(self, report: BoolArray) -> FloatArray:
        return math.log((ONE - self.flip) / self.flip) * (2.0 * np.asarray(report) - 1)

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return log_ratio(ONE - self.flip, self.flip, self.most_targets(device, changed))


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
