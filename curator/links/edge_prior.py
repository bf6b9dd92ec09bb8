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
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ldpsim.curator.links.evidence import LinkEvidence
from ldpsim.curator.links.similarity import BitRows, RealRows
from ldpsim.curator.reports.estimates import FlippedFeatures
from ldpsim.devices.array_types import FloatArray, IntArray

Scores = Callable[[IntArray, IntArray], NDArray[np.float64]]  # left, right, int64 (k,) -> float64 (k, scores)
_OFFSET = 0.02
_ROWS_AT_ONCE = 1 << 14
_SHORTEST = 0.3  # of the median squared length


def public_scores(rows: Any) -> Scores:
    """Return the scores of rows of length 1, (n, d), CSR or numpy."""
    if issparse(rows) and rows.min() >= 0:
        cosine = RealRows(csr_array(rows).astype(np.float64)).cosine
    else:
        cosine = _Dense(rows).cosine

    def scores(left: IntArray, right: IntArray) -> NDArray[np.float64]:
        found = cosine(left, right)
        return np.stack([found, np.log(np.maximum(found, 0) + _OFFSET)], axis=1)

    return scores


def reported_scores(bits: FlippedFeatures) -> Scores:
    """Return the scores of reported bits; a pair with a person who did not answer has the score 0."""
    rows, count, flip, answered = BitRows(bits.packed), bits.count, bits.flip, bits.answered
    squares = rows.ones - count * flip
    middle = float(np.median(squares[answered])) if answered.any() else 1.0
    lengths = np.sqrt(np.maximum(squares, max(_SHORTEST * middle, 1.0)))

    def scores(left: IntArray, right: IntArray) -> NDArray[np.float64]:
        product = rows.common(left, right) - flip * (rows.ones[left] + rows.ones[right]) + count * flip**2
        found = product / (lengths[left] * lengths[right])
        found[~(answered[left] & answered[right])] = 0
        return np.asarray(found[:, None], np.float64)

    return scores


@dataclass(frozen=True, eq=False)
class _Dense:
    """Rows of length 1 with entries of both signs."""

    rows: Any = field(repr=False)

    def cosine(self, left: IntArray, right: IntArray) -> NDArray[np.float64]:
        found = np.empty(len(left))
        for start in range(0, len(left), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            first, second = self.rows[left[part]], self.rows[right[part]]
            if issparse(first):
                found[part] = np.asarray(first.multiply(second).sum(axis=1)).ravel()
            else:
                found[part] = np.einsum("ij,ij->i", first, second)
        return found


_PARTNERS_OFFSET = 0.02
_ENTRIES_AT_ONCE = 1 << 22


def common_partners(weights: csr_array, left: IntArray, right: IntArray) -> NDArray[np.float64]:
    """float64 (k,): t of each pair.

    Args:
        weights: Symmetric CSR (n, n) with an empty diagonal: w.
        left, right: int64 (k,).
    """
    found = np.empty(len(left))
    widths = np.diff(weights.indptr)
    ends = np.cumsum(widths[left] + widths[right])
    start = 0
    while start < len(left):
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + _ENTRIES_AT_ONCE, side="right")))
        part = slice(start, stop)
        found[part] = np.asarray(weights[left[part]].multiply(weights[right[part]]).sum(axis=1)).ravel()
        start = stop
    return found


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
    kept = reports > 0
    return Sample(left[kept], right[kept], weight[kept], evidence.bit_strength * reports[kept])


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
        gain: Log-likelihood of the reports above that of no edge at all.
    """

    intercept: float
    slopes: FloatArray
    centre: FloatArray
    scale: FloatArray
    gain: float

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

    found = minimize(loss, first, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS, "ftol": 1e-6})
    gain = marginal_likelihood(found.x, *standard)[0]
    return EdgePrior(float(found.x[0]), found.x[1:], centre, scale, gain)
