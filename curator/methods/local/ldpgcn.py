"""L-DPGCN: the Laplace graph of DPGCN (Wu et al. 2022, https://arxiv.org/abs/2108.06504) made local.

The form is that of Blink's comparison. Every device adds Laplace noise for
eps_a = (1 - share) eps to each of the n - 1 bits of its row, and reports its degree for
eps_d = share eps (share .01, as in DPGCN). The curator adds up the
degrees, which gives a number of entries e, and makes the e largest numbers edges.

``pairs="mean"`` (the default) ranks pairs by the mean of both ends' numbers, which comes near
the published accuracy. ``"directed"`` ranks the entries of the noisy matrix one by one.

The reports are an n x n array at the curator. Whether it fits into memory is checked before any
device is asked.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.methods.base import Budget
from ldpsim.curator.methods.local.links import LinkMethod, ReconstructedLinks, both_ways
from ldpsim.curator.methods.memory import MemoryLaw
from ldpsim.curator.methods.parameters import check_choices, check_shares
from ldpsim.curator.methods.spec import TRAINING_GRID
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import Degree, Mechanism, NoisyRow

PAIRS = ("mean", "directed")
_MOST_BYTES = 10  # an entry: 4 in the matrix, 4 to 6 while ranking
_NEVER = -(1 << 31) + 1


@dataclass(frozen=True)
class LDPGCN(LinkMethod):
    """The largest entries of a noisy adjacency matrix.

    Args:
        count_share: Share of epsilon for the degrees, whose sum is the number of kept entries; in (0, 1).
        pairs: ``mean`` or ``directed``.

    Raises:
        ValueError: for a parameter outside its range.
    """

    count_share: float = 0.01
    pairs: str = "mean"

    spec = replace(
        LinkMethod.spec, name="ldpgcn", memory=MemoryLaw(report=0.0, pairs=10.0),
        paper="Wu et al., LinkTeller (DPGCN with Laplace noise); made local in Blink",
        mechanisms=("noisy_row", "degree", "grr"), training_defaults={"epochs": 200},
        search_grid=({"pairs": PAIRS}, TRAINING_GRID), query_grid={"count_share": (0.01, 0.05, 0.1)},
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shares(self, "count_share")
        check_choices(self, pairs=PAIRS)

    def adjacency(self, facts: PublicFacts, budget: Budget, epsilon: float) -> tuple[Mechanism, ...]:
        """Laplace noise on the row, and a noisy degree.

        Raises:
            ValueError: for one-end reporting, or if the reports do not fit into memory.
        """
        if budget.reporting == "one-end":
            raise ValueError("ldpgcn ranks whole rows, which --reporting one-end does not report")
        row = NoisyRow.from_epsilon((1 - self.count_share) * epsilon, n=facts.n)
        check_memory(row)
        return (row, Degree.from_epsilon(self.count_share * epsilon, n=facts.n))

    def links(self, reports: Reports) -> ReconstructedLinks:
        """Keep the e largest numbers, e the sum of the degrees."""
        rows, degrees = reports.needed("noisy_rows"), reports.needed("degrees")
        reported = reports.reported("adjacency")
        noisy_sum = int(degrees[reported].sum())
        if self.pairs == "mean":
            left, right = largest_pairs(rows, reported, round(max(0, noisy_sum) / 2))
            edges = both_ways(left, right)
        else:
            edges = largest_entries(rows, reported, max(0, noisy_sum))
        return edges, None, {"entries": edges.shape[1], "noisy_degree_sum": noisy_sum}

    def reasons(self, budget: Budget) -> tuple[str, ...]:
        """As :meth:`LinkMethod.reasons`; one edge changes an entry and the degree at both ends."""
        return ("an edge changes an entry and the degree at both ends, and their losses add up",)


def check_memory(row: NoisyRow) -> None:
    """Refuse rows that do not fit into memory.

    Raises:
        ValueError: with the bytes of a report and of all of them.
    """
    each = row.bytes_per_device()
    needed, free = row.n * each + _MOST_BYTES * row.n**2, available_memory()
    if needed > free:
        raise ValueError(
            f"ldpgcn asks each of {row.n:,} devices for {row.n - 1:,} numbers: {each:,} bytes a device and about "
            f"{needed / 2**30:,.1f} GiB of memory, and {free / 2**30:,.1f} GiB are free (--clients takes a sample)"
        )


def largest_entries(rows: NDArray[np.int32], reported: NDArray[np.bool_], count: int) -> IntArray:
    """int64 (2, e): named over reporter, of the ``count`` largest entries of reported rows, without the diagonal.

    Of equal entries those of earlier rows and columns come first.
    """
    n = len(rows)
    ranked = rows.copy()
    ranked[~reported] = _NEVER
    np.fill_diagonal(ranked, _NEVER)
    heard = int(reported.sum())
    best = _largest(ranked.ravel(), min(count, heard * (n - 1)))
    reporter, named = np.divmod(best, n)
    return np.stack([named, reporter]).astype(np.int64)


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
        total[ends == 0] = _NEVER
        twice[starts[i] : starts[i + 1]] = np.clip(total, _NEVER, -_NEVER)
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


def available_memory() -> int:
    """Return the bytes of free memory, or of all memory on a system without /proc/meminfo."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
