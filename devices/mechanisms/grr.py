"""Generalised randomised response over g categories (k-ary RR), used for labels.

The truth is told with probability p = e^eps / (e^eps + g - 1), each other category with
q = 1 / (e^eps + g - 1). Loss: eps = ln(p / q) between any two categories.

Kairouz, Bonawitz and Ramage 2016, https://arxiv.org/abs/1602.07387
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.mechanisms.base import DrawnTogether
from ldpsim.devices.mechanisms.exact_loss import ONE, log_ratio, probability_threshold
from ldpsim.devices.mechanisms.labels import OneCategory
from ldpsim.devices.noise import NoiseStream


@dataclass(frozen=True)
class GRR(OneCategory, DrawnTogether):
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

    attained: ClassVar[bool] = True
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

    @property
    def words(self) -> int:
        return 2

    def perturb(self, value: Any, noise: NoiseStream) -> Any:
        truth = self.category(value)
        # Both draws are always made, so that the time taken does not depend on the outcome.
        lies = noise.bernoulli(self.lie, 1)[..., 0]
        other = noise.uniform_integers(self.categories - 1, 1)[..., 0]
        return np.where(lies, other + (other >= truth), truth)

    def encode_rows(self, reports: IntArray) -> list[bytes]:
        data = reports.astype("<u2").tobytes()
        return [data[at : at + 2] for at in range(0, len(data), 2)]

    def log_probability(self, report: int, value: int) -> float:
        truth = self.category(value)
        return math.log(self.truth_probability if report == truth else self.other_probability)

    def estimate(self, report: int) -> np.ndarray:
        """float (categories,): unbiased estimate of the one-hot value, P^-1 e_report."""
        onehot = np.arange(self.categories) == report
        return (onehot - self.other_probability) / (self.truth_probability - self.other_probability)

    @property
    def weight(self) -> float:
        return math.log(self.truth_probability / self.other_probability)

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return log_ratio((ONE - self.lie) * (self.categories - 1), self.lie)
