"""Ranking of pairs by a score: area under the ROC curve and average precision."""

from __future__ import annotations

import numpy as np

from devices.array_types import DoubleArray


def halves(scores: DoubleArray) -> tuple[DoubleArray, DoubleArray]:
    """Return the scores of the edges and those of the pairs without one: the two halves of a list."""
    middle = len(scores) // 2
    return scores[:middle], scores[middle:]


def placements(scores: DoubleArray) -> DoubleArray:
    """Return the placement values of DeLong: their mean is the AUC, and their standard error is that of the AUC.

    Number k belongs to the k-th edge and the k-th pair without one. It is the share of the pairs without an edge that
    the edge is above, plus the share of the edges that are above the pair, less the AUC; a tie counts half. The
    variance is that of DeLong et al. 1988 (https://doi.org/10.2307/2531595) for as many edges as other pairs.

    Args:
        scores: float64 (2k,), the edges first.

    >>> placements(np.array([3.0, 1.0, 2.0, 0.0])).tolist()
    [0.75, 0.75]
    """
    edges, others = halves(scores)
    above = _share_below(edges, others)
    below = 1 - _share_below(others, edges)
    return above + below - np.mean(above) if len(edges) else above


def auc(scores: DoubleArray) -> float:
    """Return the chance that an edge has a larger score than a pair without one; a tie counts half.

    >>> auc(np.array([3.0, 1.0, 2.0, 0.0]))
    0.75
    """
    return auc_between(*halves(scores))


def auc_between(above: DoubleArray, below: DoubleArray) -> float:
    """Return the chance that a score of the first list is larger than one of the second; a tie counts half."""
    return float(np.mean(_share_below(above, below))) if len(above) and len(below) else 0.5


def average_precision(scores: DoubleArray) -> float:
    """Return the mean over the edges of the precision down to each one; equal scores count as one place.

    >>> average_precision(np.array([3.0, 1.0, 2.0, 0.0]))  # (1 / 1 + 2 / 3) / 2
    0.8333333333333333
    """
    edges, others = halves(scores)
    at_least = len(edges) - np.searchsorted(np.sort(edges), edges)
    wrong = len(others) - np.searchsorted(np.sort(others), edges)
    return float(np.mean(at_least / (at_least + wrong)))


def _share_below(values: DoubleArray, others: DoubleArray) -> DoubleArray:
    """float64 (m,): share of the others below each value; a tie counts half."""
    ordered = np.sort(others)
    found = np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right")
    return np.asarray(found / (2 * max(1, len(others))), np.float64)
