"""Discrete Laplace noise on what a person's neighbour list adds up to: the degree, degrees by group, or each bit.

Noise of scale t/s is added to every count. One bit of the list moves one count by ``grid``, and the whole list moves
the counts by as many bits as it has: n - 1, or i for device i with ``one-end``. So the losses are, whatever is counted,

    one bit: grid * s/t,    k bits: k * grid * s/t,    the list: (n - 1) * grid * s/t,    all attained exactly.

The counts are part of the attribute ``adjacency``. They are asked together with randomised response in one question,
and the losses add. (DPRR thins its randomised row by a probability that is made of the noisy degree. That reads no raw
data, so the curator does it with these two reports, at the same loss.) A report is not clipped: clipping is free
afterwards.

- ``degree``: Blink (Zhu, Tan, Xiao 2023, https://arxiv.org/abs/2309.03190), DPRR and LDPGen use it.
- ``group_degrees``: everybody is in one of k public groups. LDPGen (Qin et al. 2017,
  https://doi.org/10.1145/3133956.3134086) has two stages. The first needs a random grouping that everybody can compute
  (``seed`` of 0 or more). The second takes the grouping that the curator made of the first stage's reports (``seed``
  -1: the query's ``grouping``). The plan has both stages from the start, and their losses add.
- ``noisy_row``: Blink compares with it as L-DPGCN, after Wu et al. 2022 (https://arxiv.org/abs/2108.06504). A 1 becomes
  ``grid`` whole steps, a 0 none. A device sends n - 1 numbers instead of bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray, IntArray
from ldpsim.devices.data.records import Records
from ldpsim.devices.mechanisms import discrete_laplace
from ldpsim.devices.mechanisms.codecs import pack_integers, unpack_integers
from ldpsim.devices.mechanisms.mechanism import Grouping, Reporting
from ldpsim.devices.mechanisms.neighbour_lists import AdjacencyMechanism
from ldpsim.devices.noise import Noise

STEPS = 64


class NoisyCounts(AdjacencyMechanism):
    """Mechanism that adds discrete Laplace noise to counts; its dataclass has the fields ``t`` and ``s`` too.

    ``value`` and ``report``: int64 (size,).
    """

    t: int
    s: int
    grid: int = 1
    loss_is_tight: ClassVar[bool] = True

    def __post_init__(self) -> None:
        discrete_laplace.check_scale(self.t, self.s)
        super().__post_init__()

    def counts(self, devices: IntArray) -> IntArray:
        """int64 (devices,): how many counts each device reports."""
        raise NotImplementedError

    def draw(self, values: IntArray, noise: Noise) -> IntArray:
        return values + discrete_laplace.sample(noise, self.t, self.s, values.shape[1])

    def encode(self, reports: IntArray, devices: IntArray) -> list[bytes]:
        return [pack_integers(row[:size]) for row, size in zip(reports, self.counts(devices).tolist(), strict=True)]

    def decode(self, data: Sequence[bytes], devices: IntArray) -> IntArray:
        """int64 (devices, largest number of counts), 0 behind the last one of a device."""
        sizes = self.counts(devices)
        reports = np.zeros((len(data), int(sizes.max(initial=0))), np.int64)
        for row, (each, size) in enumerate(zip(data, sizes.tolist(), strict=True)):
            reports[row, :size] = unpack_integers(each, size)
        return reports

    def log_probability(self, report: IntArray, value: IntArray) -> float:
        return discrete_laplace.log_probability(report - value, self.t, self.s)

    def estimate(self, report: IntArray) -> Any:
        return report / self.grid

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return discrete_laplace.loss(self.t, self.s, shift=self.most_targets(device, changed) * self.grid)


@dataclass(frozen=True)
class Degree(NoisyCounts):
    """Report the number of neighbours with discrete Laplace noise.

    ``value`` and ``report``: int64 (1,); a report may be negative or above n - 1. Reports of many devices: int64 (n,).

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

    @classmethod
    def from_epsilon(cls, epsilon: float, *, n: int, reporting: Reporting = "both") -> Degree:
        """Return the mechanism whose loss per adjacency bit is at most ``epsilon``."""
        t, s = discrete_laplace.scale_for(epsilon, sensitivity=1)
        return cls(t=t, s=s, n=n, reporting=reporting)

    def values(self, people: Records, devices: IntArray, grouping: Grouping = None) -> IntArray:
        return np.asarray(super().values(people, devices).counts)[:, None]

    def counts(self, devices: IntArray) -> IntArray:
        return np.ones(len(devices), np.int64)

    def rows(self, reports: IntArray, devices: IntArray) -> IntArray:
        """int64 (devices,)."""
        return reports.reshape(len(devices))


@dataclass(frozen=True)
class GroupDegrees(NoisyCounts):
    """Report the number of neighbours in each group with discrete Laplace noise.

    ``value`` and ``report``: int64 (groups,). Reports of many devices: int64 (n, groups).

    Args:
        t, s: The noise's scale is t/s; integers in lowest terms, below 2**32.
        n: Number of people.
        groups: Number of groups k.
        seed: Seed of the public random grouping (:func:`random_grouping`), or -1 for the query's own.
        reporting: ``both`` counts all neighbours, ``one-end`` those before the device.

    Raises:
        ValueError: for an impossible scale, size, number of groups or seed.

    >>> mechanism = GroupDegrees.from_epsilon(1.0, n=6, groups=2, seed=7)
    >>> mechanism.groups_of(None).tolist()
    [1, 0, 0, 1, 0, 1]
    """

    t: int
    s: int
    n: int
    groups: int
    seed: int = -1
    reporting: Reporting = "both"

    name: ClassVar[str] = "group_degrees"
    field: ClassVar[str] = "group_degrees"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.groups <= 1 << 16 or not -1 <= self.seed < 1 << 32:
            raise ValueError(f"1..65536 groups and a seed of -1..2**32-1 are needed, not {self.groups}, {self.seed}")

    @classmethod
    def from_epsilon(
        cls, epsilon: float, *, n: int, groups: int, seed: int = -1, reporting: Reporting = "both"
    ) -> GroupDegrees:
        """Return the mechanism whose loss per adjacency bit is at most ``epsilon``."""
        t, s = discrete_laplace.scale_for(epsilon, sensitivity=1)
        return cls(t=t, s=s, n=n, groups=groups, seed=seed, reporting=reporting)

    def takes(self, grouping: Grouping) -> bool:
        """Return whether a stage with this public grouping of the nodes (or none) can be answered."""
        if self.seed >= 0:
            return True
        return grouping is not None and len(grouping) == self.n and max(grouping) < self.groups

    def groups_of(self, grouping: Grouping) -> IntArray:
        """int64 (n,): the group of every person."""
        if self.seed >= 0:
            return random_grouping(self.n, self.groups, self.seed)
        assert grouping is not None  # a device refuses the question otherwise
        return _as_array(grouping)

    def values(self, people: Records, devices: IntArray, grouping: Grouping = None) -> IntArray:
        bits = super().values(people, devices)
        groups = self.groups_of(grouping)[self.nodes(devices[bits.rows], bits.columns)]
        places = bits.rows * self.groups + groups
        return np.bincount(places, minlength=len(devices) * self.groups).reshape(-1, self.groups)

    def counts(self, devices: IntArray) -> IntArray:
        return np.full(len(devices), self.groups)

    def decode(self, data: Sequence[bytes], devices: IntArray) -> IntArray:
        return super().decode(data, devices).reshape(-1, self.groups)


@dataclass(frozen=True)
class NoisyRow(NoisyCounts):
    """Report each bit of the adjacency row as a noisy number.

    ``value`` and ``report``: int64 (number of targets,), in steps. Reports of many devices: int32 (n, n), 0 where a
    device does not report about a node.

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

    def values(self, people: Records, devices: IntArray, grouping: Grouping = None) -> IntArray:
        dense = super().values(people, devices).dense()[:, : int(self.counts(devices).max(initial=0))]
        return self.grid * dense.astype(np.int64)

    def counts(self, devices: IntArray) -> IntArray:
        return self.no_ones(devices).sizes

    def decode(self, data: Sequence[bytes], devices: IntArray) -> IntArray:
        reports = super().decode(data, devices)
        if reports.max(initial=0) >= 1 << 31 or reports.min(initial=0) < -(1 << 31):
            raise ValueError("a number beyond 32 bits")
        return reports

    def rows(self, reports: IntArray, devices: IntArray) -> NDArray[np.int32]:
        """int32 (devices, n): the number about each node."""
        owners, places = np.nonzero(np.arange(reports.shape[1]) < self.counts(devices)[:, None])
        by_node = np.zeros((len(devices), self.n), np.int32)
        by_node[owners, self.nodes(devices[owners], places)] = reports[owners, places]
        return by_node

    def log_likelihood(self, report: IntArray) -> FloatArray:
        return discrete_laplace.log_likelihood(report, self.t, self.s, shift=self.grid)


@lru_cache(maxsize=4)  # every device of a process counts by the same grouping
def _as_array(grouping: tuple[int, ...]) -> IntArray:
    return np.array(grouping, np.int64)


@lru_cache(maxsize=4)
def random_grouping(n: int, groups: int, seed: int) -> IntArray:
    """int64 (n,): a public grouping that anybody can compute; it contains nothing secret.

    Node j gets the j-th output of SplitMix64 from the seed, modulo ``groups``
    (Steele et al. 2014, https://doi.org/10.1145/2660193.2660195).
    """
    with np.errstate(over="ignore"):
        state = np.uint64(seed) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ state >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ state >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        state ^= state >> np.uint64(31)
    result = (state % np.uint64(groups)).astype(np.int64)
    result.flags.writeable = False
    return result
