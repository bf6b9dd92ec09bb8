"""Affinity of classes: how much more often two classes share an edge than two random people do.

A pair of classes c, c' has N edges among pairs that a graph without classes would give M edges. The rate
Om_cc' = N / M is a small count over its expectation. It is shrunk, like Poisson rates under a gamma
prior, to the mean of its own kind, the diagonal or the rest:

    Om_cc' = (N + k g) / (M + k),   g = sum N / sum M of the kind,

where k follows from the spread of the rates beyond the noise. Then Om is divided by pi' Om pi, with pi the class shares
of an edge's end. Otherwise its scale and that of the edge probabilities would not be determined.

N and M come from the labelled people alone, by the unbiased count of :mod:`ldpsim.curator.links.degree_estimates`,

    N_cc' = (number of labelled pairs in S - their false hits) / (1 - 2 p),

or from the beliefs of everybody (the M step of an EM algorithm): N counts the pairs of S by the posterior of an edge
and of both classes, over hit_r, and M the activities of expected classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.links.belief_propagation import Beliefs, Pairs
from ldpsim.curator.links.link_likelihood import LinkLikelihood
from ldpsim.devices.array_types import FloatArray

LEAST = 0.02  # of a rate: no pair of classes is impossible
_PAIRS_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Edges between classes, each pair of people counted once in both orders.

    Args:
        edges: float64 (classes, classes), symmetric: N, unbiased, may be negative.
        noise: float64 (classes, classes): variance of N that does not come from the edges themselves.
        expected: float64 (classes, classes), symmetric: M.
    """

    edges: FloatArray = field(repr=False)
    noise: FloatArray = field(repr=False)
    expected: FloatArray = field(repr=False)


def labelled_counts(
    likelihood: LinkLikelihood, classes_of: FloatArray, activity: FloatArray, density: float
) -> ClassCounts:
    """Count edges between labelled people.

    Args:
        likelihood: The reports.
        classes_of: float64 (n, classes): one-hot labels, weights that are unbiased for them, or zeros for nobody.
        activity: float64 (n,): theta, of mean 1.
        density: Share of edges among all pairs.
    """
    edges, noise = labelled_edges(likelihood, classes_of)
    weighted = activity[:, None] * classes_of
    return ClassCounts(edges, noise, _expected(likelihood, weighted, density))


def labelled_edges(likelihood: LinkLikelihood, classes_of: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return N and the variance of N that does not come from the edges; arguments as :func:`labelled_counts`."""
    resolution, false_hit = likelihood.resolution, likelihood.false_hit
    hits = _symmetric_sum(likelihood.ends_by(classes_of))
    reporters = likelihood.reported[:, None] * classes_of
    silent = classes_of - reporters
    pairs = np.zeros((3, *hits.shape))  # by number of reports, people paired with themselves left out below
    if likelihood.one_end:
        # A pair has the report of its right end: the sum over the people before person i, for each i that reported.
        smaller_ids = np.cumsum(classes_of, axis=0) - classes_of
        pairs[1] = _symmetric_sum(reporters.T @ smaller_ids)
    else:
        pairs[2] = np.outer(reporters.sum(axis=0), reporters.sum(axis=0)) - reporters.T @ reporters
        pairs[1] = _symmetric_sum(np.outer(reporters.sum(axis=0), silent.sum(axis=0)))
    chance = np.tensordot(false_hit, pairs, axes=1)
    noise = np.tensordot(false_hit * (1 - false_hit), pairs, axes=1) / resolution**2
    return (hits - chance) / resolution, np.abs(noise)


def believed_counts(
    likelihood: LinkLikelihood, pairs: Pairs, beliefs: Beliefs, label_log_likelihood: FloatArray,
    affinity: FloatArray, activity: FloatArray, density: float,
) -> ClassCounts:  # fmt: skip
    """Count edges by the beliefs of everybody.

    Args:
        likelihood: The reports.
        pairs: Their pairs S with the base probability of each.
        beliefs: Result of belief propagation.
        label_log_likelihood: float64 (n, classes): of the people's labels or reports of them.
        affinity: The present Om.
        activity: float64 (n,): theta, of mean 1.
        density: Share of edges among all pairs.
    """
    weight = edge_probability(pairs, beliefs, label_log_likelihood, affinity)
    hit = likelihood.hit[likelihood.count(pairs.left, pairs.right)]
    counts = np.zeros_like(affinity)
    for part in _pair_blocks(len(pairs.left)):
        left, right = _end_classes(beliefs, label_log_likelihood, pairs, part)
        agree = np.maximum(np.einsum("ij,ij->i", left @ affinity, right), 1e-12)
        counts += left.T @ (right * (weight[part] / hit[part] / agree)[:, None])
    edges = _symmetric_sum(counts * affinity)
    share = beliefs.total + label_log_likelihood
    share = np.exp(share - share.max(axis=1, keepdims=True))
    share *= (activity / share.sum(axis=1))[:, None]
    return ClassCounts(edges, np.zeros_like(edges), np.maximum(_expected(likelihood, share, density), 1e-9))


def _expected(likelihood: LinkLikelihood, weighted: FloatArray, density: float) -> FloatArray:
    """Return M of classes that are weighted by the people's activities, float64 (n, classes)."""
    reported_share = likelihood.partners[:, 1:].sum() / max(1, likelihood.n * (likelihood.n - 1))
    of_class = weighted.sum(axis=0)
    return reported_share * density * (np.outer(of_class, of_class) - weighted.T @ weighted)


def edge_probability(
    pairs: Pairs, beliefs: Beliefs, label_log_likelihood: FloatArray | None, affinity: FloatArray
) -> FloatArray:
    """float64 (m,): posterior probability of an edge for each pair of S.

    Args:
        pairs: The pairs.
        beliefs: Their messages.
        label_log_likelihood: Of the people's labels; None leaves it out, so that labelled people are like all others.
        affinity: Om.
    """
    probability = np.empty(len(pairs.left))
    for part in _pair_blocks(len(pairs.left)):
        left, right = _end_classes(beliefs, label_log_likelihood, pairs, part)
        prior = np.minimum(pairs.base[part] * np.einsum("ij,ij->i", left @ affinity, right), 1 - 1e-9)
        probability[part] = 1 / (1 + (1 - prior) / np.maximum(prior, 1e-300) * np.exp(-pairs.strength[part]))
    return probability


def shrunk(counts: ClassCounts) -> FloatArray:
    """float64 (classes, classes): rates, shrunk to the mean of the diagonal or of the rest."""
    result = np.ones_like(counts.edges)
    diagonal = np.eye(len(result), dtype=bool)
    for kind in (diagonal, ~diagonal):
        if kind.any():
            result[kind] = _shrunk(counts.edges[kind], counts.noise[kind], counts.expected[kind])
    return np.maximum(result, LEAST)


def normalised(affinity: FloatArray, share: FloatArray) -> FloatArray:
    """Return Om / pi' Om pi for the class shares pi of an edge's end."""
    return np.asarray(affinity / (share @ affinity @ share))


def _shrunk(edges: FloatArray, noise: FloatArray, expected: FloatArray) -> FloatArray:
    exposure = np.maximum(expected, 1e-9)
    mean = max(float(edges.sum() / exposure.sum()), LEAST)
    variance = (noise + mean * exposure) / exposure**2  # of each rate under the common mean
    rates = edges / exposure
    weights = 1 / variance
    # method of moments: what the rates differ beyond their noise
    excess = float((weights * (np.square(rates - mean) - variance)).sum() / weights.sum())
    spread = max(excess, (0.1 * mean) ** 2)
    return mean + spread / (spread + variance) * (rates - mean)


def _end_classes(
    beliefs: Beliefs, label_log_likelihood: FloatArray | None, pairs: Pairs, part: slice
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return float64 (k, classes) and the same: class distributions of the left and the right ends of pairs."""
    ends = []
    for cavity, people in ((beliefs.left_cavity, pairs.left), (beliefs.right_cavity, pairs.right)):
        share = cavity[part].astype(np.float64)
        if label_log_likelihood is not None:
            share = np.maximum(share, 1e-30) * np.exp(label_log_likelihood[people[part]])
            share /= share.sum(axis=1, keepdims=True)
        ends.append(share)
    return ends[0], ends[1]


def _symmetric_sum(counts: FloatArray) -> FloatArray:
    return np.asarray(counts + counts.T)


def _pair_blocks(count: int) -> Iterator[slice]:
    for start in range(0, count, _PAIRS_AT_ONCE):
        yield slice(start, start + _PAIRS_AT_ONCE)
