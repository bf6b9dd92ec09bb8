"""Evidence of adjacency reports about pairs of people, without an array over all pairs.

Randomised response flips a bit with probability p. A pair has r = 0, 1 or 2 reports (both ends report it,
one end does, or a device is silent). S are the pairs with r >= 1 whose every reported bit is 1. A pair is in S with

    hit_r = (1 - p)^r  if it is an edge,      false_hit_r = p^r  if it is none,

and the reports then multiply the odds of an edge by e^strength, strength = r ln((1 - p) / p). For r = 1 and 2

    hit_r - false_hit_r = 1 - 2 p,

the ``resolution``: all that the pairs outside S say on average. Two reports that contradict each other say nothing.
A pair without a report is never in S. A public graph is the case p = 0: S are the edges, and strength is
``PUBLIC_EDGE``.

Number of edges and degrees from the pairs that every report calls an edge.

With S, p, r and the resolution 1 - 2 p of :mod:`ldpsim.curator.links.evidence`, the unbiased estimates are

    E^ = (|S| - sum over pairs of false_hit) / (1 - 2 p),
    d^_i = (number of pairs of i in S - sum over pairs of i of false_hit) / (1 - 2 p).

The number of all reported ones is another unbiased estimate. Its variance is larger, ten times at eps 3.

Given the graph, a pair in S or not has the variance false_hit (1 - false_hit), or hit (1 - hit) for an edge. They
add up to v_i, with the mean degree mu for the unknown one. A degree is shrunk to mu by the spread s2 that the
degrees have beyond this noise:

    w_i = s2 / (s2 + v_i),   s2 = max(var d^ - mean(v), mu / 100),
    theta_i = max(mu + w_i (d^_i - mu), mu / 4) / mu,

the ``activity`` of a person. For a pair in S its own hit is taken out of both degrees first, else the
pair would be counted twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.reports.rows import PairReports
from ldpsim.devices.array_types import BoolArray, FloatArray, IntArray

PUBLIC_EDGE = 30.0  # log-odds of a public edge


@dataclass(frozen=True, eq=False)
class LinkEvidence(PairReports):
    """Reports about pairs.

    Args:
        left, right: int64 (m,), the pairs S, left < right.
        reported, one_end: As in :class:`PairReports`.
        flip: p, in [0, 1/2); 0 for a public graph.

    >>> everybody = np.ones(3, np.bool_)
    >>> evidence = LinkEvidence(np.array([0]), np.array([2]), everybody, one_end=False, flip=0.25)
    >>> evidence.resolution, evidence.hit.tolist(), evidence.false_hit.tolist()
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
        return self.bit_strength * self.reports(self.left, self.right)

    @cached_property
    def hits(self) -> FloatArray:
        """float64 (n,): number of pairs of each person in S."""
        ends = np.concatenate([self.left, self.right])
        return np.bincount(ends, minlength=self.n).astype(np.float64)

    @cached_property
    def partners(self) -> NDArray[np.float64]:
        """float64 (n, 3): number of pairs of each person with 0, 1 and 2 reports."""
        n, said = self.n, self.reported.astype(np.float64)
        if self.one_end:
            before = np.arange(n)
            one = before * said + (said.sum() - np.cumsum(said))  # its own list, and the lists of those after it
            return np.stack([n - 1 - one, one, np.zeros(n)], axis=1)
        others = said.sum() - said
        two, one = said * others, said * (n - 1 - others) + (1 - said) * others
        return np.stack([n - 1 - one - two, one, two], axis=1)

    @property
    def chance_hits(self) -> FloatArray:
        """float64 (n,): expected number of pairs of each person in S if there is no edge."""
        return self.partners @ self.false_hit


def public_links(n: int, edges: IntArray) -> LinkEvidence:
    """Return the evidence of a public graph.

    Args:
        n: Number of people.
        edges: int64 (2, m), each undirected edge once.
    """
    left, right = np.minimum(*edges), np.maximum(*edges)
    return LinkEvidence(left, right, np.ones(n, np.bool_), one_end=False, flip=0.0)


_LEAST_SPREAD = 0.01  # s2 / mu
_LEAST_ACTIVITY = 0.25


@dataclass(frozen=True, eq=False)
class Moments:
    """Estimates from the reports.

    Args:
        edges: E^, unbiased among the pairs with a report; may be negative.
        density: Share of edges among the pairs with a report, above 0.
        degree: float64 (n,): d^_i for all n - 1 partners, unbiased.
        weight: float64 (n,): w_i.
        step: What one hit adds to a degree: 1 / (1 - 2 p), with the share of partners without a report.
        mean: mu, above 0.
    """

    edges: float
    density: float
    degree: FloatArray = field(repr=False)
    weight: FloatArray = field(repr=False)
    step: FloatArray = field(repr=False)
    mean: float

    @property
    def activity(self) -> FloatArray:
        """float64 (n,): theta_i."""
        return self._activity(self.degree, self.weight)

    def activity_without(self, people: NDArray[np.int64]) -> FloatArray:
        """float64 (k,): theta_i of each listed person without one of its hits."""
        return self._activity(self.degree[people] - self.step[people], self.weight[people])

    def _activity(self, degree: FloatArray, weight: FloatArray) -> FloatArray:
        return np.maximum(1 + weight * (degree / self.mean - 1), _LEAST_ACTIVITY)


def moments(evidence: LinkEvidence) -> Moments:
    """Estimate edges, density and degrees."""
    n, resolution = evidence.n, evidence.resolution
    partners = evidence.partners
    seen = partners[:, 1:].sum(axis=1)  # pairs with a report
    pairs = max(1.0, seen.sum() / 2)
    edges = (len(evidence) - evidence.chance_hits.sum() / 2) / resolution
    scale = np.divide(n - 1, seen, out=np.zeros(n), where=seen > 0)  # partners without a report are like the others
    degree = scale * (evidence.hits - evidence.chance_hits) / resolution
    density = max(edges, 1.0) / pairs
    mean = density * max(1, n - 1)
    noise = scale**2 * (partners @ _variance(evidence, density)) / resolution**2
    heard = seen > 0
    spread = float(np.var(degree[heard]) - noise[heard].mean()) if heard.any() else 0.0
    spread = max(spread, _LEAST_SPREAD * mean)
    weight = np.where(heard, spread / (spread + noise), 0.0)
    return Moments(edges, density, np.where(heard, degree, mean), weight, scale / resolution, mean)


def _variance(evidence: LinkEvidence, density: float) -> FloatArray:
    """float64 (3,): variance of the membership of S, given the graph, of a random pair with 0, 1 or 2 reports."""
    hit, false_hit = evidence.hit, evidence.false_hit
    return density * hit * (1 - hit) + (1 - density) * false_hit * (1 - false_hit)
