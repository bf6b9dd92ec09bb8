"""Laplace noise on every feature, on a grid.

A feature x in [low, high] is put on a public grid of whole steps 0 .. grid, and exact
discrete Laplace noise of scale t/s steps is added (:mod:`discrete_laplace`). One feature
moves by at most ``grid`` steps and the whole vector by d * grid in L1, so

    one feature: grid * s/t,    k features: k * grid * s/t,    the vector: d * grid * s/t = eps,

attained exactly. The report is whole steps, so it has no low bits of a floating-point sum
that would give a value away. Rounding to the grid moves a value by half a step at most. The
estimate is unbiased for the value on the grid.

Dwork et al. 2006, https://doi.org/10.1007/11681878_14
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldpsim.devices.array_types import FloatArray
from ldpsim.devices.mechanisms import discrete_laplace
from ldpsim.devices.mechanisms.base import StepNoise
from ldpsim.devices.mechanisms.exact_loss import round_up
from ldpsim.devices.mechanisms.features import NoisySteps
from ldpsim.devices.noise import NoiseStream

STEPS = 256


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

    attained: ClassVar[bool] = True
    name: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        discrete_laplace.check_scale(self.t, self.s)
        super().__post_init__()

    @classmethod
    def from_epsilon(cls, epsilon: float, *, d: int, low: float = 0.0, high: float = 1.0, grid: int = STEPS) -> Laplace:
        """Return the mechanism whose loss for the whole vector is at most ``epsilon``."""
        t, s = discrete_laplace.scale_for(epsilon, sensitivity=d * grid)
        return cls(t=t, s=s, d=d, low=float(low), high=float(high), grid=grid)

    @property
    def step_noise(self) -> StepNoise:
        return StepNoise(self.t, self.s, self.grid)

    @property
    def most_likely(self) -> float:
        return math.tanh(self.s / self.t / 2) ** self.d

    def perturb(self, value: np.ndarray, noise: NoiseStream) -> np.ndarray:
        return self.steps(value) + discrete_laplace.sample(noise, self.t, self.s, self.d)

    def log_probability(self, report: np.ndarray, value: np.ndarray) -> float:
        return discrete_laplace.log_probability(report - self.steps(value), self.t, self.s)

    def variance(self, value: np.ndarray) -> np.ndarray:
        return np.full(self.d, self.step**2 * discrete_laplace.variance(self.t, self.s))

    def evidence(self, report: np.ndarray) -> FloatArray:
        return discrete_laplace.evidence(report, self.t, self.s, shift=self.grid)

    def loss_of(self, changed: int) -> float:
        return round_up(discrete_laplace.shift_loss(self.t, self.s, changed * self.grid))
