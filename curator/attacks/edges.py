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

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import FloatArray


def pair_odds(log_odds: FloatArray) -> FloatArray:
    """float64 (pairs,): both ends' log-odds added, for i < j in the order of ``np.triu_indices``.

    Args:
        log_odds: (n, n), row i the log-odds of what i reported; 0 where it reported nothing.
    """
    upper = np.triu_indices(len(log_odds), 1)
    return np.asarray(log_odds[upper] + log_odds.T[upper], np.float64)


def attack_edges(log_odds: FloatArray, truth: NDArray[np.bool_]) -> dict[str, float | None]:
    """Name edges from (n, n) log-odds and the density, which is public in most data sets; compare with the truth.

    Args:
        log_odds: As for :func:`pair_odds`.
        truth: bool (n, n), symmetric.

    Returns:
        Precision (None where no pair is named) and recall of the pairs that are named; the share of edges among the
        m pairs of the largest log-odds, m the number of edges (``edge_top``); and precision and recall of naming as
        many pairs by the prior alone.

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
    return {
        "edge_precision": right / count if count else None, "edge_recall": right / edges,
        "edge_top": top_share(odds, linked, edges), "prior_precision": prior, "prior_recall": count / pairs,
    }  # fmt: skip


def top_share(odds: FloatArray, linked: NDArray[np.bool_], size: int) -> float:
    """Share of edges among the ``size`` pairs of the largest odds; equals are drawn at random (its mean)."""
    least = np.partition(odds, len(odds) - size)[len(odds) - size]
    above, equal = odds > least, odds == least
    places = size - int(np.count_nonzero(above))
    share = np.count_nonzero(linked & equal) / np.count_nonzero(equal)
    return float((np.count_nonzero(linked & above) + places * share) / size)
