"""Label mechanisms as another package would define them, which state a law alone; and evidence of GRR made by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.mechanisms import Loss
from ldpsim.devices.mechanisms.categories import LabelMechanism, OneCategory
from ldpsim.devices.mechanisms.exact_loss import ONE, log_ratio, probability_threshold
from ldpsim.devices.noise import Noise


@dataclass(frozen=True)
class Unequal(OneCategory):
    """Randomised response of a category, in an unequal channel: a lie is the next category, or any one evenly.

    Where the first draw says "lie", a coin chooses between the next category and a uniform one.
    """

    lie: int
    categories: int
    name: ClassVar[str] = "unequal"

    @classmethod
    def from_epsilon(cls, epsilon: float, *, categories: int) -> Unequal:
        return cls(probability_threshold(epsilon, 2 * categories - 1), categories)

    def draw(self, values: IntArray, noise: Noise) -> IntArray:
        lies, near = noise.bernoulli(self.lie, 1)[:, 0], noise.bernoulli(ONE // 2, 1)[:, 0]
        anything = noise.uniform_integers(self.categories, 1)[:, 0]
        truth = self.category(values)
        return np.where(lies, np.where(near, (truth + 1) % self.categories, anything), truth)

    def chances(self, value: int) -> np.ndarray:
        truth, k = self.category(value), self.categories
        found = np.full(k, self.lie / ONE / 2 / k)
        found[truth] += 1 - self.lie / ONE
        found[(truth + 1) % k] += self.lie / ONE / 2
        return found

    def log_probability(self, report: int, value: int) -> float:
        return math.log(self.chances(value)[report])

    def loss(self, *, device: int | None = None) -> Loss:
        exact = log_ratio((ONE - self.lie) * 2 * self.categories + self.lie, self.lie)
        return Loss(exact, exact)


@dataclass(frozen=True)
class Flags(LabelMechanism):
    """One flag for each category, each flipped on its own (unary encoding); a report may raise none."""

    flip: int
    categories: int
    name: ClassVar[str] = "flags"

    @classmethod
    def from_epsilon(cls, epsilon: float, *, categories: int) -> Flags:
        return cls(probability_threshold(epsilon / 2), categories)

    @property
    def wrong(self) -> float:
        return self.flip / ONE

    def draw(self, values: IntArray, noise: Noise) -> np.ndarray:
        onehot = np.eye(self.categories, dtype=np.bool_)[self.category(values)]
        return onehot ^ noise.bernoulli(self.flip, self.categories)

    def encode(self, reports: np.ndarray, devices: IntArray) -> list[bytes]:
        return [row.astype(np.uint8).tobytes() for row in reports]

    def decode(self, data: Sequence[bytes], devices: IntArray) -> np.ndarray:
        found = np.frombuffer(b"".join(data), np.uint8)
        if any(len(each) != self.categories for each in data) or found.max(initial=0) > 1:
            raise ValueError("not a report of flags")
        return found.reshape(-1, self.categories).astype(np.bool_)

    def log_probability(self, report: Any, value: int) -> float:
        wrong = np.asarray(report, np.bool_) ^ (np.arange(self.categories) == self.category(value))
        return float(np.where(wrong, math.log(self.wrong), math.log1p(-self.wrong)).sum())

    def estimate(self, report: Any) -> np.ndarray:
        return (np.asarray(report, np.float64) - self.wrong) / (1 - 2 * self.wrong)

    def loss(self, *, device: int | None = None) -> Loss:
        exact = log_ratio(ONE - self.flip, self.flip, 2)
        return Loss(exact, exact)


def one_category(labels: IntArray, classes: int, truth: float) -> ObservedLabels:
    """Return the evidence of reports that name one category, each wrong one equally often (GRR)."""
    if truth == 1:
        return ObservedLabels(labels, classes)
    lie = (1 - truth) / max(1, classes - 1)
    soft = np.log(truth / lie) * (labels[:, None] == np.arange(classes))
    return ObservedLabels(labels, classes, truth, lie, soft)
