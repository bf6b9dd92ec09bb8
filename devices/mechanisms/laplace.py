"""Laplace noise on every feature, on a grid (Dwork et al. 2006).

A feature x in [low, high] is put on a stated public grid of whole steps 0 .. grid, and
exact discrete Laplace noise of scale t/s steps is added (:mod:`discrete_laplace`). One
feature moves by at most ``grid`` steps and the whole vector by d * grid in L1, so

    one feature: grid * s/t,    k features: k * grid * s/t,    the vector: d * grid * s/t = eps,

attained exactly. The report is whole steps: the low bits of a floating-point sum, which
give a value away (Mironov 2012), do not exist. Rounding to the grid moves a value by half
a step at most; the estimate is unbiased for the value on the grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from devices.facts import PublicFacts
from devices.mechanisms import discrete_laplace
from devices.mechanisms.base import Loss, Mechanism, round_up
from devices.mechanisms.integers import pack_integers, unpack_integers
from devices.noise import NoiseStream

STEPS = 256


def check_grid(d: int, low: float, high: float, grid: int) -> None:
    """Refuse a number of features, a range or a grid that makes no sense (ValueError)."""
    if d < 1 or not 0 < high - low < math.inf or not 1 <= grid <= 1 << 20:
        raise ValueError(
            f"noise on a grid needs d >= 1, a finite range low < high and 1..2**20 steps, "
            f"not d={d}, [{low}, {high}], {grid}"
        )


def to_steps(value: np.ndarray, low: float, high: float, grid: int) -> np.ndarray:
    """int64: values on the grid, 0 .. grid. Those outside the range, or no number, are clamped."""
    inside = np.fmin(np.fmax(np.asarray(value, np.float64), low), high)
    return np.rint((inside - low) / (high - low) * grid).astype(np.int64)


@dataclass(frozen=True)
class Laplace(Mechanism):
    """Report each of d features with discrete Laplace noise.

    ``value``: float (d,); ``report``: int64 (d,), whole steps above ``low``.

    Args:
        t, s: The noise's scale is t/s steps; integers in lowest terms, below 2**32.
        d: Number of features.
        low, high: Public range; values outside are clamped.
        grid: Number of steps into which the range is cut.

    Raises:
        ValueError: for a scale, size, range or grid that makes no sense.
    """

    t: int
    s: int
    d: int
    low: float = 0.0
    high: float = 1.0
    grid: int = STEPS

    name: ClassVar[str] = "laplace"
    version: ClassVar[int] = 1
    attributes: ClassVar[frozenset[str]] = frozenset({"features"})

    def __post_init__(self) -> None:
        discrete_laplace.check_scale(self.t, self.s)
        check_grid(self.d, self.low, self.high, self.grid)

    @classmethod
    def from_epsilon(cls, epsilon: float, *, d: int, low: float = 0.0, high: float = 1.0, grid: int = STEPS) -> Laplace:
        """Return the mechanism whose loss for the whole vector is at most ``epsilon``."""
        t, s = discrete_laplace.scale_for(epsilon, sensitivity=d * grid)
        return cls(t=t, s=s, d=d, low=float(low), high=float(high), grid=grid)

    def agrees_with(self, facts: PublicFacts) -> bool:
        return (self.d, self.low, self.high) == (facts.d, facts.feature_low, facts.feature_high)

    def steps(self, value: np.ndarray) -> np.ndarray:
        """int64 (d,): the value on the grid."""
        return to_steps(value, self.low, self.high, self.grid)

    def perturb(self, value: np.ndarray, noise: NoiseStream) -> np.ndarray:
        return self.steps(value) + discrete_laplace.sample(noise, self.t, self.s, self.d)

    def encode(self, report: np.ndarray) -> bytes:
        return pack_integers(report)

    def decode(self, data: bytes, *, device: int) -> np.ndarray:
        return unpack_integers(data, self.d)

    def log_probability(self, report: np.ndarray, value: np.ndarray) -> float:
        return discrete_laplace.log_probability(report - self.steps(value), self.t, self.s)

    def estimate(self, report: np.ndarray) -> np.ndarray:
        return self.low + (self.high - self.low) / self.grid * report

    def variance(self, value: np.ndarray) -> np.ndarray:
        step = (self.high - self.low) / self.grid
        return np.full(self.d, step**2 * discrete_laplace.variance(self.t, self.s))

    def loss(self, *, device: int | None = None) -> Loss:
        return Loss(bit=self.loss_of(1), vector=self.loss_of(self.d))

    def loss_of(self, changed: int) -> float:
        """Exact loss when this many features change from one end of the range to the other."""
        return round_up(discrete_laplace.shift_loss(self.t, self.s, changed * self.grid))
