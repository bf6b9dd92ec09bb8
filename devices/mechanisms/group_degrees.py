"""Noisy numbers of neighbours in each public group (LDPGen).

Everybody is in one of k public groups. A device counts its neighbours in each group and
adds discrete Laplace noise of scale t/s to every count. One bit of the list moves one count
by 1. The whole list moves the counts by as many bits as it has (L1), whatever the grouping:

    one bit: s/t,    k bits: k * s/t,    the list: (n - 1) * s/t,    all attained exactly.

LDPGen has two stages. The first needs a random grouping that everybody can compute
(``seed`` of 0 or more). The second takes the grouping that the curator made of the first
stage's reports (``seed`` -1: the query's ``grouping``). The plan has both stages from the
start, and their losses add.

Qin et al. 2017, https://doi.org/10.1145/3133956.3134086
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.data.population import Record
from ldpsim.devices.mechanisms import discrete_laplace
from ldpsim.devices.mechanisms.adjacency import NoisyCounts
from ldpsim.devices.mechanisms.base import Grouping, Reporting
from ldpsim.devices.mechanisms.stacked_reports import DataOf, filled


@dataclass(frozen=True)
class GroupDegrees(NoisyCounts):
    """Report the number of neighbours in each group with discrete Laplace noise.

    ``value`` and ``report``: int64 (groups,).

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

    attained: ClassVar[bool] = True
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
        if self.seed >= 0:
            return True
        return grouping is not None and len(grouping) == self.n and max(grouping) < self.groups

    def groups_of(self, grouping: Grouping) -> np.ndarray:
        """int64 (n,): the group of every person."""
        if self.seed >= 0:
            return random_grouping(self.n, self.groups, self.seed)
        assert grouping is not None  # a device refuses the question otherwise
        return _as_array(grouping)

    def value_of(self, record: Record, *, device: int, grouping: Grouping = None) -> np.ndarray:
        neighbours = self.nodes(device, np.flatnonzero(self.row(device, record.neighbours)))
        return np.bincount(self.groups_of(grouping)[neighbours], minlength=self.groups)

    def size(self, device: int) -> int:
        return self.groups

    def stack(self, rows: DataOf, n: int) -> Any:
        """int64 (n, groups)."""
        return filled(rows, self.decode, np.zeros((n, self.groups), np.int64))


@lru_cache(maxsize=4)  # every device of a process counts by the same grouping
def _as_array(grouping: tuple[int, ...]) -> np.ndarray:
    return np.array(grouping, np.int64)


@lru_cache(maxsize=4)
def random_grouping(n: int, groups: int, seed: int) -> np.ndarray:
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
