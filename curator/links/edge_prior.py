"""Prior probability of an edge from public scores of a pair, fitted to noisy reports alone.

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

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.links.link_likelihood import LinkLikelihood
from ldpsim.devices.array_types import FloatArray, IntArray

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


def sample_pairs(likelihood: LinkLikelihood, seed: int, size: int = SAMPLE) -> Sample:
    """Draw pairs of different people, each pair equally likely."""
    n = likelihood.n
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, n, size), rng.integers(0, n - 1, size)
    second += second >= first
    left, right = np.minimum(first, second), np.maximum(first, second)
    reports = likelihood.count(left, right)
    weight = n * (n - 1) / 2 / size * likelihood.hit[reports]
    pairs = reports > 0
    return Sample(left[pairs], right[pairs], weight[pairs], likelihood.bit_strength * reports[pairs])


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


def marginal_log_likelihood(parameters: FloatArray, ones: Scored, zeros: Scored) -> tuple[float, FloatArray]:
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
        ones, zeros: As in :func:`marginal_log_likelihood`.
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
        value, gradient = marginal_log_likelihood(parameters, *standard)
        penalty = _RIDGE * edges * parameters[1:]
        gradient = -gradient
        gradient[1:] += penalty
        return (-value + 0.5 * float(penalty @ parameters[1:])) / edges, gradient / edges

    best = minimize(loss, first, jac=True, method="L-BFGS-B", options={"maxiter": _STEPS, "ftol": 1e-6})
    return EdgePrior(float(best.x[0]), best.x[1:], centre, scale)
