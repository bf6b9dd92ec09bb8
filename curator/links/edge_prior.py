"""Public scores of pairs of people by their features, as columns for the prior of an edge.

Public features give the cosine s of weighted rows (tf-idf for text) and ln(s + .02): among unlike people a little
likeness means much. Reported bits give the cosine of their debiased rows. With q the flip probability, d bits and
o_i ones of person i, c_ij of them common,

    sum_k (b_ik - q) (b_jk - q) = c_ij - q (o_i + o_j) + d q^2,   length_i^2 = o_i - d q,

over the product of the lengths. The length of a row that is too short to be told from noise is that of a third of
the median row.

Partners that two people have in common: friends of friends are friends more often than strangers are.

With the probability w_ik of each pair of S, the expected number of common partners of i and j is

    t_ij = sum_k w_ik w_jk.

The pair's own weight is no part of it, so t is a score for the prior of an edge that does not hear the reports about
the pair itself. Most pairs of a sparse graph have t = 0, and ln(t + .02) tells the others apart.

Prior probability of an edge from public scores of a pair, fitted to noisy reports alone.

The prior is logistic in a few scores x_ij and a known offset, e_ij = logit pi_ij = th0 + th . x_ij + offset_ij. Its
parameters maximise the marginal likelihood of the reports: with the strength s of a pair in S, and with all zeros
reported about a pair outside,

    sum over S of [sp(e + s) - sp(e)] + w sum over a sample of pairs of hit_r [sp(e - s_r) - sp(e)],

sp(x) = ln(1 + e^x). s_r is the strength that r ones would have. A pair without an edge has all zeros with
probability hit_r, and pairs whose reports contradict each other say nothing, so the sample of uniform pairs stands
for all pairs outside S with the weight w = (number of pairs) / (size of the sample). No clean edge is needed.

The objective has its gradient in closed form, with sig the derivative of sp:

    sum over S of [sig(e + s) - sig(e)] (1, x) + w sum of hit_r [sig(e - s_r) - sig(e)] (1, x).

Evidence of adjacency reports about pairs of people, without an array over all pairs.

Randomised response flips a bit with probability p. A pair has r = 0, 1 or 2 reports (both ends report it,
one end does, or a device is silent). S are the pairs with r >= 1 whose every reported bit is 1. A pair is in S with

    hit_r = (1 - p)^r  if it is an edge,      false_hit_r = p^r  if it is none,

and the reports then multiply the odds of an edge by e^strength, strength = r ln((1 - p) / p). For r = 1 and 2

    hit_r - false_hit_r = 1 - 2 p,

the ``resolution``: all that the pairs outside S say on average. Two reports that contradict each other say nothing.
A pair without a report is never in S. A public graph is the case p = 0: S are the edges, and strength is
``PUBLIC_EDGE``.

Number of edges and degrees from the pairs that every report calls an edge.

With S, p, r and the resolution 1 - 2 p of :mod:`ldpsim.curator.links.edge_prior`, the unbiased estimates are

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

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ldpsim.curator.links.similarity import BitRows, RealRows
from ldpsim.curator.reports.feature_bits import FlippedFeatures
from ldpsim.curator.reports.rows import PairReports
from ldpsim.devices.array_types import BoolArray, FloatArray, IntArray

Scores = Callable[[IntArray, IntArray], NDArray[np.float64]]  # left, right, int64 (k,) -> float64 (k, scores)
_OFFSET = 0.02
_ROWS_AT_ONCE = 1 << 14
_SHORTEST = 0.3  # of the median squared length


def public_scores(rows: Any) -> Scores:
    """Return the scores of rows of length 1, (n, d), CSR or numpy."""
    positive = issparse(rows) and rows.min() >= 0
    cosine = RealRows(csr_array(rows).astype(np.float64)).cosine if positive else partial(_products, rows)

    def scores(left: IntArray, right: IntArray) -> NDArray[np.float64]:
        cosines = cosine(left, right)
        return np.stack([cosines, np.log(np.maximum(cosines, 0) + _OFFSET)], axis=1)

    return scores


def reported_scores(bits: FlippedFeatures) -> Scores:
    """Return the scores of reported bits; a pair with a person who did not answer has the score 0."""
    rows, count, flip, answered = BitRows(bits.packed), bits.count, bits.flip, bits.answered
    squares = rows.ones - count * flip
    middle = float(np.median(squares[answered])) if answered.any() else 1.0
    lengths = np.sqrt(np.maximum(squares, max(_SHORTEST * middle, 1.0)))

    def scores(left: IntArray, right: IntArray) -> NDArray[np.float64]:
        product = rows.common(left, right) - flip * (rows.ones[left] + rows.ones[right]) + count * flip**2
        cosines = product / (lengths[left] * lengths[right])
        cosines[~(answered[left] & answered[right])] = 0
        return np.asarray(cosines[:, None], np.float64)

    return scores


def _products(rows: Any, left: IntArray, right: IntArray) -> NDArray[np.float64]:
    """float64 (k,): products of rows of length 1 with entries of both signs."""
    products = np.empty(len(left))
    for start in range(0, len(left), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        first, second = rows[left[part]], rows[right[part]]
        if issparse(first):
            products[part] = np.asarray(first.multiply(second).sum(axis=1)).ravel()
        else:
            products[part] = np.einsum("ij,ij->i", first, second)
    return products


_PARTNERS_OFFSET = 0.02
_ENTRIES_AT_ONCE = 1 << 22


def common_partners(weights: csr_array, left: IntArray, right: IntArray) -> NDArray[np.float64]:
    """float64 (k,): t of each pair.

    Args:
        weights: Symmetric CSR (n, n) with an empty diagonal: w.
        left, right: int64 (k,).
    """
    counts = np.empty(len(left))
    widths = np.diff(weights.indptr)
    ends = np.cumsum(widths[left] + widths[right])
    start = 0
    while start < len(left):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _ENTRIES_AT_ONCE, side="right")))
        part = slice(start, stop)
        counts[part] = np.asarray(weights[left[part]].multiply(weights[right[part]]).sum(axis=1)).ravel()
        start = stop
    return counts


def closure_score(weights: csr_array, left: IntArray, right: IntArray) -> FloatArray:
    """float64 (k,): ln(t + .02) of each pair."""
    return np.asarray(np.log(common_partners(weights, left, right) + _PARTNERS_OFFSET))


SAMPLE = 60_000
_STEPS = 25
_RIDGE = 1e-3
_MOST = 15.0  # of a log-odds


@dataclass(frozen=True, eq=False)
class Sample:
    """Uniform pairs of people with a report, which stand for all pairs outside S.

    Args:
        left, right: int64 (k,), left < right.
        weight: float64 (k,): number of pairs with all zeros that each stands for.
        strength: float64 (k,): s_r.
    """

    left: IntArray = field(repr=False)
    right: IntArray = field(repr=False)
    weight: FloatArray = field(repr=False)
    strength: FloatArray = field(repr=False)


def sample_pairs(evidence: LinkEvidence, seed: int, size: int = SAMPLE) -> Sample:
    """Draw pairs of different people, each pair equally likely."""
    n = evidence.n
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, n, size), rng.integers(0, n - 1, size)
    second += second >= first
    left, right = np.minimum(first, second), np.maximum(first, second)
    reports = evidence.reports(left, right)
    weight = n * (n - 1) / 2 / size * evidence.hit[reports]
    pairs = reports > 0
    return Sample(left[pairs], right[pairs], weight[pairs], evidence.bit_strength * reports[pairs])


@dataclass(frozen=True, eq=False)
class Scored:
    """Pairs with their scores and what was reported about them.

    Args:
        scores: float64 (k, scores).
        offset: float64 (k,): log-odds that are added with the slope 1.
        shift: float64 (k,): log-likelihood ratio of the reports, s or -s_r.
        weight: float64 (k,): number of pairs that each stands for.
    """

    scores: NDArray[np.float64] = field(repr=False)
    offset: FloatArray = field(repr=False)
    shift: FloatArray = field(repr=False)
    weight: FloatArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class EdgePrior:
    """A fitted prior.

    Args:
        intercept: th0 for standardised scores.
        slopes: float64 (scores,), for standardised scores.
        centre, scale: float64 (scores,): a score x is standardised to (x - centre) / scale.
    """

    intercept: float
    slopes: FloatArray
    centre: FloatArray
    scale: FloatArray

    @property
    def parameters(self) -> NDArray[np.float64]:
        """float64 (1 + scores,): th0 and th."""
        return np.concatenate([[self.intercept], self.slopes])

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """float64 (k,): logit pi of the scores (k, scores), without any offset."""
        standard = (scores - self.centre) / self.scale
        return np.clip(self.intercept + standard @ self.slopes, -_MOST, _MOST)


def marginal_likelihood(parameters: FloatArray, ones: Scored, zeros: Scored) -> tuple[float, FloatArray]:
    """Return the log-likelihood above that of no edge, and its gradient.

    Args:
        parameters: float64 (1 + scores,): th0 and th.
        ones: The pairs in S.
        zeros: The sample of all others.
    """
    value, gradient = 0.0, np.zeros_like(parameters)
    for part in (ones, zeros):
        odds = np.exp(np.minimum(parameters[0] + part.scores @ parameters[1:] + part.offset, _MOST))
        gain = odds * np.expm1(part.shift)
        # sp(e + s) - sp(e) = ln(1 + gain / (1 + odds)), and its derivative
        value += float(part.weight @ np.log1p(gain / (1 + odds)))
        slope = part.weight * (gain / ((1 + odds) * (1 + odds + gain)))
        gradient[0] += slope.sum()
        gradient[1:] += slope @ part.scores
    return value, gradient


def fit_edge_prior(ones: Scored, zeros: Scored, density: float, start: EdgePrior | None = None) -> EdgePrior:
    """Maximise the marginal likelihood.

    Args:
        ones, zeros: As in :func:`marginal_likelihood`.
        density: Share of edges among all pairs: where the fit starts.
        start: Fit of the same scores to start from instead.
    """
    from scipy.optimize import minimize  # imported where it is needed: the import takes as long as a small run

    if start is None:
        both = np.concatenate([ones.scores, zeros.scores])
        centre, scale = both.mean(axis=0), both.std(axis=0)
        scale[scale < 1e-9] = 1.0
        first = np.zeros(1 + both.shape[1])
        first[0] = np.log(density / max(1e-12, 1 - density))
    else:
        centre, scale = start.centre, start.scale
        first = start.parameters
    standard = [replace(part, scores=(part.scores - centre) / scale) for part in (ones, zeros)]
    edges = max(1.0, density * zeros.weight.sum())  # the objective is of the order of the number of edges

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = marginal_likelihood(parameters, *standard)
        penalty = _RIDGE * edges * parameters[1:]
        gradient = -gradient
        gradient[1:] += penalty
        return (-value + 0.5 * float(penalty @ parameters[1:])) / edges, gradient / edges

    best = minimize(loss, first, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS, "ftol": 1e-6})
    return EdgePrior(float(best.x[0]), best.x[1:], centre, scale)


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
