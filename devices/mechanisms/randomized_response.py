"""Randomised response on an adjacency row.

Every reported bit is flipped with probability p = 1 / (e^eps + 1). Device i reports about
every j != i (``both``: both ends report each pair) or about j < i only (``one-end``).

Loss of one bit: eps = ln((1 - p) / p). Loss of the whole list: (number of bits) * eps. Loss
of an undirected edge: 2 eps if both ends report it, eps with ``one-end``
(:mod:`curator.privacy.guarantee`).

Warner 1965, https://doi.org/10.1080/01621459.1965.10480775
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from devices.array_types import BoolArray
from devices.data.population import Record
from devices.mechanisms.adjacency import AdjacencyBits
from devices.mechanisms.base import ONE, Grouping, Loss, Reporting, log_ratio, probability_threshold
from devices.mechanisms.bits import pack_many, rows_with
from devices.noise import NoiseStream, first_words


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
    [True, False, False]
    """

    flip: int
    n: int
    reporting: Reporting = "both"

    name: ClassVar[str] = "randomized_response"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not 0 < self.flip < ONE // 2:
            raise ValueError(f"the flip threshold must lie in 1..2**63-1, not {self.flip}")
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
        return noise.bernoulli(self.flip, len(value)) ^ value

    def respond_many(
        self, records: Sequence[Record], streams: Sequence[NoiseStream], *, devices: Sequence[int],
        grouping: Grouping = None,
    ) -> list[bytes]:  # fmt: skip
        if type(self) is not RandomizedResponse:  # a class of its own may respond in another way
            return super().respond_many(records, streams, devices=devices, grouping=grouping)
        sizes = [self.targets(device) for device in devices]
        top = np.uint32(self.flip >> 32)
        reports: list[bytes] = []
        for first, end, words in first_words(streams, sizes):
            people, own, ends = records[first:end], devices[first:end], np.cumsum(sizes[first:end])
            bits = words < top
            bits[self.places_in_rows(people, own, ends)] ^= True
            reports += pack_many(bits, ends)
            for place in rows_with(words == top, ends):
                reports[first + place] = self.respond(people[place], streams[first + place], device=own[place])
        return reports

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

    @property
    def weight(self) -> float:
        return math.log((ONE - self.flip) / self.flip)

    def loss(self, *, device: int | None = None) -> Loss:
        bits = self.most_targets(device)
        bit, vector = (log_ratio(ONE - self.flip, self.flip, changed) for changed in (min(bits, 1), bits))
        return Loss(bit, vector)
