"""Mechanisms about the label: their bases, and generalised randomised response over g categories (GRR, k-ary RR).

A curator reads two things of a label report: :meth:`LabelMechanism.log_likelihood` of each category, and
:meth:`LabelMechanism.estimate`, an unbiased estimate of the one-hot label. A class that states ``log_probability`` has
the first one; one that reports a category (:class:`OneCategory`) has the second one too.

The truth is told with probability p = e^eps / (e^eps + g - 1), each other category with
q = 1 / (e^eps + g - 1). Loss: eps = ln(p / q) between any two categories.

Kairouz, Bonawitz and Ramage 2016, https://arxiv.org/abs/1602.07387
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.array_types import FloatArray, IntArray
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.codecs import pack_numbers, unpack_numbers
from ldpsim.devices.mechanisms.exact_loss import ONE, log_ratio, probability_threshold
from ldpsim.devices.mechanisms.mechanism import Mechanism, changes
from ldpsim.devices.noise import Noise


class LabelMechanism(Mechanism):
    """Mechanism about the label; its dataclass has the field ``categories``."""

    categories: int
    reads: ClassVar[tuple[str, ...]] = ("label",)
    field: ClassVar[str] = "labels"

    def agrees_with(self, facts: PublicFacts) -> bool:
        return self.categories == facts.classes

    def category(self, value: Any) -> Any:
        """Return each value, or 0 where it lies outside the domain."""
        if isinstance(value, int):
            return value if 0 <= value < self.categories else 0
        return np.where((value >= 0) & (value < self.categories), value, 0)

    def log_likelihood(self, report: Any) -> FloatArray | None:
        """float (categories,): ``log_probability`` of the report under each category."""
        return np.array([self.log_probability(report, category) for category in range(self.categories)])


class OneCategory(LabelMechanism):
    """Label mechanism whose report is one category, in any channel."""

    def encode(self, reports: IntArray, devices: IntArray) -> list[bytes]:
        return pack_numbers(reports, "<u2")

    def decode(self, data: Sequence[bytes], devices: IntArray) -> IntArray:
        return unpack_numbers(data, "<u2", self.categories)

    @cached_property
    def _inverse(self) -> FloatArray:
        """float (categories, categories): P^-1 of the stated channel P[value, report]."""
        chance = [[math.exp(self.log_probability(report, value)) for report in range(self.categories)]
                  for value in range(self.categories)]  # fmt: skip
        return np.linalg.inv(np.array(chance))

    def estimate(self, report: int) -> FloatArray:
        """float (categories,): unbiased estimate of the one-hot value, row ``report`` of P^-1.

        Raises:
            numpy.linalg.LinAlgError: if two categories have the same distribution, so that no estimate exists.
        """
        return np.asarray(self._inverse[report])


@dataclass(frozen=True)
class GRR(OneCategory):
    """Report one category of ``categories``.

    ``value`` and ``report``: an integer 0 .. categories - 1. A value outside the domain
    counts as category 0, silently.

    Args:
        lie: 64-bit threshold of the probability that another category is reported.
        categories: Size g of the domain, at least 2.

    Raises:
        ValueError: for a domain below 2 or a threshold that makes the truth the least
            likely answer.

    >>> mechanism = GRR.from_epsilon(1.0, categories=4)
    >>> round(mechanism.truth_probability, 4), round(mechanism.other_probability, 4)
    (0.4754, 0.1749)
    >>> mechanism.loss()
    Loss(bit=1.0, vector=1.0, delta=0.0)
    """

    lie: int
    categories: int

    loss_is_tight: ClassVar[bool] = True
    name: ClassVar[str] = "grr"

    def __post_init__(self) -> None:
        if not 2 <= self.categories <= 1 << 16:
            raise ValueError(f"GRR needs a domain of 2..65536 categories, not {self.categories}")
        if self.lie <= 0 or self.lie * self.categories >= ONE * (self.categories - 1):
            raise ValueError(f"the threshold {self.lie} does not favour the truth")

    @classmethod
    def from_epsilon(cls, epsilon: float, *, categories: int) -> GRR:
        """Return the mechanism whose loss is at most ``epsilon``."""
        if categories < 2:
            raise ValueError(f"GRR needs a domain of at least 2 categories, not {categories}")
        return cls(lie=probability_threshold(epsilon, categories - 1), categories=categories)

    @property
    def truth_probability(self) -> float:
        """p, the probability of the true category."""
        return (ONE - self.lie) / ONE

    @property
    def other_probability(self) -> float:
        """q, the probability of each other category."""
        return self.lie / ONE / (self.categories - 1)

    def draw(self, values: IntArray, noise: Noise) -> IntArray:
        truth = self.category(values)
        # Both draws are always made, so that the time taken does not depend on the outcome.
        lies = noise.bernoulli(self.lie, 1)[:, 0]
        other = noise.uniform_integers(self.categories - 1, 1)[:, 0]
        return np.where(lies, other + (other >= truth), truth)

    def log_probability(self, report: int, value: int) -> float:
        truth = self.category(value)
        return math.log(self.truth_probability if report == truth else self.other_probability)

    def estimate(self, report: int) -> np.ndarray:
        """float (categories,): unbiased estimate of the one-hot value, P^-1 e_report."""
        onehot = np.arange(self.categories) == report
        return (onehot - self.other_probability) / (self.truth_probability - self.other_probability)

    def log_likelihood(self, report: int) -> FloatArray:
        return math.log(self.truth_probability / self.other_probability) * (np.arange(self.categories) == report)

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return log_ratio((ONE - self.lie) * (self.categories - 1), self.lie, changes(1, changed))
