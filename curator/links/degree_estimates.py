"""Number of edges and degrees from the pairs that every report calls an edge.

With S, p, r and the resolution 1 - 2 p of :mod:`ldpsim.curator.links.link_likelihood`, the unbiased estimates are

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

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.links.link_likelihood import LinkLikelihood
from ldpsim.devices.array_types import FloatArray

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


def moments(likelihood: LinkLikelihood) -> Moments:
    """Estimate edges, density and degrees."""
    n, resolution = likelihood.n, likelihood.resolution
    partners = likelihood.partners
    seen = partners[:, 1:].sum(axis=1)  # pairs with a report
    pairs = max(1.0, seen.sum() / 2)
    edges = (len(likelihood) - likelihood.chance_hits.sum() / 2) / resolution
    scale = np.divide(n - 1, seen, out=np.zeros(n), where=seen > 0)  # partners without a report are like the others
    degree = scale * (likelihood.hits - likelihood.chance_hits) / resolution
    density = max(edges, 1.0) / pairs
    mean = density * max(1, n - 1)
    noise = scale**2 * (partners @ _variance(likelihood, density)) / resolution**2
    heard = seen > 0
    spread = float(np.var(degree[heard]) - noise[heard].mean()) if heard.any() else 0.0
    spread = max(spread, _LEAST_SPREAD * mean)
    weight = np.where(heard, spread / (spread + noise), 0.0)
    return Moments(edges, density, np.where(heard, degree, mean), weight, scale / resolution, mean)


def _variance(likelihood: LinkLikelihood, density: float) -> FloatArray:
    """float64 (3,): variance of the membership of S, given the graph, of a random pair with 0, 1 or 2 reports."""
    hit, false_hit = likelihood.hit, likelihood.false_hit
    return density * hit * (1 - hit) + (1 - density) * false_hit * (1 - false_hit)
