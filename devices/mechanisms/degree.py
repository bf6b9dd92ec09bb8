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
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from devices.mechanisms import discrete_laplace
from devices.mechanisms.adjacency import AdjacencyMechanism
from devices.mechanisms.base import Loss, Reporting
from devices.mechanisms.integers import pack_integers, unpack_integers
from devices.mechanisms.stacking import DataOf, filled
from devices.noise import NoiseStream

if TYPE_CHECKING:
    from devices.data.population import Record


@dataclass(frozen=True)
class Degree(AdjacencyMechanism):
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

    name: ClassVar[str] = "degree"
    field: ClassVar[str] = "degrees"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        discrete_laplace.check_scale(self.t, self.s)
        self.check_row()

    @classmethod
    def from_epsilon(cls, epsilon: float, *, n: int, reporting: Reporting = "both") -> Degree:
        """Return the mechanism whose loss per adjacency bit is at most ``epsilon``."""
        t, s = discrete_laplace.scale_for(epsilon, sensitivity=1)
        return cls(t=t, s=s, n=n, reporting=reporting)

    def value_of(self, record: Record, *, device: int, grouping: tuple[int, ...] | None = None) -> int:
        return int(np.count_nonzero(self.row(device, record.neighbours)))

    def perturb(self, value: int, noise: NoiseStream) -> int:
        return value + int(discrete_laplace.sample(noise, self.t, self.s, 1)[0])

    def encode(self, report: int) -> bytes:
        return pack_integers(np.array([report]))

    def decode(self, data: bytes, *, device: int) -> int:
        return int(unpack_integers(data, 1)[0])

    def stack(self, rows: DataOf, n: int) -> Any:
        """int64 (n,)."""
        return filled(rows, self.decode, np.zeros(n, np.int64))

    def log_probability(self, report: int, value: int) -> float:
        return discrete_laplace.log_probability(np.array([report - value]), self.t, self.s)

    def estimate(self, report: int) -> float:
        return float(report)

    def variance(self, value: int) -> float:
        return discrete_laplace.variance(self.t, self.s)

    def loss(self, *, device: int | None = None) -> Loss:
        return discrete_laplace.loss(self.t, self.s, entries=self.most_targets(device))
