"""Laplace or Gaussian noise on every feature, on a grid.

A feature x in [low, high] is put on a public grid of whole steps 0 .. grid, and noise of whole steps is added, drawn
exactly. The report is whole steps, so it has no low bits of a floating-point sum that would give a value away. Rounding
to the grid moves a value by half a step at most. The estimate is unbiased for the value on the grid.

- ``laplace``: discrete Laplace noise of scale t/s (:mod:`discrete_laplace`). One feature moves by at most ``grid``
  steps and the whole vector by d * grid in L1, so

      one feature: grid * s/t,    k features: k * grid * s/t,    the vector: d * grid * s/t = eps,

  attained exactly. Dwork et al. 2006, https://doi.org/10.1007/11681878_14
- ``analytic_gaussian``: Gaussian noise rounded to whole steps (:mod:`gaussian`). The whole vector moves by at most
  grid * sqrt(d) steps in L2, one feature by ``grid``. sigma is found as a root of the exact curve delta(eps). The older
  formula holds for eps < 1 only. The guarantee is a curve, not a pure loss: :meth:`AnalyticGaussian.delta_of`. Its loss
  is the curve's epsilon at the stated delta, for one feature and for the vector. Rounding is post-processing, so the
  curve holds for the report, grid and rounding included. It is tight except for what rounding hides (a step beside
  sigma). Balle and Wang 2018, https://arxiv.org/abs/1805.06530
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray, IntArray
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import discrete_laplace, gaussian
from ldpsim.devices.mechanisms.codecs import pack_integers, unpack_integers
from ldpsim.devices.mechanisms.exact_loss import check_delta
from ldpsim.devices.mechanisms.features import FeatureGrid
from ldpsim.devices.mechanisms.mechanism import changes
from ldpsim.devices.noise import Noise

STEPS = 256
UNIT = 1 << 32


class NoisySteps(FeatureGrid):
    """Mechanism that adds noise to every feature; ``report``: int64 (d,), whole steps above ``low``."""

    def noise_steps(self, noise: Noise) -> IntArray:
        """int64 (devices, d): draw the noise."""
        raise NotImplementedError

    def draw(self, values: np.ndarray, noise: Noise) -> IntArray:
        return self.steps(values) + self.noise_steps(noise)

    def encode(self, reports: IntArray, devices: IntArray) -> list[bytes]:
        return [pack_integers(row) for row in reports]

    def decode(self, data: Sequence[bytes], devices: IntArray) -> IntArray:
        return np.array([unpack_integers(each, self.d) for each in data], np.int64).reshape(-1, self.d)

    def rows(self, reports: IntArray, devices: IntArray) -> NDArray[np.integer]:
        """Return the reports, with 32 bits where these hold all of them."""
        small = reports.min(initial=0) > -(1 << 31) and reports.max(initial=0) < 1 << 31
        return reports.astype(np.int32) if small else reports

    def estimate(self, report: IntArray) -> FloatArray:
        return self.low + self.step * report


@dataclass(frozen=True)
class Laplace(NoisySteps):
    """Report each of d features with discrete Laplace noise.

    ``value``: float (d,); ``report``: int64 (d,), whole steps above ``low``.

    Args:
        t, s: The noise's scale is t/s steps; integers in lowest terms, below 2**32.
        d: Number of features.
        low, high: Public range; values outside are clamped.
        grid: Number of steps into which the range is cut.

    Raises:
        ValueError: for an impossible scale, size, range or grid.

    >>> mechanism = Laplace.from_epsilon(2.0, d=4)
    >>> mechanism.loss()
    Loss(bit=0.5, vector=2.0, delta=0.0)
    >>> mechanism.estimate(np.array([0, 128, 256, 512])).tolist()
    [0.0, 0.5, 1.0, 2.0]
    """

    t: int
    s: int
    d: int
    low: float = 0.0
    high: float = 1.0
    grid: int = STEPS

    loss_is_tight: ClassVar[bool] = True
    name: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        discrete_laplace.check_scale(self.t, self.s)
        super().__post_init__()

    @classmethod
    def from_epsilon(cls, epsilon: float, *, d: int, low: float = 0.0, high: float = 1.0, grid: int = STEPS) -> Laplace:
        """Return the mechanism whose loss for the whole vector is at most ``epsilon``."""
        t, s = discrete_laplace.scale_for(epsilon, sensitivity=d * grid)
        return cls(t=t, s=s, d=d, low=float(low), high=float(high), grid=grid)

    def noise_steps(self, noise: Noise) -> IntArray:
        return discrete_laplace.sample(noise, self.t, self.s, self.d)

    def log_probability(self, report: np.ndarray, value: np.ndarray) -> float:
        return discrete_laplace.log_probability(report - self.steps(value), self.t, self.s)

    def log_likelihood(self, report: np.ndarray) -> FloatArray:
        return discrete_laplace.log_likelihood(report, self.t, self.s, shift=self.grid)

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return discrete_laplace.loss(self.t, self.s, shift=changes(self.d, changed) * self.grid)


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

    def noise_steps(self, noise: Noise) -> IntArray:
        return gaussian.sample(noise, Fraction(self.deviation, UNIT), self.d)

    def log_probability(self, report: np.ndarray, value: np.ndarray) -> float:
        return gaussian.log_probability(report - self.steps(value), self.sigma)

    def delta_of(self, epsilon: float, *, changed: int | None = None) -> float:
        """Return delta(eps) when ``changed`` features (None: all) go from one end of the range to the other."""
        return gaussian.delta_of(epsilon, shift=self._shift(changed), sigma=self.sigma)

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return gaussian.printed_epsilon(self.delta, shift=self._shift(changed), sigma=self.sigma)

    def _shift(self, changed: int | None) -> float:
        """L2 distance of two people of whom so many features are at opposite ends of the range."""
        return self.grid * math.sqrt(changes(self.d, changed))
