"""Random graphs with given expected degrees towards groups (Chung and Lu 2002, in blocks).

Each person is in one of k groups and has a weight d_ib >= 0 towards each group b. With M_ab
expected edges between the groups a and b, the pair of i in a and j in b has

    q_ij = M_ab d_ib d_ja / (D_ab D_ba),   D_ab = the sum of d_ib over i in a

expected edges (twice that inside a group, where both sums count the pair). The number of edges
is drawn from a Poisson distribution, and several edges of one pair are one edge, so that

    p_ij = 1 - exp(-q_ij),

the form of Norros and Reittu (2006). A graph of E edges takes O(E) draws, not n^2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class BlockModel:
    """Expected edges between groups, and each person's share of them.

    Args:
        groups: int64 (n,), each person's group.
        weights: float64 (n, k), 0 or more: d_ib, each person's weight towards each group.
        edges: float64 (k, k), symmetric, 0 or more: M_ab.
    """

    groups: IntArray = field(repr=False)
    weights: FloatArray = field(repr=False)
    edges: FloatArray = field(repr=False)

    @classmethod
    def from_degrees(cls, degrees: NDArray, groups: IntArray) -> BlockModel:
        """Fit the model to noisy numbers of neighbours by group, (n, k).

        M_ab is the mean of both groups' reports about it, from the unclipped numbers: clipping
        negative numbers at 0 first would add n k times the mean of clipped noise. Weights cannot
        be negative and are clipped at 0.
        """
        count = degrees.shape[1]
        towards = np.zeros((count, count))
        np.add.at(towards, groups, degrees.astype(np.float64))
        total = np.clip((towards + towards.T) / 2, 0, None)
        total[np.diag_indices(count)] /= 2  # inside a group both ends report
        return cls(groups, np.clip(degrees, 0, None).astype(np.float64), total)

    def sample(self, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Return the pairs (left < right) of a random graph of the model, sorted."""
        n = len(self.groups)
        drawn = [np.zeros(0, np.int64), *self._blocks(rng)]
        pairs = np.unique(np.concatenate(drawn))
        return pairs // n, pairs % n

    def _blocks(self, rng: np.random.Generator) -> Iterator[IntArray]:
        n, count = self.weights.shape
        members = [np.flatnonzero(self.groups == group) for group in range(count)]
        sums = np.zeros((count, count))  # D_ab
        np.add.at(sums, self.groups, self.weights)
        for a in range(count):
            for b in range(a, count):
                if sums[a, b] <= 0 or sums[b, a] <= 0:
                    continue
                number = rng.poisson(self.edges[a, b])
                left, right = (
                    rng.choice(members[own], number, p=self.weights[members[own], other] / sums[own, other])
                    for own, other in ((a, b), (b, a))
                )
                low, high = np.minimum(left, right), np.maximum(left, right)
                yield (low * n + high)[low < high]  # no self-loops
