"""Edge membership: pairs that are linked, by the reports of both ends and a prior.

Each end's reports add up to log-odds (:mod:`averaging`); those of the two ends are of the
same bit, so they add, and so does the logit of the prior:

    log-odds of an edge = sum over reports of eps_r (2 y_r - 1) + logit(density).

Edges are rare, so a pair is named only if this exceeds 0. The result is compared with an
attacker who knows the prior alone. That attacker's best guess is "no edge" for every pair. If
it names as many pairs at random, its precision is the density.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray


@dataclass(frozen=True)
class EdgeAttack:
    """Result of an attack on edges.

    Args:
        precision: Share of the pairs called edges that are, None where none was named.
        recall: Share of the edges that were named.
        top: Share of edges among the m pairs of the largest log-odds, m the number of
            edges: precision and recall of an attacker who knows how many there are.
        prior_precision: Precision of naming as many pairs by the prior alone: the density.
        prior_recall: Recall of the same.
    """

    precision: float | None
    recall: float
    top: float
    prior_precision: float
    prior_recall: float


def pair_odds(log_odds: FloatArray) -> FloatArray:
    """float64 (pairs,): both ends' log-odds added, for i < j in the order of ``np.triu_indices``.

    Args:
        log_odds: (n, n), row i the log-odds of what i reported; 0 where it reported nothing.
    """
    upper = np.triu_indices(len(log_odds), 1)
    return np.asarray(log_odds[upper] + log_odds.T[upper], np.float64)


def attack_edges(log_odds: FloatArray, truth: NDArray[np.bool_]) -> EdgeAttack:
    """Name edges from (n, n) log-odds and the density, which is public in most data sets; compare with the truth.

    Args:
        log_odds: As for :func:`pair_odds`.
        truth: bool (n, n), symmetric.

    Raises:
        ValueError: where the graph has no edge or every one.
    """
    odds = pair_odds(log_odds)
    linked = truth[np.triu_indices(len(truth), 1)]
    edges, pairs = int(linked.sum()), len(linked)
    if not 0 < edges < pairs:
        raise ValueError(f"edges cannot be attacked in a graph with {edges} of {pairs} of them")
    prior = edges / pairs
    named = odds + math.log(prior / (1 - prior)) > 0
    right = int(np.count_nonzero(named & linked))
    count = int(np.count_nonzero(named))
    return EdgeAttack(
        precision=right / count if count else None,
        recall=right / edges,
        top=top_share(odds, linked, edges),
        prior_precision=prior,
        prior_recall=count / pairs,
    )


def top_share(odds: FloatArray, linked: NDArray[np.bool_], size: int) -> float:
    """Share of edges among the ``size`` pairs of the largest odds; equals are drawn at random (its mean)."""
    least = np.partition(odds, len(odds) - size)[len(odds) - size]
    above, equal = odds > least, odds == least
    places = size - int(np.count_nonzero(above))
    share = np.count_nonzero(linked & equal) / np.count_nonzero(equal)
    return float((np.count_nonzero(linked & above) + places * share) / size)


def expected_named(flip: float, reports: int, density: float) -> tuple[float, float]:
    """(Pr[an edge is named], Pr[another pair is]) after ``reports`` reports of a pair in all, both ends together.

    A pair is named where the number of ones k has (2k - reports) w + logit(density) > 0,
    w = ln((1 - flip) / flip): exact binomial tails.
    """
    from scipy.stats import binom

    weight = math.log((1 - flip) / flip)
    least = (reports - math.log(density / (1 - density)) / weight) / 2
    beyond = math.floor(least + 1e-12)
    return float(binom.sf(beyond, reports, 1 - flip)), float(binom.sf(beyond, reports, flip))
