"""A person's share of a sum of features and labels: clipped, with a part of the sum's noise, for a party that adds.

The vector of a person with features x and label y is u (e_y - pi)^T, (d + 1, classes), where pi are public shares of
the classes, and 0 where the device knows no label. u has the features, at length a at most, and the constant b:

    u = (a x', b),   a^2 + b^2 = 1,   x' = bits / root of their number (words), or z / max(radius, |z|) (numbers),

with z the features in their public range, mapped to [0, 1]. So |u| <= 1, u >= 0 and u . u' >= b^2. Two records are
D apart at most in the L2 norm. With v_y = e_y - pi it is the root of the largest of

    |v_y|^2                                          one of them knows no label, or is no part of the sum,
    |v_y|^2 + |v_z|^2 - 2 b^2 v_y . v_z              where v_y . v_z >= 0 (also y = z): features apart,
    |v_y - v_z|^2 = 2                                where y differs from z: the same features.

Where the features alone change it is root(2 - 2 b^2) |v_y| at most, for one word |v_y| a; where the label alone does,
the root of 2 or |v_y|. The vector is put on a grid of 2^-16, which adds at most a root of the number of entries to D,
in steps. Each share has rounded Gaussian noise of deviation sigma / root(h), so that those of h people who contribute
and do not collude are sigma together. The figure of the sum is that of the real Gaussian (Balle and Wang 2018). Sums of
rounded Gaussians are not exactly one; integers under exact figures would need Skellam noise or the distributed discrete
Gaussian.

**To whoever adds, a share is in clear**: its loss here, and in a device's ledger, is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from ldpsim.devices.array_types import DoubleArray, FloatArray, IntArray
from ldpsim.devices.data.records import Records
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import gaussian
from ldpsim.devices.mechanisms.exact_loss import Loss, check_delta
from ldpsim.devices.mechanisms.mechanism import Grouping, Mechanism, changes, dense_features
from ldpsim.devices.mechanisms.noisy_steps import UNIT
from ldpsim.devices.noise import Noise

STEPS = 1 << 16  # of the grid in a length of 1
CONSTANT = 0.5  # b
WHOLE = 1 << 16  # of which the shares of the classes are parts
MOST_DEVIATION = 1 << 26  # grid steps: 32 bits then hold a share


def in_unit_range(features: FloatArray, low: float, high: float) -> DoubleArray:
    """Return z: features mapped from their public range to [0, 1], float64 of the same shape."""
    inside = np.nan_to_num(np.asarray(features, np.float64), nan=low)
    return np.asarray(np.clip((inside - low) / (high - low), 0.0, 1.0))


@dataclass(frozen=True)
class SumShare(Mechanism):
    """A share of a sum.

    ``value``: float64 (d + 1,), the features and then the label; ``report``: int64 (d + 1, classes), in grid steps.

    Args:
        d, low, high: Number of features, and their public range.
        words: Whether a feature counts as there or not there.
        radius: Length up to which features that are numbers are not clipped.
        shares: pi, in parts of 2^16 that add up to them.
        deviation: Of the noise of one share, in 1 / 2^32 grid steps.
        honest: h, the number of people for whom the sum's figure is stated.
        delta: At which it is stated.

    Raises:
        ValueError: for numbers that make no sense.

    >>> share = SumShare.from_epsilon(
    ...     2.0, delta=1e-5, honest=3000, d=30, low=0.0, high=1.0, words=True, radius=1.0, shares=np.ones(3)
    ... )
    >>> share.shape, share.loss()  # to the party that adds
    ((31, 3), Loss(bit=inf, vector=inf, delta=0.0))
    """

    d: int
    low: float
    high: float
    words: bool
    radius: float
    shares: tuple[int, ...]
    deviation: int
    honest: int
    delta: float

    name: ClassVar[str] = "sum_share"
    reads: ClassVar[tuple[str, ...]] = ("features", "label")
    field: ClassVar[str] = "sums"
    summed: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.d < 1 or not 0 < self.high - self.low < math.inf or not 0 < self.radius < math.inf:
            raise ValueError(f"{self.name} needs features in a range, and a radius")
        whole = all(type(share) is int and share > 0 for share in self.shares)
        if not 2 <= len(self.shares) <= 1 << 10 or not whole or sum(self.shares) != WHOLE:
            raise ValueError(f"{self.name} needs shares of two classes or more, in parts of {WHOLE}")
        if not UNIT <= self.deviation <= MOST_DEVIATION * UNIT:
            raise ValueError(f"{self.name}: the deviation must be 1 .. {MOST_DEVIATION} grid steps")
        if self.honest < 1:
            raise ValueError(f"{self.name}: at least one person contributes, not {self.honest}")
        check_delta(self.delta)

    @classmethod
    def from_epsilon(
        cls, epsilon: float, *, delta: float, honest: int, d: int, low: float, high: float, words: bool,
        radius: float, shares: DoubleArray,
    ) -> SumShare:  # fmt: skip
        """Return the share under which the sum of ``honest`` people is (epsilon, delta)-private when one is replaced.

        Args:
            epsilon, delta, honest: Of the sum.
            d, low, high, words, radius: As the fields.
            shares: float64 (classes,): of the classes, above 0; any scale.
        """
        parts = np.maximum(np.floor(shares / shares.sum() * WHOLE), 1).astype(np.int64)
        parts[parts.argmax()] += WHOLE - parts.sum()
        draft = cls(d, float(low), float(high), words, float(radius), tuple(parts.tolist()), UNIT, honest, float(delta))
        sigma = gaussian.calibrate(epsilon, delta, shift=draft.shift()) / math.sqrt(honest)
        least = 1.0 * UNIT  # next to no noise is wanted
        return cls(draft.d, draft.low, draft.high, words, draft.radius, draft.shares,
                   math.ceil(max(sigma * UNIT * (1 + 1e-12), least)), honest, draft.delta)  # fmt: skip

    @classmethod
    def audit_examples(cls) -> Iterator[tuple[Mechanism, PublicFacts]]:
        """Yield a small instance for audits."""
        facts = PublicFacts(4, 1, 2)
        yield cls(1, 0.0, 1.0, True, 1.0, (1 << 15, 1 << 15), UNIT, 1, 0.01), facts

    def agrees_with(self, facts: PublicFacts) -> bool:
        return (self.d, self.low, self.high, len(self.shares)) == (
            facts.d, facts.feature_low, facts.feature_high, facts.classes,
        )  # fmt: skip

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a report."""
        return self.d + 1, len(self.shares)

    @cached_property
    def pi(self) -> DoubleArray:
        """float64 (classes,): the shares of the classes."""
        return np.array(self.shares) / WHOLE

    @cached_property
    def distances(self) -> dict[str, float]:
        """D before the grid, by what changes: a ``feature``, all ``features``, the ``label``, or a ``record``."""
        v = np.eye(len(self.shares)) - self.pi
        products = v @ v.T
        squares = np.diag(products)
        longest = float(squares.max())
        features = math.sqrt(2 * (1 - CONSTANT**2) * longest)
        apart = squares[:, None] + squares - 2 * CONSTANT**2 * products
        return {
            "feature": features / math.sqrt(2) if self.words else features, "features": features,
            "label": math.sqrt(max(2.0, longest)),
            "record": math.sqrt(max(2.0, longest, float(apart[products >= 0].max()))),
        }  # fmt: skip

    def shift(self, changed: str = "record") -> float:
        """Return D in grid steps, with what the grid adds, where so much of a person changes (:attr:`distances`)."""
        return self.distances[changed] * STEPS + math.sqrt(self.shape[0] * self.shape[1])

    def sum_deviation(self, contributors: int) -> float:
        """Return the deviation of the noise of so many shares together, in grid steps."""
        return self.deviation / UNIT * math.sqrt(contributors)

    def rows_of(self, features: FloatArray) -> DoubleArray:
        """float64 (people, d): x' of features (people, d)."""
        if self.words:
            bits = (np.asarray(features) > 0).astype(np.float64)
            return np.asarray(bits / np.sqrt(np.maximum(bits.sum(axis=1, keepdims=True), 1)))
        scaled = in_unit_range(features, self.low, self.high)
        return np.asarray(scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), self.radius))

    @property
    def width(self) -> int:
        return math.prod(self.shape)

    def values(self, people: Records, devices: IntArray, grouping: Grouping = None) -> DoubleArray:
        labels = np.asarray(people.labels, np.float64)
        return np.column_stack([dense_features(people, self.d).astype(np.float64), labels])

    def steps(self, value: DoubleArray) -> IntArray:
        """int64 (d + 1, classes): the vector on the grid; zeros where the device knows no label."""
        label = int(value[-1])
        if not 0 <= label < len(self.shares):
            return np.zeros(self.shape, np.int64)
        u = np.append(math.sqrt(1 - CONSTANT**2) * self.rows_of(value[None, :-1])[0], CONSTANT)
        return np.rint(STEPS * np.outer(u, np.eye(len(self.shares))[label] - self.pi)).astype(np.int64)

    def draw(self, values: DoubleArray, noise: Noise) -> IntArray:
        drawn = gaussian.sample(noise, Fraction(self.deviation, UNIT), self.width)
        return np.array([self.steps(value) for value in values], np.int64).reshape(-1, *self.shape) + drawn.reshape(
            -1, *self.shape
        )

    def encode(self, reports: IntArray, devices: IntArray) -> list[bytes]:
        return [report.astype("<i4").tobytes() for report in reports]

    def decode(self, data: Sequence[bytes], devices: IntArray) -> IntArray:
        size = 4 * self.width
        for each in data:
            if len(each) != size:
                raise ValueError(f"a share has {size} bytes, not {len(each)}")
        return np.frombuffer(b"".join(data), "<i4").reshape(-1, *self.shape).astype(np.int64)

    def log_probability(self, report: IntArray, value: DoubleArray) -> float:
        return gaussian.log_probability(np.asarray(report) - self.steps(value), self.deviation / UNIT)

    def estimate(self, report: np.ndarray) -> DoubleArray:
        return np.asarray(report, np.float64) / STEPS

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return math.inf if changes(1, changed) else 0.0

    def loss(self, *, device: int | None = None) -> Loss:
        return Loss(self.loss_of(1, device=device), self.loss_of(device=device))  # the delta is that of the sum
