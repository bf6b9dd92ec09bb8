"""The 1-bit mechanism on every feature (Ding et al. 2017; HoGS eq. 3).

A feature x in [low, high] becomes one bit, 1 with probability

    1 / (e^eps + 1) + (x - low) / (high - low) * (e^eps - 1) / (e^eps + 1).

HoGS prints x in place of x - low. With low != 0 that has another loss than eps, or is no
probability at all, so the correct numerator is used. Real values are put on a stated
public grid of ``grid`` steps first; binary features lie on it.

Loss of one feature: eps. Of the whole vector: d * eps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from devices.facts import PublicFacts
from devices.mechanisms.base import ONE, BoolArray, Loss, Mechanism, log_ratio, probability_threshold
from devices.mechanisms.bits import pack_plain, unpack_plain
from devices.noise import NoiseStream

if TYPE_CHECKING:
    from devices.data.population import Record

GRID = 1 << 16


@dataclass(frozen=True)
class OneBit(Mechanism):
    """Report each of d features as one bit.

    ``value``: float (d,); ``report``: bool (d,).

    Args:
        flip: 64-bit threshold of Pr[1 | x = low] = Pr[0 | x = high], 1 .. 2**63 - 1.
        d: Number of features.
        low, high: Public range; values outside are clamped.
        grid: Number of steps into which the range is cut.

    Raises:
        ValueError: for a threshold, size, range or grid that makes no sense.
    """

    flip: int
    d: int
    low: float = 0.0
    high: float = 1.0
    grid: int = GRID

    name: ClassVar[str] = "one_bit"
    version: ClassVar[int] = 1
    attributes: ClassVar[frozenset[str]] = frozenset({"features"})

    def __post_init__(self) -> None:
        if not 0 < self.flip < ONE // 2:
            raise ValueError(f"the flip threshold must lie in 1..2**63-1, not {self.flip}")
        if self.d < 1 or not 0 < self.high - self.low < math.inf or not 1 <= self.grid <= 1 << 20:
            raise ValueError(
                "1-bit needs d >= 1, a finite range low < high and a grid of 1..2**20 steps, "
                f"not d={self.d}, [{self.low}, {self.high}], {self.grid}"
            )

    @classmethod
    def from_epsilon(cls, epsilon: float, *, d: int, low: float = 0.0, high: float = 1.0) -> OneBit:
        """Return the mechanism whose loss per feature is at most ``epsilon``."""
        return cls(flip=probability_threshold(epsilon), d=d, low=float(low), high=float(high))

    @property
    def flip_probability(self) -> float:
        """q, the probability of a 1 at the low end of the range."""
        return self.flip / ONE

    def agrees_with(self, facts: PublicFacts) -> bool:
        return (self.d, self.low, self.high) == (facts.d, facts.feature_low, facts.feature_high)

    def thresholds(self, value: np.ndarray) -> np.ndarray:
        """uint64 (len(value),): the thresholds of Pr[1 | value]."""
        # fmax: what is no number counts as the low end, like all that lies below it.
        place = np.fmax(value, self.low, dtype=np.float64)
        np.fmin(place, self.high, out=place)
        place -= self.low
        place /= self.high - self.low
        place *= self.grid
        steps = np.rint(place, out=place).astype(np.uint64)
        risen = steps * np.uint64((ONE - 2 * self.flip) // self.grid)
        risen += np.uint64(self.flip)
        risen[steps >= self.grid] = ONE - self.flip
        return risen

    def perturb(self, value: np.ndarray, noise: NoiseStream) -> BoolArray:
        return noise.bernoulli(self.thresholds(value), len(value))

    def perturb_sparse(self, columns: np.ndarray, values: np.ndarray, noise: NoiseStream) -> BoolArray:
        """Same report as :meth:`perturb` of the dense vector; only non-zero entries are given.

        A column outside 0 .. d - 1 counts as the nearest one: nothing is raised, whatever the data.
        """
        thresholds = self._zeros.copy()
        thresholds.put(columns, self.thresholds(values), mode="clip")
        return noise.bernoulli(thresholds, self.d)

    def respond(
        self, record: Record, noise: NoiseStream, *, device: int, grouping: tuple[int, ...] | None = None
    ) -> bytes:
        return self.encode(self.perturb_sparse(record.feature_indices, record.feature_values, noise))

    @cached_property
    def _zeros(self) -> np.ndarray:
        return np.full(self.d, self.thresholds(np.zeros(1))[0], np.uint64)

    def encode(self, report: BoolArray) -> bytes:
        return pack_plain(report)

    def decode(self, data: bytes, *, device: int) -> BoolArray:
        return unpack_plain(data, self.d)

    def log_probability(self, report: BoolArray, value: np.ndarray) -> float:
        ones = self.thresholds(value).astype(object)
        return sum(math.log((t if bit else ONE - t) / ONE) for bit, t in zip(report, map(int, ones), strict=True))

    def estimate(self, report: BoolArray) -> np.ndarray:
        q = self.flip_probability
        return self.low + (self.high - self.low) * (report - q) / (1 - 2 * q)

    def variance(self, value: np.ndarray) -> np.ndarray:
        q = self.flip_probability
        one = self.thresholds(value).astype(np.float64) / ONE
        return ((self.high - self.low) / (1 - 2 * q)) ** 2 * one * (1 - one)

    def loss(self, *, device: int | None = None) -> Loss:
        return Loss(
            bit=log_ratio(ONE - self.flip, self.flip), vector=log_ratio(ONE - self.flip, self.flip, times=self.d)
        )
