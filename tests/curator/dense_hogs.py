"""HoGS straight from Algorithms 2 and 3 on dense n x n arrays: the oracle of the tests.

Written for reading.
"""

from __future__ import annotations

import numpy as np


def similarity(features: np.ndarray) -> np.ndarray:
    """float64 (n, n) cosines. Bits: exact counts; real rows: products added column by column."""
    n = len(features)
    if np.isin(features, (0, 1)).all():
        wide = features.astype(np.float32)
        sums = (wide @ wide.T).astype(np.float64)
    else:
        sums = np.zeros((n, n))
        for column in features.astype(np.float64).T:
            sums += np.outer(column, column)
    squares = np.outer(np.diag(sums), np.diag(sums))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(squares > 0, np.clip(sums / np.sqrt(squares), 0, 1), 0)


def link_probability(
    noisy: np.ndarray, reported: np.ndarray, features: np.ndarray, ratio: float, one_end: bool = False
) -> np.ndarray:
    """float64 (n, n) P of every pair, s_ii on the diagonal; eq. 6 to 9 for whoever reported."""
    n = len(noisy)
    ones = noisy.astype(np.int64) + noisy.T
    reports = np.tile(reported.astype(np.int64)[:, None], (1, n))
    if one_end:
        larger = np.maximum.outer(np.arange(n), np.arange(n))
        reports = reported.astype(np.int64)[larger]
    else:
        reports = reports + reports.T
    cosine = similarity(features)
    odds = (1 - cosine) * np.array([ratio**k for k in (-2, -1, 0, 1, 2)])[2 * ones - reports + 2]
    with np.errstate(invalid="ignore"):
        probability = np.where(cosine + odds > 0, cosine / (cosine + odds), 0)
    probability[reports == 0] = 0
    np.fill_diagonal(probability, np.diag(cosine))
    return probability


def edges(probability: np.ndarray, tau: float) -> np.ndarray:
    """bool (n, n): Algorithm 2, line 11."""
    kept = probability >= tau
    np.fill_diagonal(kept, False)
    return kept


def reconstruct(probability: np.ndarray, features: np.ndarray, times: int) -> np.ndarray:
    """float32 (n, d): Algorithm 3 done ``times`` times; a row without any neighbour stays."""
    weights = np.where(probability >= 0.5, probability, 0)
    np.fill_diagonal(weights, 1)
    result = features.astype(np.float64)
    for _ in range(times):
        result = weights @ result / weights.sum(axis=1, keepdims=True)
    return result.astype(np.float32)
