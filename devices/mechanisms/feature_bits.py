"""Bits about features: the 1-bit mechanism on every feature, and the multi-bit mechanism on some of them.

A feature x in [low, high] becomes one bit, 1 with probability

    1 / (E + 1) + (x - low) / (high - low) * (E - 1) / (E + 1),    E = e^e for a loss of e a bit.

HoGS (eq. 3) prints x in place of x - low. With low != 0 that has another loss than e, or is no probability at all, so
the correct numerator is used. Real values are put on a public grid of ``grid`` steps first; binary features lie on it.

- ``one_bit`` reports every feature. Loss of one feature: e = eps. Loss of the whole vector: d * eps.
  Ding et al. 2017, https://arxiv.org/abs/1712.01524
- ``multi_bit`` (LPGNN, Section 3.1, Algorithm 1): m of the d features are drawn without replacement, and e = eps / m. A
  drawn feature is reported as +1 or -1, the others as 0. Rectifier (eq. 4):
  x' = d (high - low) / 2m * (E + 1) / (E - 1) * x* + (low + high) / 2. The report shows which features were drawn, and
  that does not depend on the values. What is left are m independent bits. Exact losses: one feature eps/m, k features
  min(k, m) * eps/m, the vector eps. With m = d this is the 1-bit mechanism at full budget.
  Sajadmanesh and Gatica-Perez 2021, https://arxiv.org/abs/2006.05535
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.array_types import BoolArray, FloatArray, IntArray
from ldpsim.devices.mechanisms.codecs import pack_bit_rows, pack_rows, unpack_bit_rows, unpack_many
from ldpsim.devices.mechanisms.exact_loss import ONE, check_epsilon, log_ratio, probability_threshold
from ldpsim.devices.mechanisms.features import FeatureGrid
from ldpsim.devices.mechanisms.mechanism import changes
from ldpsim.devices.mechanisms.sparse_batch import SparseBatch
from ldpsim.devices.mechanisms.subsets import subset
from ldpsim.devices.noise import Noise

GRID = 1 << 16
RULES = ("optimal", "floor")
_OPTIMUM = 2.1773189849653067  # sinh z = 2z


def sampled_features(epsilon: float, d: int, rule: str = "optimal") -> int:
    """Return how many features to sample.

    ``optimal`` minimises the rectifier's variance, f(m) = coth^2(eps / 2m) / m, over the
    integers 1 .. d. ``floor`` is the paper's eq. 6, max(1, min(d, floor(eps / 2.18))). Its
    variance is up to a third larger: f has its minimum at eps/m = 2.177 (sinh z = 2z), and
    rounding that down does not give the integer optimum.

    Raises:
        ValueError: for another rule, or an epsilon that is not a positive finite number.
    """
    check_epsilon(epsilon)
    below = max(1, min(d, math.floor(epsilon / 2.18)))
    if rule == "floor":
        return below
    if rule != "optimal":
        raise ValueError(f"the number of sampled features is {' or '.join(RULES)} or an integer, not {rule!r}")
    # f falls up to the optimum and rises after it: only its two neighbours can be the best. 1 / f is finite for any
    # budget.
    near = math.floor(epsilon / _OPTIMUM)
    return max((max(1, min(d, m)) for m in (near, near + 1)), key=lambda m: m * math.tanh(epsilon / (2 * m)) ** 2)


class FeatureBits(FeatureGrid):
    """Mechanism that reports a feature as one bit, 1 with a probability that rises from q to 1 - q over the range.

    Its dataclass has the field ``flip``, the 64-bit threshold of q.
    """

    flip: int
    loss_is_tight: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.flip < ONE // 2:
            raise ValueError(f"the flip threshold must lie in 1..2**63-1, not {self.flip}")
        super().__post_init__()

    @property
    def flip_probability(self) -> float:
        """q, the probability of a 1 at the low end of the range."""
        return self.flip / ONE

    def thresholds(self, value: np.ndarray) -> np.ndarray:
        """uint64, as ``value``: the thresholds of Pr[1 | value]."""
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

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return log_ratio(ONE - self.flip, self.flip, changes(self.d, changed))


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

    name: ClassVar[str] = "one_bit"

    @classmethod
    def from_epsilon(cls, epsilon: float, *, d: int, low: float = 0.0, high: float = 1.0) -> OneBit:
        """Return the mechanism whose loss per feature is at most ``epsilon``."""
        return cls(flip=probability_threshold(epsilon), d=d, low=float(low), high=float(high))

    def draw(self, values: np.ndarray, noise: Noise) -> BoolArray:
        limits = np.full(values.shape, self.thresholds(np.zeros(1)), np.uint64)
        where = np.flatnonzero(values != 0)  # most features are 0
        limits.reshape(-1)[where] = self.thresholds(values.reshape(-1)[where])
        return noise.bernoulli(limits, self.d)

    def encode(self, reports: BoolArray, devices: IntArray) -> list[bytes]:
        return pack_bit_rows(reports)

    def decode(self, data: Sequence[bytes], devices: IntArray) -> BoolArray:
        return unpack_bit_rows(data, self.d)

    def rows(self, reports: BoolArray, devices: IntArray) -> np.ndarray:
        """uint8 (devices, ceil(d / 8)): the bits as they came."""
        return np.packbits(reports, axis=1)

    def log_probability(self, report: BoolArray, value: np.ndarray) -> float:
        return self.log_chance(report, value)

    def log_likelihood(self, report: BoolArray) -> FloatArray:
        return self.bit_weight * (2.0 * np.asarray(report) - 1)

    def chance_of_one(self, value: np.ndarray) -> np.ndarray:
        """Return Pr[1 | value] of each feature, float64 as ``value``."""
        return self.thresholds(value).astype(np.float64) / ONE

    def estimate(self, report: BoolArray) -> np.ndarray:
        q = self.flip_probability
        return self.low + (self.high - self.low) * (report - q) / (1 - 2 * q)


@dataclass(frozen=True)
class MultiBit(FeatureBits):
    """Report m of d features, one bit each.

    ``value``: float (d,); ``report``: int8 (d,) of -1, 0 and 1. Reports of many devices: int8 CSR (n, d) of -1 and 1.

    Args:
        flip: 64-bit threshold of Pr[+1 | x = low] = Pr[-1 | x = high], 1 .. 2**63 - 1.
        d: Number of features.
        m: Number of sampled features, 1 .. d.
        low, high: Public range; values outside are clamped.
        grid: Number of steps into which the range is cut.

    Raises:
        ValueError: for an impossible threshold, size, range or grid.

    >>> mechanism = MultiBit.from_epsilon(1.0, d=4, m=2)
    >>> mechanism.loss()
    Loss(bit=0.5, vector=1.0, delta=0.0)
    >>> mechanism.estimate(np.array([1, 0, -1, 0])).round(3).tolist()
    [4.583, 0.5, -3.583, 0.5]
    >>> mechanism.variance(np.array([0.5, 1.0, 0.0, 0.5])).round(3).tolist()
    [8.335, 8.085, 8.085, 8.335]
    """

    flip: int
    d: int
    m: int
    low: float = 0.0
    high: float = 1.0
    grid: int = GRID

    name: ClassVar[str] = "multi_bit"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.m <= self.d:
            raise ValueError(f"multi-bit samples 1..{self.d} features (there are {self.d}), not {self.m}")

    @classmethod
    def from_epsilon(
        cls, epsilon: float, *, d: int, m: int | str = "optimal", low: float = 0.0, high: float = 1.0
    ) -> MultiBit:
        """Return the mechanism whose loss for the whole vector is at most ``epsilon``.

        ``m`` is a number or a rule of :func:`sampled_features`; ``m=d`` is 1-bit at full budget.
        """
        check_epsilon(epsilon)
        size = sampled_features(epsilon, d, m) if isinstance(m, str) else m
        if not 1 <= size <= d:
            raise ValueError(f"multi-bit samples 1..{d} features (there are {d}), not {size}")
        return cls(flip=probability_threshold(epsilon / size), d=d, m=size, low=float(low), high=float(high))

    def draw(self, values: np.ndarray, noise: Noise) -> SparseBatch:
        sampled = subset(noise, self.d, self.m)
        limits = self.thresholds(np.take_along_axis(values, sampled, axis=1))
        return self._of(sampled, noise.bernoulli(limits, self.m))

    def _of(self, sampled: IntArray, ones: BoolArray) -> SparseBatch:
        """Return the reports with these sampled features, and whether each is 1, (people, m)."""
        signs = np.where(ones, 1, -1).astype(np.int8)
        return SparseBatch(sampled.reshape(-1), np.full(len(ones), self.m), self.d, signs.reshape(-1))

    def encode(self, reports: SparseBatch, devices: IntArray) -> list[bytes]:
        assert reports.values is not None
        signs = pack_bit_rows(reports.values.reshape(-1, self.m) > 0)
        if self.m == self.d:
            return signs
        which = pack_rows(reports.columns, reports.counts, reports.sizes)
        return [row + ones for row, ones in zip(signs, which, strict=True)]

    def decode(self, data: Sequence[bytes], devices: IntArray) -> SparseBatch:
        """int8 rows of -1 and 1; features that were not sampled are not among them."""
        size = (self.m + 7) // 8
        ones, rest = unpack_bit_rows([each[:size] for each in data], self.m), [each[size:] for each in data]
        if self.m < self.d:
            sampled, counts = unpack_many(rest, np.full(len(data), self.d))
        else:
            sampled, counts = np.tile(np.arange(self.d), len(data)), np.full(len(data), 0 if any(rest) else self.d)
        if np.any(counts != self.m):
            raise ValueError(f"not a multi-bit report of {self.m} features")
        return self._of(sampled, ones)

    def log_probability(self, report: np.ndarray, value: np.ndarray) -> float:
        sampled = np.flatnonzero(report)
        if len(sampled) != self.m:
            return -math.inf
        return self.log_chance(report[sampled] > 0, value[sampled]) - math.log(math.comb(self.d, self.m))

    @property
    def slope(self) -> float:
        """K = d (high - low) / 2m * (E + 1) / (E - 1), the factor of eq. 4."""
        return self.d * (self.high - self.low) / (2 * self.m * (1 - 2 * self.flip / ONE))

    def sparse_estimates(self, reports: Any) -> tuple[Any, float]:
        """Return the estimates of reports in CSR less those of an entry that was not reported, and that number."""
        return reports * np.float32(self.slope), (self.low + self.high) / 2

    def estimate(self, report: np.ndarray) -> np.ndarray:
        return self.slope * report + (self.low + self.high) / 2

    def variance(self, value: np.ndarray) -> np.ndarray:
        """float (d,): eq. 5 (Proposition 3.3), with x the value on the grid.

        d/m * ((high - low) / 2 * (E + 1) / (E - 1))^2 - (x - (low + high) / 2)^2
        """
        x = self.low + self.step * self.steps(value)
        ratio = 1 / (1 - 2 * self.flip_probability)  # (E + 1) / (E - 1)
        return self.d / self.m * ((self.high - self.low) / 2 * ratio) ** 2 - (x - (self.low + self.high) / 2) ** 2

    def log_likelihood(self, report: np.ndarray) -> FloatArray:
        return np.asarray(report, np.float64) * self.bit_weight

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return super().loss_of(changes(self.m, changed))
