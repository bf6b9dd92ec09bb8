"""Bases of mechanisms about d features in a public range.

A feature x in [low, high] may be put on a public grid of whole steps 0 .. grid first. A value outside the range is
clamped; a value that is no number counts as ``low``.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.mechanism import Mechanism


class FeatureRange(Mechanism):
    """Mechanism about d features in [low, high]; its dataclass has these three fields."""

    d: int
    low: float
    high: float
    reads: ClassVar[tuple[str, ...]] = ("features",)
    field: ClassVar[str] = "features"

    def agrees_with(self, facts: PublicFacts) -> bool:
        return (self.d, self.low, self.high) == (facts.d, facts.feature_low, facts.feature_high)

    def __post_init__(self) -> None:
        if self.d < 1 or not 0 < self.high - self.low < math.inf:
            raise ValueError(
                f"{self.name} needs d >= 1 and a finite range low < high, not d={self.d}, [{self.low}, {self.high}]"
            )


class FeatureGrid(FeatureRange):
    """Mechanism that puts features on a grid of steps; its dataclass has the field ``grid`` too."""

    grid: int

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.grid <= 1 << 20:
            raise ValueError(f"{self.name} needs a grid of 1..2**20 steps, not {self.grid}")

    @property
    def step(self) -> float:
        """Width of one step."""
        return (self.high - self.low) / self.grid

    def steps(self, value: np.ndarray) -> np.ndarray:
        """int64: values on the grid, 0 .. grid."""
        place = np.fmax(value, self.low, dtype=np.float64)  # fmax: no number counts as low
        np.fmin(place, self.high, out=place)
        place -= self.low
        place /= self.high - self.low
        place *= self.grid
        return np.rint(place, out=place).astype(np.int64)
