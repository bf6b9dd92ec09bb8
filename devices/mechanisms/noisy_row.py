"""Laplace noise on every bit of the adjacency row.

Blink compares with it as L-DPGCN, after Wu et al. 2022 (https://arxiv.org/abs/2108.06504).
A 1 becomes ``grid`` whole steps, a 0 none, and discrete Laplace noise
of scale t/s steps is added. One bit loses grid * s/t, k bits lose k times that, the list
n - 1 times. All are attained exactly. A device sends n - 1 numbers instead of bits;
:meth:`NoisyRow.bytes_per_device` tells their size before anybody is asked.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.array_types import BoolArray, FloatArray
from ldpsim.devices.mechanisms import discrete_laplace
from ldpsim.devices.mechanisms.adjacency import NoisyCounts
from ldpsim.devices.mechanisms.base import Reporting
from ldpsim.devices.mechanisms.stacked_reports import DataOf, decoded
from ldpsim.devices.noise import NoiseStream

STEPS = 64


@dataclass(frozen=True)
class NoisyRow(NoisyCounts):
    """Report each bit of the adjacency row as a noisy number.

    ``value``: bool (number of targets,); ``report``: int64 (number of targets,), in steps.

    Args:
        t, s: The noise's scale is t/s steps; integers in lowest terms, below 2**32.
        n: Number of people.
        grid: Number of steps that a bit is worth; more steps, fewer ties.
        reporting: ``both`` or ``one-end``.

    Raises:
        ValueError: for an impossible scale, size or grid.

    >>> NoisyRow.from_epsilon(1.0, n=1000).bytes_per_device()
    1999
    """

    t: int
    s: int
    n: int
    grid: int = STEPS
    reporting: Reporting = "both"

    attained: ClassVar[bool] = True
    name: ClassVar[str] = "noisy_row"
    field: ClassVar[str] = "noisy_rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.grid <= 1 << 20:
            raise ValueError(f"the grid must have 1..2**20 steps, not {self.grid}")

    @classmethod
    def from_epsilon(cls, epsilon: float, *, n: int, grid: int = STEPS, reporting: Reporting = "both") -> NoisyRow:
        """Return the mechanism whose loss per adjacency bit is at most ``epsilon``."""
        t, s = discrete_laplace.scale_for(epsilon, sensitivity=grid)
        return cls(t=t, s=s, n=n, grid=grid, reporting=reporting)

    def bytes_per_device(self) -> int:
        """Return the likely size of the longest row in bytes (a number is wider once in 10**9)."""
        largest = self.grid + self.t / self.s * 9 * math.log(10)
        return 1 + (self.n - 1) * (int(largest).bit_length() // 8 + 1)

    def expected_bytes(self, degree: float) -> float:
        width, fall = 1.0, math.exp(-self.s / self.t)
        for size in (7, 15, 23, 31):  # a row is wider than a byte if one of its numbers is
            zero = 2 * fall ** (1 << size) / (1 + fall)
            one = min(1.0, fall ** max((1 << size) - self.grid, 0) / (1 + fall))
            width += 1 - (1 - min(1.0, zero)) ** (self.n - 1 - degree) * (1 - one) ** degree
        return 1 + (self.n - 1) * width

    def expected_draws(self) -> float:
        return (self.n - 1) / (1 if self.reporting == "both" else 2)

    def perturb(self, value: BoolArray, noise: NoiseStream) -> np.ndarray:
        return super().perturb(self.grid * value.astype(np.int64), noise)

    def decode(self, data: bytes, *, device: int) -> Any:
        report = super().decode(data, device=device)
        if report.max(initial=0) >= 1 << 31 or report.min(initial=0) < -(1 << 31):
            raise ValueError("a number beyond 32 bits")
        return report

    def stack(self, rows: DataOf, n: int) -> Any:
        """int32 (n, n), in steps; 0 where a device does not report about a node."""
        into = np.zeros((n, n), np.int32)
        for device, report in decoded(rows, self.decode):
            into[device, self.nodes(device, np.arange(len(report)))] = report
        return into

    def log_probability(self, report: np.ndarray, value: BoolArray) -> float:
        return super().log_probability(report, self.grid * value.astype(np.int64))

    def evidence(self, report: np.ndarray) -> FloatArray:
        return discrete_laplace.evidence(report, self.t, self.s, shift=self.grid)
