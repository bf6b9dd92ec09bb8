"""Laplace noise on every bit of the adjacency row (Wu et al. 2022; L-DPGCN in Blink's comparison).

Each bit becomes ``grid`` whole steps or none, and discrete Laplace noise of scale t/s
steps is added. One bit: grid * s/t; k bits: k times that; the list: (n - 1) times that.
All attained exactly. A device sends n - 1 numbers, where randomised response sends bits:
:meth:`NoisyRow.bytes_per_device` says how much that is before anybody is asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from devices.mechanisms import discrete_laplace
from devices.mechanisms.base import BoolArray, Loss, round_up
from devices.mechanisms.integers import pack_integers, unpack_integers
from devices.mechanisms.neighbour_list import AboutList, Reporting
from devices.noise import NoiseStream

STEPS = 64


@dataclass(frozen=True)
class NoisyRow(AboutList):
    """Report each bit of the adjacency row as a noisy number.

    ``value``: bool (number of targets,); ``report``: int64 (number of targets,), in steps.

    Args:
        t, s: The noise's scale is t/s steps; integers in lowest terms, below 2**32.
        n: Number of people.
        grid: Number of steps that a bit is worth; more steps, fewer ties.
        reporting: ``both`` or ``one-end``.

    Raises:
        ValueError: for a scale, size or grid that makes no sense.
    """

    t: int
    s: int
    n: int
    grid: int = STEPS
    reporting: Reporting = "both"

    name: ClassVar[str] = "noisy_row"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        discrete_laplace.check_scale(self.t, self.s)
        self.check_list()
        if not 1 <= self.grid <= 1 << 20:
            raise ValueError(f"the grid must have 1..2**20 steps, not {self.grid}")

    @classmethod
    def from_epsilon(cls, epsilon: float, *, n: int, grid: int = STEPS, reporting: Reporting = "both") -> NoisyRow:
        """Return the mechanism whose loss per adjacency bit is at most ``epsilon``."""
        t, s = discrete_laplace.scale_for(epsilon, sensitivity=grid)
        return cls(t=t, s=s, n=n, grid=grid, reporting=reporting)

    def bytes_per_device(self) -> int:
        """Bytes that the longest row will very likely take (a wider one: once in 10**9 numbers)."""
        largest = self.grid + self.t / self.s * 9 * math.log(10)
        return 1 + (self.n - 1) * (int(largest).bit_length() // 8 + 1)

    def perturb(self, value: BoolArray, noise: NoiseStream) -> np.ndarray:
        return self.grid * value.astype(np.int64) + discrete_laplace.sample(noise, self.t, self.s, len(value))

    def encode(self, report: np.ndarray) -> bytes:
        return pack_integers(report)

    def decode(self, data: bytes, *, device: int) -> np.ndarray:
        return unpack_integers(data, self.targets(device))

    def log_probability(self, report: np.ndarray, value: BoolArray) -> float:
        return discrete_laplace.log_probability(report - self.grid * value.astype(np.int64), self.t, self.s)

    def estimate(self, report: np.ndarray) -> np.ndarray:
        return report / self.grid

    def variance(self, value: BoolArray) -> np.ndarray:
        return np.full(len(value), discrete_laplace.variance(self.t, self.s) / self.grid**2)

    def loss(self, *, device: int | None = None) -> Loss:
        bits = self.most_targets(device)
        bit, whole = (
            round_up(discrete_laplace.shift_loss(self.t, self.s, k * self.grid)) for k in (min(bits, 1), bits)
        )
        return Loss(bit=bit, vector=whole)
