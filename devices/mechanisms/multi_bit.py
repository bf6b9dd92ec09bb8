"""The multi-bit mechanism on features (Sajadmanesh and Gatica-Perez 2021, LPGNN Section 3.1).

Encoder (Algorithm 1): m of the d features are drawn without replacement. A drawn feature
x in [low, high] is reported as +1 with probability

    1 / (E + 1) + (x - low) / (high - low) * (E - 1) / (E + 1),    E = e^(eps / m),

else as -1; the others are reported as 0. Real values are put on a stated public grid
first. Rectifier (eq. 4): x' = d (high - low) / 2m * (E + 1) / (E - 1) * x* + (low + high) / 2.

The report says which features were drawn, and that does not depend on the values: given
the drawn ones, m independent bits of loss eps/m each are left. Exact losses: one feature
eps/m, k features min(k, m) * eps/m, the vector eps. With m = d this is the 1-bit
mechanism at full budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from devices.facts import PublicFacts
from devices.mechanisms.base import ONE, Loss, Mechanism, check_epsilon, log_ratio, probability_threshold
from devices.mechanisms.bits import pack_bits, pack_plain, unpack_bits, unpack_plain
from devices.mechanisms.one_bit import GRID, OneBit
from devices.mechanisms.sampling import subset
from devices.noise import NoiseStream

RULES = ("optimal", "floor")
_OPTIMUM = 2.1773189849653067  # sinh z = 2z


def sampled_features(epsilon: float, d: int, rule: str = "optimal") -> int:
    """Return how many features to sample.

    ``optimal`` minimises the rectifier's variance, f(m) = coth^2(eps / 2m) / m, over the
    integers 1 .. d. ``floor`` is the paper's eq. 6, max(1, min(d, floor(eps / 2.18))), up
    to a third worse: f has its minimum at eps/m = 2.177 (sinh z = 2z), and rounding that
    down is not the integer optimum.

    Raises:
        ValueError: for another rule, or an epsilon that is not a positive finite number.
    """
    check_epsilon(epsilon)
    below = max(1, min(d, math.floor(epsilon / 2.18)))
    if rule == "floor":
        return below
    if rule != "optimal":
        raise ValueError(f"the number of sampled features is {' or '.join(RULES)} or an integer, not {rule!r}")
    # f falls up to the optimum and rises after it: only its two neighbours can be the best
    near = math.floor(epsilon / _OPTIMUM)
    return min((max(1, min(d, m)) for m in (near, near + 1)), key=lambda m: 1 / (m * math.tanh(epsilon / (2 * m)) ** 2))


@dataclass(frozen=True)
class MultiBit(Mechanism):
    """Report m of d features, one bit each.

    ``value``: float (d,); ``report``: int8 (d,) of -1, 0 and 1.

    Args:
        flip: 64-bit threshold of Pr[+1 | x = low] = Pr[-1 | x = high], 1 .. 2**63 - 1.
        d: Number of features.
        m: How many are sampled, 1 .. d.
        low, high: Public range; values outside are clamped.
        grid: Number of steps into which the range is cut.

    Raises:
        ValueError: for a threshold, size, range or grid that makes no sense.
    """

    flip: int
    d: int
    m: int
    low: float = 0.0
    high: float = 1.0
    grid: int = GRID

    name: ClassVar[str] = "multi_bit"
    version: ClassVar[int] = 1
    attributes: ClassVar[frozenset[str]] = frozenset({"features"})

    def __post_init__(self) -> None:
        OneBit(self.flip, self.d, self.low, self.high, self.grid)  # checks all but m
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

    @cached_property
    def _bit(self) -> OneBit:
        return OneBit(self.flip, self.d, self.low, self.high, self.grid)

    def agrees_with(self, facts: PublicFacts) -> bool:
        return self._bit.agrees_with(facts)

    def perturb(self, value: np.ndarray, noise: NoiseStream) -> np.ndarray:
        sampled = subset(noise, self.d, self.m)
        report = np.zeros(self.d, np.int8)
        report[sampled] = np.where(noise.bernoulli(self._bit.thresholds(value[sampled]), self.m), 1, -1)
        return report

    def encode(self, report: np.ndarray) -> bytes:
        sampled = np.flatnonzero(report)
        which = b"" if self.m == self.d else pack_bits(report != 0)
        return pack_plain(report[sampled] > 0) + which

    def decode(self, data: bytes, *, device: int) -> np.ndarray:
        sampled, signs = self.decode_sparse(data)
        report = np.zeros(self.d, np.int8)
        report[sampled] = signs
        return report

    def decode_sparse(self, data: bytes) -> tuple[np.ndarray, np.ndarray]:
        """Return the sampled features, int64 (m,), and their signs, int8 (m,): what :meth:`decode` spreads out."""
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

    def log_probability(self, report: np.ndarray, value: np.ndarray) -> float:
        sampled = np.flatnonzero(report)
        if len(sampled) != self.m:
            return -math.inf
        bits = OneBit(self.flip, self.m, self.low, self.high, self.grid)
        return bits.log_probability(report[sampled] > 0, value[sampled]) - math.log(math.comb(self.d, self.m))

    @property
    def slope(self) -> float:
        """K = d (high - low) / 2m * (E + 1) / (E - 1): what the rectifier multiplies a report by."""
        return self.d * (self.high - self.low) / (2 * self.m * (1 - 2 * self.flip / ONE))

    def estimate(self, report: np.ndarray) -> np.ndarray:
        return self.slope * report + (self.low + self.high) / 2

    def variance(self, value: np.ndarray) -> np.ndarray:
        """d/m * ((high - low) / 2 * (E + 1) / (E - 1))^2 - (x - (low + high) / 2)^2 (Proposition 3.3)."""
        return np.diag(self.covariance(value))

    def covariance(self, value: np.ndarray) -> np.ndarray:
        """float (d, d): the coordinates are not independent, since exactly m of them are sampled."""
        t = 2 * self._bit.thresholds(value).astype(np.float64) / ONE - 1  # mean of the sign of a sampled feature
        share = self.m / self.d
        both = share * (self.m - 1) / (self.d - 1) if self.d > 1 else 0.0
        result = self.slope**2 * (both - share**2) * np.outer(t, t)
        np.fill_diagonal(result, self.slope**2 * (share - share**2 * t * t))
        return np.asarray(result)

    def loss(self, *, device: int | None = None) -> Loss:
        return Loss(bit=self.loss_of(1), vector=self.loss_of(self.d))

    def loss_of(self, changed: int) -> float:
        """Exact loss when this many features change: min(changed, m) * eps/m."""
        return log_ratio(ONE - self.flip, self.flip, min(changed, self.m))
