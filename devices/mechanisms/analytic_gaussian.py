"""The analytic Gaussian mechanism on every feature, on a grid.

A feature x in [low, high] is put on a public grid of whole steps 0 .. grid, and Gaussian
noise rounded to whole steps is added, drawn exactly (:mod:`gaussian`). The whole vector
moves by at most grid * sqrt(d) steps in L2, one feature by ``grid``. sigma is found as a
root of the exact curve delta(eps). The older formula holds for eps < 1 only.

The guarantee is a curve, not a pure loss: :meth:`AnalyticGaussian.delta_of`.
:meth:`AnalyticGaussian.loss` is the curve's epsilon at the stated delta, for one feature and
for the vector. Rounding is post-processing, so the curve holds for the report, grid and
rounding included. It is tight except for what rounding hides (a step beside sigma).

Balle and Wang 2018, https://arxiv.org/abs/1805.06530
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import gaussian
from ldpsim.devices.mechanisms.exact_loss import Loss, check_delta
from ldpsim.devices.mechanisms.features import NoisySteps
from ldpsim.devices.mechanisms.laplace import STEPS
from ldpsim.devices.noise import NoiseStream

UNIT = 1 << 32


@dataclass(frozen=True)
class AnalyticGaussian(NoisySteps):
    """Report each of d features with rounded Gaussian noise.

    ``value``: float (d,); ``report``: int64 (d,), whole steps above ``low``.

    Args:
        deviation: Standard deviation of the noise before rounding, in 1 / 2**32 of a step.
        delta: Delta at which the loss is stated. A device answers only if it is below 1/n.
        d: Number of features.
        low, high: Public range; values outside are clamped.
        grid: Number of steps into which the range is cut.

    Raises:
        ValueError: for an impossible deviation, delta, size, range or grid.

    >>> mechanism = AnalyticGaussian.from_epsilon(1.0, delta=1e-4, d=4)
    >>> mechanism.loss().vector, mechanism.loss().delta
    (1.0, 0.0001)
    >>> round(mechanism.sigma / mechanism.grid, 3)
    6.371
    """

    deviation: int
    delta: float
    d: int
    low: float = 0.0
    high: float = 1.0
    grid: int = STEPS

    name: ClassVar[str] = "analytic_gaussian"

    def __post_init__(self) -> None:
        if not UNIT // 4 <= self.deviation < 1 << 68:
            raise ValueError(f"the deviation must be 1/4 of a step .. 2**36 steps, not {self.deviation / UNIT:g}")
        check_delta(self.delta)
        super().__post_init__()

    @classmethod
    def from_epsilon(
        cls, epsilon: float, *, delta: float, d: int, low: float = 0.0, high: float = 1.0, grid: int = STEPS
    ) -> AnalyticGaussian:
        """Return the mechanism with the smallest noise that is (epsilon, delta)-private for the whole vector."""
        unscaled = cls(UNIT, float(delta), d, float(low), float(high), grid)  # refuses impossible parameters
        sigma = gaussian.calibrate(epsilon, delta, shift=grid * math.sqrt(d))
        return replace(unscaled, deviation=math.ceil(sigma * UNIT))

    @property
    def sigma(self) -> float:
        """Standard deviation before rounding, in steps."""
        return self.deviation / UNIT

    def agrees_with(self, facts: PublicFacts) -> bool:
        return super().agrees_with(facts) and self.delta * facts.n < 1

    def perturb(self, value: np.ndarray, noise: NoiseStream) -> np.ndarray:
        return self.steps(value) + gaussian.sample(noise, Fraction(self.deviation, UNIT), self.d)

    def log_probability(self, report: np.ndarray, value: np.ndarray) -> float:
        return gaussian.log_probability(report - self.steps(value), self.sigma)

    def variance(self, value: np.ndarray) -> np.ndarray:
        return np.full(self.d, self.step**2 * gaussian.variance(self.sigma))

    def delta_of(self, epsilon: float, *, changed: int | None = None) -> float:
        """Return delta(eps) when ``changed`` features (None: all) go from one end of the range to the other."""
        return gaussian.delta_of(epsilon, shift=self.grid * math.sqrt(changed or self.d), sigma=self.sigma)

    def loss(self, *, device: int | None = None) -> Loss:
        return replace(super().loss(), delta=self.delta)

    def loss_of(self, changed: int) -> float:
        """Return epsilon at the stated delta when this many features change."""
        return gaussian.printed_epsilon(self.delta, shift=self.grid * math.sqrt(changed), sigma=self.sigma)
