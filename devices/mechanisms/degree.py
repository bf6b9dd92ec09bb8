"""A noisy degree (Blink, DPRR, LDPGen): the number of neighbours plus discrete Laplace noise.

One bit of the list moves the degree by 1, the whole list by as many bits as it has (n - 1;
i for device i with ``one-end``), so with noise of scale t/s

    one bit: s/t,    k bits: k * s/t,    the list: (n - 1) * s/t,    all attained exactly.

A degree is no attribute of its own: it is asked together with randomised response in one
question about the adjacency, and the losses add. (DPRR thins its randomised row by a
probability made of the noisy degree. That reads no raw data, so the curator can do it with
these two reports, at the same loss.) The report is not clipped: clipping is free afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from devices.mechanisms import discrete_laplace
from devices.mechanisms.base import Loss, round_up
from devices.mechanisms.integers import pack_integers, unpack_integers
from devices.mechanisms.neighbour_list import AboutList, Reporting
from devices.noise import NoiseStream

if TYPE_CHECKING:
    from devices.data.population import Record


@dataclass(frozen=True)
class Degree(AboutList):
    """Report the number of neighbours with discrete Laplace noise.

    ``value`` and ``report``: an integer; a report may be negative or above n - 1.

    Args:
        t, s: The noise's scale is t/s; integers in lowest terms, below 2**32.
        n: Number of people.
        reporting: ``both`` counts all neighbours, ``one-end`` those before the device.

    Raises:
        ValueError: for a scale or a size that makes no sense.
    """

    t: int
    s: int
    n: int
    reporting: Reporting = "both"

    name: ClassVar[str] = "degree"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        discrete_laplace.check_scale(self.t, self.s)
        self.check_list()

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

    def log_probability(self, report: int, value: int) -> float:
        return discrete_laplace.log_probability(np.array([report - value]), self.t, self.s)

    def estimate(self, report: int) -> float:
        return float(report)

    def variance(self, value: int) -> float:
        return discrete_laplace.variance(self.t, self.s)

    def loss(self, *, device: int | None = None) -> Loss:
        bits = self.most_targets(device)
        bit, whole = (round_up(discrete_laplace.shift_loss(self.t, self.s, k)) for k in (min(bits, 1), bits))
        return Loss(bit=bit, vector=whole)
