"""Ridge regression and naive Bayes: closed forms beside fits that really leave one person out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.features.naive_bayes import FOLDS, naive_bayes
from ldpsim.curator.learning.folds import folds_of
from ldpsim.curator.learning.ridge import PENALTIES, ridge
from ldpsim.curator.reports.labels import ObservedLabels

N, CLASSES = 14, 3


RNG = np.random.Generator(np.random.PCG64(7))


TRAIN = np.array([0, 2, 3, 5, 6, 8, 9, 11, 13])


LABELS = RNG.integers(0, CLASSES, N)


def _rows(d: int) -> np.ndarray:
    rows = np.random.Generator(np.random.PCG64(d)).normal(size=(N, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _explicit(rows: np.ndarray, people: np.ndarray, penalty: float) -> Any:
    """Fit by the normal equations and return the prediction as a function of a row."""
    z, y = rows[people], np.eye(CLASSES)[LABELS[people]]
    mean = y.mean(axis=0)
    weights = np.linalg.solve(z.T @ z + penalty * np.eye(rows.shape[1]), z.T @ (y - mean))
    return lambda row: mean + row @ weights


@pytest.mark.parametrize("d", [4, 30])  # fewer columns than people, and more
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_closed_forms_are_the_explicit_fits(d: int, kind: Any, penalty: float) -> None:
    rows = _rows(d)
    fit = ridge(kind(rows), TRAIN, LABELS, CLASSES, (penalty,))
    np.testing.assert_allclose(fit.scores, _explicit(rows, TRAIN, penalty)(rows), atol=1e-8)
    refits = [_explicit(rows, np.delete(TRAIN, place), penalty)(rows[i]) for place, i in enumerate(TRAIN)]
    np.testing.assert_allclose(fit.leave_one_out, refits, atol=1e-8)
    assert fit.error == pytest.approx(np.square(np.eye(CLASSES)[LABELS[TRAIN]] - refits).mean(), abs=1e-9)


def test_penalty_has_the_smallest_leave_one_out_error() -> None:
    rows = _rows(4)
    errors = {penalty: ridge(rows, TRAIN, LABELS, CLASSES, (penalty,)).error for penalty in PENALTIES}
    assert len(set(errors.values())) == len(PENALTIES)
    best = min(errors, key=lambda penalty: errors[penalty])
    for order in (PENALTIES, PENALTIES[::-1]):
        assert ridge(rows, TRAIN, LABELS, CLASSES, order).penalty == best
    assert ridge(np.zeros((N, 2)), TRAIN, LABELS, CLASSES, (3.0, 1.0)).penalty == 3.0  # the first of equal ones


def test_one_person_and_rows_of_zeros() -> None:
    alone = ridge(_rows(3), TRAIN[:1], LABELS, CLASSES)
    assert (alone.scores.argmax(axis=1) == LABELS[TRAIN[0]]).all()
    zeros = ridge(csr_array((N, 5)), TRAIN, LABELS, CLASSES)
    np.testing.assert_allclose(zeros.scores, np.tile(np.eye(CLASSES)[LABELS[TRAIN]].mean(axis=0), (N, 1)))


N_BAYES, D, CLASSES_BAYES = 60, 12, 3


RNG_BAYES = np.random.Generator(np.random.PCG64(3))


LABELS_BAYES = RNG_BAYES.integers(0, CLASSES_BAYES, N_BAYES)


RATES = RNG_BAYES.random((CLASSES_BAYES, D)) * 0.6


BITS = RNG_BAYES.random((N_BAYES, D)) < RATES[LABELS_BAYES]


TRAIN_BAYES = np.sort(RNG_BAYES.permutation(N_BAYES)[:40])


def _rows_of_naive_bayes(
    people: np.ndarray, weights: np.ndarray, row: np.ndarray, bits: np.ndarray, flip: float = 0.0
) -> np.ndarray:
    """ln of the class probabilities of one row, entry by entry as in the module's docstring."""
    slope = 1 - 2 * flip
    mu = (bits.mean(axis=0) - flip) / slope
    if flip:
        noise = flip * (1 - flip) / (len(bits) * slope**2)
        spread = max(mu.var() - noise, 1e-9)
        mu = mu.mean() + spread / (spread + noise) * (mu - mu.mean())
    mu = np.clip(mu, 3e-4, 1 - 1e-4)
    m, counts = flip + slope * mu, weights.sum(axis=0)
    t, v = np.zeros((CLASSES_BAYES, D)), np.full((CLASSES_BAYES, D), np.inf)
    for c in range(CLASSES_BAYES):
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
    weights = ObservedLabels(LABELS_BAYES, CLASSES_BAYES).estimates(TRAIN_BAYES)
    found = naive_bayes(kind(BITS), TRAIN_BAYES, weights, flip=flip, seed=5)
    folds = folds_of(len(TRAIN_BAYES), FOLDS, 5)
    for i in range(N_BAYES):
        learned = folds != folds[TRAIN_BAYES.tolist().index(i)] if i in TRAIN_BAYES else np.ones(len(TRAIN_BAYES), bool)
        expected = _rows_of_naive_bayes(TRAIN_BAYES[learned], weights[learned], BITS[i].astype(float), BITS, flip)
        np.testing.assert_allclose(found[i], expected, atol=1e-9)


def test_a_silent_person_has_the_class_shares() -> None:
    answered = np.ones(N_BAYES, bool)
    answered[[1, TRAIN_BAYES[0]]] = False
    outside = next(i for i in range(N_BAYES) if i not in TRAIN_BAYES)
    answered[outside] = False
    found = naive_bayes(
        BITS, TRAIN_BAYES, ObservedLabels(LABELS_BAYES, CLASSES_BAYES).estimates(TRAIN_BAYES), answered=answered
    )
    counts = np.bincount(LABELS_BAYES[TRAIN_BAYES], minlength=CLASSES_BAYES) + 1
    np.testing.assert_allclose(np.exp(found[outside]), counts / counts.sum())
    other = BITS.copy()
    other[~answered] = ~other[~answered]
    assert np.array_equal(
        found,
        naive_bayes(
            other, TRAIN_BAYES, ObservedLabels(LABELS_BAYES, CLASSES_BAYES).estimates(TRAIN_BAYES), answered=answered
        ),
    )


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_few_people_to_learn_from(count: int) -> None:
    found = naive_bayes(
        csr_array(BITS), TRAIN_BAYES[:count], ObservedLabels(LABELS_BAYES, CLASSES_BAYES).estimates(TRAIN_BAYES[:count])
    )
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1)
    if count < 2:
        np.testing.assert_allclose(np.exp(found[TRAIN_BAYES[:count]]), 1 / CLASSES_BAYES)
