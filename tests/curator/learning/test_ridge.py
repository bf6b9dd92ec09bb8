"""Ridge regression: the closed forms against fits that really leave one person out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.learning.ridge import PENALTIES, ridge

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
    np.testing.assert_allclose(fit.left_out, refits, atol=1e-8)
    assert fit.error == pytest.approx(np.square(np.eye(CLASSES)[LABELS[TRAIN]] - refits).mean(), abs=1e-9)


def test_penalty_has_the_smallest_leave_one_out_error() -> None:
    rows = _rows(4)
    errors = {penalty: ridge(rows, TRAIN, LABELS, CLASSES, (penalty,)).error for penalty in PENALTIES}
    assert len(set(errors.values())) == len(PENALTIES)
    best = min(errors, key=lambda penalty: errors[penalty])
    for order in (PENALTIES, PENALTIES[::-1]):
        assert ridge(rows, TRAIN, LABELS, CLASSES, order).penalty == best
    assert ridge(np.zeros((N, 2)), TRAIN, LABELS, CLASSES, (3.0, 1.0)).penalty == 3.0  # the first of equal ones


def test_only_labels_of_the_training_people_are_read() -> None:
    hidden = np.full(N, -1)
    hidden[TRAIN] = LABELS[TRAIN]
    for d in (4, 30):
        seen, unseen = (ridge(_rows(d), TRAIN, labels, CLASSES) for labels in (LABELS, hidden))
        assert np.array_equal(seen.scores, unseen.scores)


def test_one_person_and_rows_of_zeros() -> None:
    alone = ridge(_rows(3), TRAIN[:1], LABELS, CLASSES)
    assert (alone.scores.argmax(axis=1) == LABELS[TRAIN[0]]).all()
    zeros = ridge(csr_array((N, 5)), TRAIN, LABELS, CLASSES)
    np.testing.assert_allclose(zeros.scores, np.tile(np.eye(CLASSES)[LABELS[TRAIN]].mean(axis=0), (N, 1)))


def test_many_rows_are_read_block_by_block_with_the_same_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = _rows(4).astype(np.float32)
    whole = ridge(rows, TRAIN, LABELS, CLASSES)
    monkeypatch.setattr("ldpsim.curator.learning.ridge._ENTRIES_AT_ONCE", 8)  # two rows
    blocks = ridge(rows, TRAIN, LABELS, CLASSES)
    assert blocks.penalty == whole.penalty
    np.testing.assert_allclose(blocks.scores, whole.scores, atol=1e-6)
    np.testing.assert_allclose(blocks.left_out, whole.left_out, atol=1e-9)
