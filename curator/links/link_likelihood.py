"""Likelihood of adjacency reports about pairs of people, without an array over all pairs.

Randomised response flips a bit with probability p. A pair has r = 0, 1 or 2 reports (both ends report it,
one end does, or a device is silent). S are the pairs with r >= 1 whose every reported bit is 1. A pair is in S with

    hit_r = (1 - p)^r  if it is an edge,      false_hit_r = p^r  if it is none,

and the reports then multiply the odds of an edge by e^strength, strength = r ln((1 - p) / p). For r = 1 and 2

    hit_r - false_hit_r = 1 - 2 p,

the ``resolution``: all that the pairs outside S say on average. Two reports that contradict each other say nothing.
A pair without a report is never in S. A public graph is the case p = 0: S are the edges, and strength is
``PUBLIC_EDGE``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ldpsim.curator.reports.rows import PairReports
from ldpsim.devices.array_types import BoolArray, FloatArray, IntArray

PUBLIC_EDGE = 30.0  # log-odds of a public edge


@dataclass(frozen=True, eq=False)
class LinkLikelihood(PairReports):
    """Reports about pairs.

    Args:
        left, right: int64 (m,), the pairs S, left < right.
        reported, one_end: As in :class:`PairReports`.
        flip: p, in [0, 1/2); 0 for a public graph.

    >>> everybody = np.ones(3, np.bool_)
    >>> likelihood = LinkLikelihood(np.array([0]), np.array([2]), everybody, one_end=False, flip=0.25)
    >>> likelihood.resolution, likelihood.hit.tolist(), likelihood.false_hit.tolist()
    (0.5, [0.0, 0.75, 0.5625], [0.0, 0.25, 0.0625])
    """

    left: IntArray = field(repr=False)
    right: IntArray = field(repr=False)
    reported: BoolArray = field(repr=False)
    one_end: bool
    flip: float

    def __len__(self) -> int:
        return len(self.left)

    @property
    def resolution(self) -> float:
        """1 - 2 p."""
        return 1 - 2 * self.flip

    @property
    def hit(self) -> NDArray[np.float64]:
        """float64 (3,): probability that an edge with 0, 1 or 2 reports is in S; also that no edge is all zeros."""
        return np.array([0, 1 - self.flip, (1 - self.flip) ** 2])

    @property
    def false_hit(self) -> NDArray[np.float64]:
        """float64 (3,): probability that a pair with 0, 1 or 2 reports that is no edge is in S."""
        return np.array([0, self.flip, self.flip**2])

    @property
    def bit_strength(self) -> float:
        """ln((1 - p) / p), at most half of ``PUBLIC_EDGE``."""
        most = PUBLIC_EDGE / 2
        return most if self.flip <= np.exp(-most) else float(np.log((1 - self.flip) / self.flip))

    @cached_property
    def strength(self) -> FloatArray:
        """float64 (m,): ln Pr[reports | edge] / Pr[reports | no edge] of the pairs in S."""
        return self.bit_strength * self.count(self.left, self.right)

    def ends_by(self, weights: FloatArray) -> FloatArray:
        """Return the sum over S of the outer products of the two ends' weights, left by right.

        Args:
            weights: float64 (n, k).
        """
        ones = csr_array((np.ones(len(self)), (self.left, self.right)), shape=(self.n, self.n))
        return np.asarray(weights.T @ (ones @ weights))

    @cached_property
    def hits(self) -> FloatArray:
        """float64 (n,): number of pairs of each person in S."""
        ends = np.concatenate([self.left, self.right])
        return np.bincount(ends, minlength=self.n).astype(np.float64)

    @cached_property
    def partners(self) -> NDArray[np.float64]:
        """float64 (n, 3): number of pairs of each person with 0, 1 and 2 reports."""
        n, lists = self.n, self.reported.astype(np.float64)
        if self.one_end:
            before = np.arange(n)
            one = before * lists + (lists.sum() - np.cumsum(lists))  # its own list, and the lists of those after it
            return np.stack([n - 1 - one, one, np.zeros(n)], axis=1)
        others = lists.sum() - lists
        two, one = lists * others, lists * (n - 1 - others) + (1 - lists) * others
        return np.stack([n - 1 - one - two, one, two], axis=1)

    @property
    def chance_hits(self) -> FloatArray:
        """float64 (n,): expected number of pairs of each person in S if there is no edge."""
        return self.partners @ self.false_hit


def public_links(n: int, edges: IntArray) -> LinkLikelihood:
    """Return the likelihood of a public graph.

    Args:
        n: Number of people.
        edges: int64 (2, m), each undirected edge once.
    """
    left, right = np.minimum(*edges), np.maximum(*edges)
    return LinkLikelihood(left, right, np.ones(n, np.bool_), one_end=False, flip=0.0)
