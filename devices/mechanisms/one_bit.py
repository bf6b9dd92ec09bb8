"""The 1-bit mechanism on every feature.

A feature x in [low, high] becomes one bit, 1 with probability

    1 / (e^eps + 1) + (x - low) / (high - low) * (e^eps - 1) / (e^eps + 1).

HoGS (eq. 3) prints x in place of x - low. With low != 0 that has another loss than eps, or
is no probability at all, so the correct numerator is used. Real values are put on a public
grid of ``grid`` steps first; binary features lie on it.

Loss of one feature: eps. Loss of the whole vector: d * eps.

Ding et al. 2017, https://arxiv.org/abs/1712.01524
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.array_types import BoolArray
from ldpsim.devices.data.population import Record
from ldpsim.devices.data.records import records_by_column
from ldpsim.devices.mechanisms.base import Grouping
from ldpsim.devices.mechanisms.bits import check_plain, pack_plain, rows_with, unpack_plain
from ldpsim.devices.mechanisms.exact_loss import ONE, log_ratio, probability_threshold
from ldpsim.devices.mechanisms.features import FeatureGrid
from ldpsim.devices.mechanisms.stacked_reports import DataOf, Filled, ReportStack, filled
from ldpsim.devices.noise import NoiseStream, first_words

GRID = 1 << 16


class FeatureBits(FeatureGrid):
    """Mechanism that reports a feature as one bit, 1 with a probability that rises from q to 1 - q over the range.

    Its dataclass has the field ``flip``, the 64-bit threshold of q.
    """

    flip: int

    def __post_init__(self) -> None:
        if not 0 < self.flip < ONE // 2:
            raise ValueError(f"the flip threshold must lie in 1..2**63-1, not {self.flip}")
        super().__post_init__()

    @property
    def flip_probability(self) -> float:
        """q, the probability of a 1 at the low end of the range."""
        return self.flip / ONE

    def thresholds(self, value: np.ndarray) -> np.ndarray:
        """uint64 (len(value),): the thresholds of Pr[1 | value]."""
        steps = self.steps(value).view(np.uint64)
        risen = steps * np.uint64((ONE - 2 * self.flip) // self.grid)
        risen += np.uint64(self.flip)
        risen[steps >= self.grid] = ONE - self.flip
        return risen

    def log_chance(self, bits: BoolArray, value: np.ndarray) -> float:
        """Return ln Pr[bits | value], one bit for each value."""
        ones = self.thresholds(value).astype(object)
        return sum(math.log((t if bit else ONE - t) / ONE) for bit, t in zip(bits, map(int, ones), strict=True))

    @property
    def bit_weight(self) -> float:
        """Log-odds of one reported bit: ln Pr[1 | high] / Pr[1 | low]."""
        return math.log((ONE - self.flip) / self.flip)

    def loss_of(self, changed: int) -> float:
        """Return the exact loss when this many reported features change."""
        return log_ratio(ONE - self.flip, self.flip, changed)


@dataclass(frozen=True)
class OneBit(FeatureBits):
    """Report each of d features as one bit.

    ``value``: float (d,); ``report``: bool (d,). Reports of many devices:
    uint8 (n, ceil(d / 8)), as ``np.packbits`` gives them.

    Args:
        flip: 64-bit threshold of Pr[1 | x = low] = Pr[0 | x = high], 1 .. 2**63 - 1.
        d: Number of features.
        low, high: Public range; values outside are clamped.
        grid: Number of steps into which the range is cut.

    Raises:
        ValueError: for an impossible threshold, size, range or grid.

    >>> mechanism = OneBit.from_epsilon(1.0, d=3)
    >>> mechanism.loss()
    Loss(bit=1.0, vector=3.0, delta=0.0)
    >>> mechanism.estimate(np.array([True, False, True])).round(3).tolist()
    [1.582, -0.582, 1.582]
    """

    flip: int
    d: int
    low: float = 0.0
    high: float = 1.0
    grid: int = GRID

    attained: ClassVar[bool] = True
    name: ClassVar[str] = "one_bit"
    version: ClassVar[int] = 1
    packed: ClassVar[bool] = True

    @classmethod
    def from_epsilon(cls, epsilon: float, *, d: int, low: float = 0.0, high: float = 1.0) -> OneBit:
        """Return the mechanism whose loss per feature is at most ``epsilon``."""
        return cls(flip=probability_threshold(epsilon), d=d, low=float(low), high=float(high))

    def perturb(self, value: np.ndarray, noise: NoiseStream) -> BoolArray:
        return noise.bernoulli(self.thresholds(value), len(value))

    def perturb_sparse(self, columns: np.ndarray, values: np.ndarray, noise: NoiseStream) -> BoolArray:
        """Draw the report that :meth:`perturb` draws of the dense vector, from its non-zero entries.

        A column outside 0 .. d - 1 counts as the nearest one: nothing is raised, whatever the data.
        """
        thresholds = self._zeros.copy()
        thresholds.put(columns, self.thresholds(values), mode="clip")
        return noise.bernoulli(thresholds, self.d)

    def respond(self, record: Record, noise: NoiseStream, *, device: int, grouping: Grouping = None) -> bytes:
        return self.encode(self.perturb_sparse(record.feature_indices, record.feature_values, noise))

    def respond_many(
        self, records: Sequence[Record], streams: Sequence[NoiseStream], *, devices: Sequence[int],
        grouping: Grouping = None,
    ) -> list[bytes]:  # fmt: skip
        if type(self) is not OneBit:  # a class of its own may respond in another way
            return super().respond_many(records, streams, devices=devices, grouping=grouping)
        zero = np.uint32(int(self._zeros[0]) >> 32)
        everybody = records_by_column(records)
        reports: list[bytes] = []
        for first, end, words in first_words(streams, [self.d] * len(streams)):
            people = everybody[first:end]
            rows = np.repeat(np.arange(len(people)) * self.d, people.feature_counts)
            places = people.feature_indices.clip(0, self.d - 1) + rows
            tops = self.thresholds(people.feature_values) >> np.uint64(32)
            bits = words < zero
            bits[places] = words[places] < tops  # of a column that is given twice the last value counts, as in put
            tied = words == zero
            tied[places] |= words[places] == tops
            packed = np.packbits(bits.reshape(-1, self.d), axis=1)
            reports += [row.tobytes() for row in packed]
            for place in rows_with(tied, np.arange(1, len(people) + 1) * self.d):
                alone = first + place
                reports[alone] = self.respond(people[place], streams[alone], device=devices[alone])
        return reports

    @cached_property
    def _zeros(self) -> np.ndarray:
        return np.full(self.d, self.thresholds(np.zeros(1))[0], np.uint64)

    def encode(self, report: BoolArray) -> bytes:
        return pack_plain(report)

    def decode(self, data: bytes, *, device: int) -> BoolArray:
        return unpack_plain(data, self.d)

    def stack(self, rows: DataOf, n: int) -> Any:
        """uint8 (n, ceil(d / 8)): the bits as they came."""
        return filled(rows, self._bytes, np.zeros((n, (self.d + 7) // 8), np.uint8))

    def stacker(self, n: int) -> ReportStack:
        if type(self).stack is not OneBit.stack:
            return super().stacker(n)
        return Filled(self._bytes, np.zeros((n, (self.d + 7) // 8), np.uint8), self._many_bytes)

    def _many_bytes(self, rows: Sequence[bytes]) -> np.ndarray:
        for data in rows:
            check_plain(data, self.d)
        return np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1)

    def _bytes(self, data: bytes, *, device: int) -> np.ndarray:
        check_plain(data, self.d)
        return np.frombuffer(data, np.uint8)

    def log_probability(self, report: BoolArray, value: np.ndarray) -> float:
        return self.log_chance(report, value)

    @property
    def most_likely(self) -> float:
        return math.exp(self.d * math.log1p(-self.flip_probability))

    def chance_of_one(self, value: np.ndarray) -> np.ndarray:
        return self.thresholds(value).astype(np.float64) / ONE

    def estimate(self, report: BoolArray) -> np.ndarray:
        q = self.flip_probability
        return self.low + (self.high - self.low) * (report - q) / (1 - 2 * q)

    def variance(self, value: np.ndarray) -> np.ndarray:
        q = self.flip_probability
        one = self.chance_of_one(value)
        return ((self.high - self.low) / (1 - 2 * q)) ** 2 * one * (1 - one)

    @property
    def weight(self) -> float:
        return self.bit_weight
