"""Naive Bayes: the formulas against a plain loop, and own labels that do not reach own rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.learning.ridge import FOLDS, folds_of, naive_bayes
from ldpsim.curator.reports.labels import LabelEvidence

N, D, CLASSES = 60, 12, 3
RNG = np.random.Generator(np.random.PCG64(3))
LABELS = RNG.integers(0, CLASSES, N)
RATES = RNG.random((CLASSES, D)) * 0.6
BITS = RNG.random((N, D)) < RATES[LABELS]
TRAIN = np.sort(RNG.permutation(N)[:40])


def _rows(people: np.ndarray, weights: np.ndarray, row: np.ndarray, bits: np.ndarray, flip: float = 0.0) -> np.ndarray:
    """ln of the class probabilities of one row, entry by entry as in the module's docstring."""
    slope = 1 - 2 * flip
    mu = (bits.mean(axis=0) - flip) / slope
    if flip:
        noise = flip * (1 - flip) / (len(bits) * slope**2)
        spread = max(mu.var() - noise, 1e-9)
        mu = mu.mean() + spread / (spread + noise) * (mu - mu.mean())
    mu = np.clip(mu, 3e-4, 1 - 1e-4)
    m, counts = flip + slope * mu, weights.sum(axis=0)
    t, v = np.zeros((CLASSES, D)), np.full((CLASSES, D), np.inf)
    for c in range(CLASSES):
        for k in range(D):
            t[c, k] = sum(w * (b - m[k]) for w, b in zip(weights[:, c], bits[people, k], strict=True))
            t[c, k] /= counts[c] * slope
            v[c, k] = m[k] * (1 - m[k]) * (weights[:, c] ** 2).sum() / (counts[c] * slope) ** 2
    s = max(((t**2 - v).mean(axis=0) * mu).sum() / (mu**3).sum(), 1e-3) * mu**2
    theta = np.clip(mu + s / (s + v) * t, 1e-5, 1 - 1e-5)
    rate = flip + slope * theta
    found = np.log((counts + 1) / (counts + 1).sum()) + (row * np.log(rate) + (1 - row) * np.log(1 - rate)).sum(axis=1)
    return found - np.log(np.exp(found).sum())


@pytest.mark.parametrize("flip", [0.0, 0.2])
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_rows_are_those_of_the_formulas_and_out_of_fold(kind: Any, flip: float) -> None:
    weights = LabelEvidence(LABELS, CLASSES).estimates(TRAIN)
    found = naive_bayes(kind(BITS), TRAIN, weights, flip=flip, seed=5)
    folds = folds_of(len(TRAIN), FOLDS, 5)
    for i in range(N):
        learned = folds != folds[TRAIN.tolist().index(i)] if i in TRAIN else np.ones(len(TRAIN), bool)
        expected = _rows(TRAIN[learned], weights[learned], BITS[i].astype(float), BITS, flip)
        np.testing.assert_allclose(found[i], expected, atol=1e-9)


def test_own_label_does_not_reach_own_row() -> None:
    before = naive_bayes(BITS, TRAIN, LabelEvidence(LABELS, CLASSES).estimates(TRAIN))
    for i in TRAIN[:8]:
        flipped = LABELS.copy()
        flipped[i] = (flipped[i] + 1) % CLASSES
        after = naive_bayes(BITS, TRAIN, LabelEvidence(flipped, CLASSES).estimates(TRAIN))
        assert np.array_equal(before[i], after[i])
        assert not np.array_equal(before, after)


def test_labels_of_others_are_not_read() -> None:
    hidden = np.full(N, -1)
    hidden[TRAIN] = LABELS[TRAIN]
    seen, unseen = (
        naive_bayes(BITS, TRAIN, LabelEvidence(labels, CLASSES).estimates(TRAIN)) for labels in (LABELS, hidden)
    )
    assert np.array_equal(seen, unseen)


def test_flips_are_removed() -> None:
    rng = np.random.Generator(np.random.PCG64(9))
    n, d, flip = 40000, 20, 0.25
    labels = rng.integers(0, 2, n)
    rates = np.where(np.arange(2)[:, None] == (np.arange(d) % 2), 0.5, 0.1)
    noisy = (rng.random((n, d)) < rates[labels]) ^ (rng.random((n, d)) < flip)
    train, rest = np.arange(39000), np.arange(39000, n)
    found = np.exp(naive_bayes(noisy, train, LabelEvidence(labels, 2).estimates(train), flip=flip))[rest, 1]
    rate = flip + (1 - 2 * flip) * rates
    exact = noisy[rest] @ (np.log(rate) - np.log(1 - rate)).T + np.log(1 - rate).sum(axis=1)
    np.testing.assert_allclose(found, 1 / (1 + np.exp(exact[:, 0] - exact[:, 1])), atol=0.1)


def test_a_silent_person_has_the_class_shares() -> None:
    answered = np.ones(N, bool)
    answered[[1, TRAIN[0]]] = False
    outside = next(i for i in range(N) if i not in TRAIN)
    answered[outside] = False
    found = naive_bayes(BITS, TRAIN, LabelEvidence(LABELS, CLASSES).estimates(TRAIN), answered=answered)
    counts = np.bincount(LABELS[TRAIN], minlength=CLASSES) + 1
    np.testing.assert_allclose(np.exp(found[outside]), counts / counts.sum())
    other = BITS.copy()
    other[~answered] = ~other[~answered]
    assert np.array_equal(
        found, naive_bayes(other, TRAIN, LabelEvidence(LABELS, CLASSES).estimates(TRAIN), answered=answered)
    )


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_few_people_to_learn_from(count: int) -> None:
    found = naive_bayes(csr_array(BITS), TRAIN[:count], LabelEvidence(LABELS, CLASSES).estimates(TRAIN[:count]))
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1)
    if count < 2:
        np.testing.assert_allclose(np.exp(found[TRAIN[:count]]), 1 / CLASSES)
