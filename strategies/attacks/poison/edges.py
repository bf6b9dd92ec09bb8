"""Measures of a reconstructed graph: the liars' false pairs and true pairs, and the rank of chosen people."""

from __future__ import annotations

import numpy as np

from devices.array_types import IntArray
from devices.data.population import Population


def _codes(edges: IntArray, n: int) -> IntArray:
    """int64, sorted: each pair once, as one number."""
    low, high = np.minimum(*edges), np.maximum(*edges)
    return np.unique(low.astype(np.int64) * n + high)


def edge_measures(edges: IntArray, people: Population, liars: IntArray, targets: IntArray) -> dict[str, float | None]:
    """Return what became of the pairs of liars.

    Args:
        edges: int64 (2, E), the reconstructed pairs, in one direction or both.
        people: The truth.
        liars: Sorted ids.
        targets: Chosen people, none of them a liar.

    Returns:
        ``fakes_accepted``: kept pairs of a liar that are no edges, per liar; ``true_lost``: true pairs of a liar
        that are not kept, per liar; ``true``: its true pairs, per liar; ``connected``: share of the pairs of a
        liar and a chosen person, no edges, that are kept. None where there are no such pairs.
    """
    n = len(people)
    kept, true = _codes(edges, n), _codes(people.edges, n)
    lies = np.zeros(n, bool)
    lies[liars] = True
    fake = np.setdiff1d(kept, true, assume_unique=True)
    own = true[lies[true // n] | lies[true % n]]
    lost = np.setdiff1d(own, kept, assume_unique=True)
    m = len(liars)
    pairs = np.stack(np.meshgrid(liars, targets)).reshape(2, -1)
    chosen = np.setdiff1d(_codes(pairs, n), true) if pairs.size else pairs[0]
    return {
        "fakes_accepted": None if not m else float((lies[fake // n] | lies[fake % n]).sum() / m),
        "true_lost": None if not m else float(len(lost) / m),
        "true": None if not m else float(len(own) / m),
        "connected": None if not len(chosen) else float(np.isin(chosen, kept).mean()),
    }


def rank_of(edges: IntArray, n: int, targets: IntArray, *, among: int | None = None) -> dict[str, float | None]:
    """Return the mean degree of chosen people and their mean rank, 0 lowest and 1 highest.

    ``among``: the first so many people are ranked, without the accounts that joined; None: all are.
    """
    if not len(targets):
        return {"degree": None, "rank": None}
    degrees = np.bincount(_codes(edges, n) // n, minlength=n) + np.bincount(_codes(edges, n) % n, minlength=n)
    ranked = np.sort(degrees[: n if among is None else among])
    below = np.searchsorted(ranked, degrees[targets], side="left")
    same = np.searchsorted(ranked, degrees[targets], side="right") - below
    return {"degree": float(degrees[targets].mean()), "rank": float(((below + same / 2) / len(ranked)).mean())}
