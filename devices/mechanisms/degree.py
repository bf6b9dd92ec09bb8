"""A noisy degree: the number of neighbours plus discrete Laplace noise.

Blink (Zhu, Tan, Xiao 2023, https://arxiv.org/abs/2309.03190), DPRR and LDPGen use it. One
bit of the list moves the degree by 1. The whole list moves it by as many bits as the list
has: n - 1, or i for device i with ``one-end``. With noise of scale t/s the losses are

    one bit: s/t,    k bits: k * s/t,    the list: (n - 1) * s/t,    all attained exactly.

A degree is part of the attribute ``adjacency``. It is asked together with randomised
response in one question, and the losses add. (DPRR thins its randomised row by a
probability that is made of the noisy degree. That reads no raw data, so the curator does it
with these two reports, at the same loss.) The report is not clipped: clipping is free
afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.data.population import Record
from ldpsim.devices.mechanisms import discrete_laplace
from ldpsim.devices.mechanisms.adjacency import NoisyCounts
from ldpsim.devices.mechanisms.base import Grouping, Reporting
from ldpsim.devices.mechanisms.stacked_reports import DataOf, filled
from ldpsim.devices.noise import NoiseStream


@dataclass(frozen=True)
class Degree(NoisyCounts):
    """Report the number of neighbours with discrete Laplace noise.

    ``value`` and ``report``: an integer; a report may be negative or above n - 1.

    Args:
        t, s: The noise's scale is t/s; integers in lowest terms, below 2**32.
        n: Number of people.
        reporting: ``both`` counts all neighbours, ``one-end`` those before the device.

    Raises:
        ValueError: for an impossible scale or size.

    >>> Degree.from_epsilon(0.5, n=10).loss()
    Loss(bit=0.5, vector=4.5, delta=0.0)
    """

    t: int
    s: int
    n: int
    reporting: Reporting = "both"

    attained: ClassVar[bool] = True
    name: ClassVar[str] = "degree"
    field: ClassVar[str] = "degrees"

    @classmethod
    def from_epsilon(cls, epsilon: float, *, n: int, reporting: Reporting = "both") -> Degree:
        """Return the mechanism whose loss per adjacency bit is at most ``epsilon``."""
        t, s = discrete_laplace.scale_for(epsilon, sensitivity=1)
        return cls(t=t, s=s, n=n, reporting=reporting)

    def value_of(self, record: Record, *, device: int, grouping: Grouping = None) -> int:
        return int(np.count_nonzero(self.row(device, record.neighbours)))

    def perturb(self, value: int, noise: NoiseStream) -> int:
        return int(super().perturb(np.array([value]), noise)[0])

    def encode(self, report: int) -> bytes:
        return super().encode(np.array([report]))

    def decode(self, data: bytes, *, device: int) -> int:
        return int(super().decode(data, device=device)[0])

    def size(self, device: int) -> int:
        return 1

    def stack(self, rows: DataOf, n: int) -> Any:
        """int64 (n,)."""
        return filled(rows, self.decode, np.zeros(n, np.int64))

    def log_probability(self, report: int, value: int) -> float:
        return super().log_probability(np.array([report]), np.array([value]))

    def estimate(self, report: int) -> float:
        return float(report)

    def variance(self, value: int) -> float:
        return float(super().variance(np.array([value]))[0])
