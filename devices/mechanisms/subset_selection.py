"""Subset selection over K categories, used for labels: report w of them, the true one more likely than others.

w = K / (e^eps + 1), rounded, at least 1. The true category is among the w with probability
p = w e^eps / (w e^eps + K - w). All sets that hold it are equally likely, and so are all that do not. Another given
category is among them with probability (w - p) / (K - 1). Loss: eps, the ln of p C(K-1, w) / ((1 - p) C(K-1, w-1)).

With w = 1 the law is that of generalised randomised response. For a smaller epsilon w is larger, and the estimate
has a smaller variance.

Ye and Barg 2018, https://arxiv.org/abs/1702.00610
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ldpsim.devices.array_types import BoolArray, FloatArray, IntArray
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.categories import LabelMechanism
from ldpsim.devices.mechanisms.codecs import pack_bit_rows, unpack_bit_rows
from ldpsim.devices.mechanisms.exact_loss import ONE, check_epsilon, log_ratio, probability_threshold
from ldpsim.devices.mechanisms.mechanism import changes
from ldpsim.devices.noise import Noise


@dataclass(frozen=True)
class SubsetSelection(LabelMechanism):
    """Report ``size`` of ``categories``.

    ``value``: an integer 0 .. categories - 1; one outside the domain counts as category 0, silently.
    ``report``: bool (categories,), ``size`` of them True. Reports of many devices: bool (n, categories), without any
    True where no report came.

    Args:
        miss: 64-bit threshold of the probability that the true category is not in the set.
        size: w.
        categories: Size K of the domain, at least 2.

    Raises:
        ValueError: for a domain or a size outside its range, or a threshold that does not favour the truth.

    >>> mechanism = SubsetSelection.from_epsilon(0.5, categories=7)
    >>> mechanism.size, round(mechanism.truth_probability, 4), round(mechanism.other_probability, 4)
    (3, 0.5529, 0.4079)
    >>> mechanism.loss()
    Loss(bit=0.5, vector=0.5, delta=0.0)
    """

    miss: int
    size: int
    categories: int

    loss_is_tight: ClassVar[bool] = True
    name: ClassVar[str] = "subset_selection"

    def __post_init__(self) -> None:
        if not 2 <= self.categories <= 1 << 16:
            raise ValueError(f"subset selection needs a domain of 2..65536 categories, not {self.categories}")
        if not 1 <= self.size < self.categories:
            raise ValueError(f"a set of {self.size} categories: must be 1..{self.categories - 1}")
        if self.miss <= 0 or self.miss * self.categories >= ONE * (self.categories - self.size):
            raise ValueError(f"the threshold {self.miss} does not favour the truth")

    @classmethod
    def from_epsilon(cls, epsilon: float, *, categories: int) -> SubsetSelection:
        """Return the mechanism whose loss is at most ``epsilon``, with the size of its paper."""
        if categories < 2:
            raise ValueError(f"subset selection needs a domain of at least 2 categories, not {categories}")
        check_epsilon(epsilon)
        size = max(1, round(categories / (math.exp(min(epsilon, 100.0)) + 1)))
        return cls(probability_threshold(epsilon, categories - size, size), size, categories)

    @classmethod
    def audit_examples(cls) -> list[tuple[SubsetSelection, PublicFacts]]:
        """Return small instances with sets of one, two and three categories."""
        return [(cls.from_epsilon(epsilon, categories=k), PublicFacts(4, 1, k))
                for k, epsilon in ((5, 0.5), (7, 0.5), (3, 1.0))]  # fmt: skip

    @property
    def truth_probability(self) -> float:
        """p, the probability that the set holds the true category."""
        return (ONE - self.miss) / ONE

    @property
    def other_probability(self) -> float:
        """Probability that the set holds another given category."""
        return (self.size - self.truth_probability) / (self.categories - 1)

    @property
    def width(self) -> int:
        return self.categories

    def draw(self, values: IntArray, noise: Noise) -> BoolArray:
        # All draws are always made, so that the time taken does not depend on the outcome.
        misses = noise.bernoulli(self.miss, 1)[:, 0]
        return self._sets(self.category(values), misses, noise.uniform_integers(self._bounds, self.size))

    @property
    def _bounds(self) -> IntArray:
        return np.arange(self.categories - 1, self.categories - 1 - self.size, -1)

    def _sets(self, truth: IntArray, misses: BoolArray, places: IntArray) -> BoolArray:
        """bool (m, categories): the sets of m people.

        Args:
            truth: int64 (m,): true categories.
            misses: bool (m,): whether the set leaves the true one out.
            places: int64 (m, size): of the categories that are left at each step, the place of the one that is taken.
        """
        people = np.arange(len(truth))
        others = np.tile(np.arange(self.categories - 1), (len(truth), 1))
        others += others >= truth[:, None]
        for step in range(self.size):  # a shuffle that stops early: each prefix is a uniform set
            taken = step + places[:, step]
            others[people, taken], others[:, step] = others[:, step].copy(), others[people, taken]
        sets = np.zeros((len(truth), self.categories), np.bool_)
        sets[people[:, None], others[:, : self.size]] = True
        # All that were drawn are named, unless the last one of them gives way to the truth.
        sets[people, others[:, self.size - 1]] = misses
        sets[people, truth] = ~misses
        return sets

    def encode(self, reports: BoolArray, devices: IntArray) -> list[bytes]:
        return pack_bit_rows(reports)

    def decode(self, data: Sequence[bytes], devices: IntArray) -> BoolArray:
        reports = unpack_bit_rows(data, self.categories)
        if np.any(np.count_nonzero(reports, axis=1) != self.size):
            raise ValueError(f"a report of {self.name} names {self.size} categories")
        return reports

    @cached_property
    def _log_chances(self) -> tuple[float, float]:
        """Return ln of the probability of a set that leaves the true category out, and of one that holds it."""
        others = self.categories - 1
        out, held = math.comb(others, self.size), math.comb(others, self.size - 1)
        return (math.log(self.miss) - math.log(ONE) - math.log(out),
                math.log(ONE - self.miss) - math.log(ONE) - math.log(held))  # fmt: skip

    def log_probability(self, report: BoolArray, value: int) -> float:
        return self._log_chances[int(report[self.category(value)])]

    def log_likelihood(self, report: BoolArray) -> FloatArray:
        odds = math.log((ONE - self.miss) * (self.categories - self.size)) - math.log(self.miss * self.size)
        return odds * np.asarray(report, np.float64)

    def estimate(self, report: BoolArray) -> FloatArray:
        """float (categories,): unbiased estimate of the one-hot value."""
        p, q = self.truth_probability, self.other_probability
        return (np.asarray(report, np.float64) - q) / (p - q)

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        right, wrong = (ONE - self.miss) * (self.categories - self.size), self.miss * self.size
        return log_ratio(right, wrong, changes(1, changed))
