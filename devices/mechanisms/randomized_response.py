"""Randomised response on an adjacency row (Warner 1965; HoGS Section III-B).

Every reported bit is flipped with probability p = 1 / (e^eps + 1). The diagonal is
constant and public, so it is never reported. Device i reports about every j != i
(``both``: each pair is reported by both ends) or about j < i only (``one-end``).

Loss of one bit: eps = ln((1 - p) / p). Of the whole list: (number of bits) * eps. Of an
undirected edge: 2 eps when both ends report it, eps with ``one-end``
(:mod:`curator.privacy.guarantee`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from devices.mechanisms.base import ONE, BoolArray, Loss, log_ratio, probability_threshold
from devices.mechanisms.bits import pack_bits, unpack_bits
from devices.mechanisms.neighbour_list import AboutList, Reporting
from devices.noise import NoiseStream

__all__ = ["RandomizedResponse", "Reporting"]


@dataclass(frozen=True)
class RandomizedResponse(AboutList):
    """Flip each reported bit of the adjacency row with probability ``flip`` / 2**64.

    ``value`` and ``report``: bool (number of targets,), by target in rising order;
    :meth:`positions` and :meth:`nodes` say which node stands where.

    Args:
        flip: 64-bit flip threshold, 1 .. 2**63 - 1.
        n: Number of people.
        reporting: ``both`` or ``one-end``.

    Raises:
        ValueError: for a threshold or a size outside its range.
    """

    flip: int
    n: int
    reporting: Reporting = "both"

    name: ClassVar[str] = "randomized_response"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not 0 < self.flip < ONE // 2:
            raise ValueError(f"the flip threshold must lie in 1..2**63-1, not {self.flip}")
        if self.n < 1 or self.reporting not in ("both", "one-end"):
            raise ValueError(f"randomised response needs n >= 1 and reporting both or one-end, not {self.n}")

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
        return noise.bernoulli(self.flip, len(value)) ^ value

    def encode(self, report: BoolArray) -> bytes:
        return pack_bits(report)

    def decode(self, data: bytes, *, device: int) -> BoolArray:
        return unpack_bits(data, self.targets(device))

    def log_probability(self, report: BoolArray, value: BoolArray) -> float:
        flipped = int(np.count_nonzero(report != value))
        p = self.flip_probability
        return flipped * math.log(p) + (len(value) - flipped) * math.log1p(-p)

    def estimate(self, report: BoolArray) -> np.ndarray:
        p = self.flip_probability
        return (report - p) / (1 - 2 * p)

    def variance(self, value: BoolArray) -> np.ndarray:
        p = self.flip_probability
        return np.full(len(value), p * (1 - p) / (1 - 2 * p) ** 2)

    def loss(self, *, device: int | None = None) -> Loss:
        bits = self.n - 1 if device is None else self.targets(device)
        return Loss(
            bit=log_ratio(ONE - self.flip, self.flip, min(bits, 1)), vector=log_ratio(ONE - self.flip, self.flip, bits)
        )
