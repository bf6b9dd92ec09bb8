"""Base classes of mechanisms about features in a public range.

A feature x in [low, high] may be put on a public grid of whole steps 0 .. grid first. A
value outside the range is clamped; a value that is no number counts as ``low``.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from devices.facts import PublicFacts
from devices.mechanisms.base import Mechanism


class FeatureRange(Mechanism):
    """Mechanism about d features in [low, high]; its dataclass has these three fields."""

    d: int
    low: float
    high: float
    attributes: ClassVar[frozenset[str]] = frozenset({"features"})

    def agrees_with(self, facts: PublicFacts) -> bool:
        return (self.d, self.low, self.high) == (facts.d, facts.feature_low, facts.feature_high)

    @classmethod
    def check_range(cls, d: int, low: float, high: float) -> None:
        """Refuse an impossible number of features or range (ValueError)."""
        if d < 1 or not 0 < high - low < math.inf:
            raise ValueError(f"{cls.name} needs d >= 1 and a finite range low < high, not d={d}, [{low}, {high}]")


class FeatureGrid(FeatureRange):
    """Mechanism that puts features on a grid of steps; its dataclass has the field ``grid`` too."""

    grid: int

    @classmethod
    def check_grid(cls, d: int, low: float, high: float, grid: int) -> None:
        """Refuse an impossible number of features, range or grid (ValueError)."""
        cls.check_range(d, low, high)
        if not 1 <= grid <= 1 << 20:
            raise ValueError(f"{cls.name} needs a grid of 1..2**20 steps, not {grid}")

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
