"""The multi-bit mechanism on features (LPGNN, Section 3.1).

Encoder (Algorithm 1): m of the d features are drawn without replacement. A drawn feature
x in [low, high] is reported as +1 with probability

    1 / (E + 1) + (x - low) / (high - low) * (E - 1) / (E + 1),    E = e^(eps / m),

else as -1; the others are reported as 0. Real values are put on a public grid first.
Rectifier (eq. 4): x' = d (high - low) / 2m * (E + 1) / (E - 1) * x* + (low + high) / 2.

The report shows which features were drawn, and that does not depend on the values. What is
left are m independent bits of loss eps/m each. Exact losses: one feature eps/m, k features
min(k, m) * eps/m, the vector eps. With m = d this is the 1-bit mechanism at full budget.

Sajadmanesh and Gatica-Perez 2021, https://arxiv.org/abs/2006.05535
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.data.population import Record
from ldpsim.devices.mechanisms.base import Grouping, dense_rows
from ldpsim.devices.mechanisms.bits import pack_bits, pack_many, pack_plain, unpack_bits, unpack_plain
from ldpsim.devices.mechanisms.exact_loss import ONE, check_epsilon, probability_threshold
from ldpsim.devices.mechanisms.one_bit import GRID, FeatureBits
from ldpsim.devices.mechanisms.stacked_reports import DataOf, sparse_values
from ldpsim.devices.noise import AT_ONCE, NoiseStream, joined_words
from ldpsim.devices.sampling.subset import subset, subsets

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

    attained: ClassVar[bool] = True
    name: ClassVar[str] = "multi_bit"
    version: ClassVar[int] = 1

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

    @property
    def most_likely(self) -> float:
        sets = math.lgamma(self.d + 1) - math.lgamma(self.m + 1) - math.lgamma(self.d - self.m + 1)
        return math.exp(self.m * math.log1p(-self.flip_probability) - sets)

    def perturb(self, value: np.ndarray, noise: NoiseStream) -> np.ndarray:
        sampled = subset(noise, self.d, self.m)
        report = np.zeros(self.d, np.int8)
        report[sampled] = np.where(noise.bernoulli(self.thresholds(value[sampled]), self.m), 1, -1)
        return report

    def respond_many(
        self, records: Sequence[Record], streams: Sequence[NoiseStream], *, devices: Sequence[int],
        grouping: Grouping = None,
    ) -> list[bytes]:  # fmt: skip
        if type(self) is not MultiBit or self.m == self.d:
            # A class of its own may respond in another way.
            return super().respond_many(records, streams, devices=devices, grouping=grouping)
        reports: list[bytes] = []
        at_once = max(1, AT_ONCE // self.d)
        for first in range(0, len(records), at_once):
            people, noise = records[first : first + at_once], streams[first : first + at_once]
            words = joined_words(noise, [2 * self.m] * len(noise)).reshape(-1, 2 * self.m)
            sampled, alone = subsets(words[:, : self.m], self.d)
            thresholds = self.thresholds(dense_rows(people, self.d)[np.arange(len(people))[:, None], sampled])
            tops = thresholds >> np.uint64(32)
            alone |= np.any(words[:, self.m :] == tops, axis=1)
            signs = np.packbits(words[:, self.m :] < tops, axis=1)
            places = (sampled + np.arange(len(people))[:, None] * self.d).ravel()
            which = np.zeros(len(people) * self.d, np.bool_)
            which[places] = True
            packed = pack_many(which, np.arange(1, len(people) + 1) * self.d)
            reports += [row.tobytes() + bits for row, bits in zip(signs, packed, strict=True)]
            for place in np.flatnonzero(alone).tolist():
                reports[first + place] = self.respond(people[place], noise[place], device=devices[first + place])
        return reports

    def encode(self, report: np.ndarray) -> bytes:
        sampled = np.flatnonzero(report)
        which = b"" if self.m == self.d else pack_bits(report != 0)
        return pack_plain(report[sampled] > 0) + which

    def decode(self, data: bytes, *, device: int) -> np.ndarray:
        sampled, signs = self.decode_sparse(data, device=device)
        report = np.zeros(self.d, np.int8)
        report[sampled] = signs
        return report

    def decode_sparse(self, data: bytes, *, device: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the sampled features, int64 (m,), and their signs, int8 (m,)."""
        size = (self.m + 7) // 8
        signs = np.where(unpack_plain(data[:size], self.m), 1, -1).astype(np.int8)
        if self.m == self.d:
            which = np.ones(self.d, np.bool_) if len(data) == size else np.zeros(0, np.bool_)
        else:
            which = unpack_bits(data[size:], self.d)
        sampled = np.flatnonzero(which)
        if len(sampled) != self.m:
            raise ValueError(f"not a multi-bit report of {self.m} features")
        return sampled, signs

    def stack(self, rows: DataOf, n: int) -> Any:
        """int8 CSR (n, d) of -1 and 1; features that were not sampled are not stored."""
        return sparse_values(rows, self.decode_sparse, (n, self.d), np.int8)

    def log_probability(self, report: np.ndarray, value: np.ndarray) -> float:
        sampled = np.flatnonzero(report)
        if len(sampled) != self.m:
            return -math.inf
        return self.log_chance(report[sampled] > 0, value[sampled]) - math.log(math.comb(self.d, self.m))

    @property
    def slope(self) -> float:
        """K = d (high - low) / 2m * (E + 1) / (E - 1), the factor of eq. 4."""
        return self.d * (self.high - self.low) / (2 * self.m * (1 - 2 * self.flip / ONE))

    @property
    def line(self) -> tuple[float, float]:
        return self.slope, (self.low + self.high) / 2

    def estimate(self, report: np.ndarray) -> np.ndarray:
        return self.slope * report + (self.low + self.high) / 2

    def variance(self, value: np.ndarray) -> np.ndarray:
        """float (d,): eq. 5 (Proposition 3.3), with x the value on the grid.

        d/m * ((high - low) / 2 * (E + 1) / (E - 1))^2 - (x - (low + high) / 2)^2
        """
        x = self.low + self.step * self.steps(value)
        ratio = 1 / (1 - 2 * self.flip_probability)  # (E + 1) / (E - 1)
        return self.d / self.m * ((self.high - self.low) / 2 * ratio) ** 2 - (x - (self.low + self.high) / 2) ** 2

    def evidence(self, report: np.ndarray) -> FloatArray:
        return np.asarray(report, np.float64) * self.bit_weight

    def loss_of(self, changed: int) -> float:
        """Return the exact loss when this many features change: min(changed, m) * eps/m."""
        return super().loss_of(min(changed, self.m))
