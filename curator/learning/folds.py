"""Folds of people, for predictions of a person by a fit without that person."""

from __future__ import annotations

import numpy as np

from ldpsim.devices.array_types import IntArray


def folds_of(count: int, folds: int, seed: int) -> IntArray:
    """int64 (count,): a fold for each of ``count`` people, in turn along a random order; at most ``count`` folds.

    >>> np.bincount(folds_of(7, 3, seed=0)).tolist()
    [3, 2, 2]
    """
    places = np.empty(count, np.int64)
    places[np.random.Generator(np.random.PCG64(seed)).permutation(count)] = np.arange(count) % max(1, folds)
    return places
