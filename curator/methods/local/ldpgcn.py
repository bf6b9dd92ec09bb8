"""LDPGCN: the largest entries of a noisy adjacency matrix.

L-DPGCN: the Laplace graph of DPGCN (Wu et al. 2022, https://arxiv.org/abs/2108.06504) made local, as in Blink's
comparison. With eps_a = (1 - share) eps and eps_d = share eps (share .01, as in DPGCN), device i reports

    B_ij = A_ij + Lap(1 / eps_a)  for each of the n - 1 others,     d~_i = d_i + Lap(1 / eps_d).

The curator adds up the degrees, e = sum_i d~_i, and makes the e / 2 pairs with the largest (B_ij + B_ji) / 2 edges.
This comes near the published accuracy; ranking the entries one by one does not (docs/results/blink.md). The reports
are an n x n array at the curator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.methods.base import (
    Budget,
)
from ldpsim.curator.methods.local.graphs import both_ways
from ldpsim.curator.methods.local.label_questions import StageMechanisms
from ldpsim.curator.methods.local.links import LinkMethod, ReconstructedLinks
from ldpsim.curator.methods.parameters import SHARE, parameter
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import Degree, NoisyRow

_LEAST = -(1 << 31) + 1  # of a pair that nobody reported


@dataclass(frozen=True)
class LDPGCN(LinkMethod):
    """The largest entries of a noisy adjacency matrix.

    Args:
        count_share: Share of epsilon for the degrees, whose sum is the number of kept entries; in (0, 1).

    Raises:
        ValueError: for a parameter outside its range.
    """

    count_share: float = parameter(0.01, SHARE)

    spec = replace(
        LinkMethod.spec, name="ldpgcn", memory="pairs",
        paper="Wu et al., LinkTeller (DPGCN with Laplace noise); made local in Blink",
        mechanisms=("noisy_row", "degree", "grr"), training_defaults={"epochs": 200},
    )  # fmt: skip

    def stages(self, facts: PublicFacts, budget: Budget, epsilon: float) -> StageMechanisms:
        """Laplace noise on the row, and a noisy degree; ValueError for one-end reporting."""
        if budget.reporting == "one-end":
            raise ValueError("ldpgcn ranks whole rows, which --reporting one-end does not report")
        row = NoisyRow.from_epsilon((1 - self.count_share) * epsilon, n=facts.n)
        return ((row, Degree.from_epsilon(self.count_share * epsilon, n=facts.n)),)

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Keep the largest means, half as many as the sum of the degrees."""
        rows, degrees = reports.needed("noisy_rows"), reports.needed("degrees")
        reported = reports.reported("adjacency")
        noisy_sum = int(degrees[reported].sum())
        left, right = largest_pairs(rows, reported, round(max(0, noisy_sum) / 2))
        return both_ways(left, right), None, {"entries": 2 * len(left), "noisy_degree_sum": noisy_sum}

    def edge_loss(self, budget: Budget) -> str:
        """As :meth:`LinkMethod.edge_loss`; one edge changes an entry and the degree at both ends."""
        return "an edge changes an entry and the degree at both ends, and their losses add up"


def largest_pairs(
    rows: NDArray[np.int32], reported: NDArray[np.bool_], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ``count`` pairs with the largest mean of the reports about them (one report: that one)."""
    n = len(rows)
    starts = np.concatenate([[0], np.cumsum(np.arange(n - 1, -1, -1))])
    twice = np.empty(starts[-1], np.int32)
    for i in range(n):
        # silent rows are zero, so the sum of both ends' numbers is that of the reports; twice the mean is whole
        total = rows[i, i + 1 :].astype(np.int64) + rows[i + 1 :, i]
        ends = reported[i + 1 :].astype(np.int64) + reported[i]
        total *= np.where(ends == 1, 2, 1)
        total[ends == 0] = _LEAST
        twice[starts[i] : starts[i + 1]] = np.clip(total, _LEAST, -_LEAST)
    silent = n - int(reported.sum())
    best = _largest(twice, min(count, len(twice) - silent * (silent - 1) // 2))
    left = np.searchsorted(starts, best, side="right") - 1
    return left.astype(np.int64), (best - starts[left] + left + 1).astype(np.int64)


def _largest(values: NDArray[np.int32], count: int) -> IntArray:
    """Return the sorted positions of the ``count`` largest values, the first of equal ones."""
    if count <= 0:
        return np.zeros(0, np.int64)
    bound = np.partition(values, len(values) - count)[len(values) - count]
    above = np.flatnonzero(values > bound)
    return np.sort(np.concatenate([above, np.flatnonzero(values == bound)[: count - len(above)]]))
