"""Predictions that several runs share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from curator.nulls.known import NullEvidence
from curator.reports.labels import LabelEvidence
from devices.facts import IntArray, Split
from strategies.kept_nulls import kept_predictions

SPLIT = Split(np.array([0]), np.array([1]), np.array([2]))
LABELS = LabelEvidence(np.array([0, 1, -1]), 2)
KNOWN = NullEvidence(LABELS, SPLIT, np.array([[0], [1]]), csr_array(np.eye(3, dtype=np.float32)))


class Predictor:
    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> IntArray:
        self.times += 1
        return np.array([0, 1, self.times])


def test_the_same_knowledge_is_used_once(tmp_path: Path) -> None:
    predict = Predictor()
    first, again = (kept_predictions(tmp_path / "nulls", KNOWN, ("graph_alone", 1), predict) for _ in range(2))
    assert first is not None and np.array_equal(first, again)  # type: ignore[arg-type]
    assert predict.times == 1


@pytest.mark.parametrize("other", [
    replace(KNOWN, labels=LabelEvidence(np.array([1, 1, -1]), 2)),
    replace(KNOWN, edges=None), replace(KNOWN, edges=np.array([[0], [2]])),
    replace(KNOWN, features=None), replace(KNOWN, features=csr_array(2 * np.eye(3, dtype=np.float32))),
    replace(KNOWN, features=np.eye(3, dtype=np.float32)), replace(KNOWN, labels=replace(LABELS, classes=3)),
    replace(KNOWN, split=Split(SPLIT.val, SPLIT.train, SPLIT.test)),
    replace(KNOWN, labels=replace(LABELS, rows=np.array([True, False, True]))),
    replace(KNOWN, split=Split(SPLIT.train, np.array([2]), SPLIT.test)), replace(KNOWN, taught_by_validation=True),
    replace(KNOWN, labels=LabelEvidence(np.array([0, 1, -1], np.int32), 2)), replace(KNOWN, edges=np.array([[0, 1]])),
])  # fmt: skip
def test_other_knowledge_is_other(tmp_path: Path, other: NullEvidence) -> None:
    predict = Predictor()
    for known in (KNOWN, other):
        kept_predictions(tmp_path, known, ("graph_alone", 1), predict)
    assert predict.times == 2


def test_other_settings_are_other_and_a_single_run_keeps_nothing(tmp_path: Path) -> None:
    predict = Predictor()
    for settings in (("a", 1), ("a", 2), ("b", 1)):
        kept_predictions(tmp_path, KNOWN, settings, predict)
    kept_predictions(None, KNOWN, ("a", 1), predict)
    assert predict.times == 4 and kept_predictions(tmp_path, KNOWN, ("c", 1), lambda: None) is None
    assert len(list(tmp_path.iterdir())) == 3


def test_predictions_are_stored_under_a_digest_of_24_digits(tmp_path: Path) -> None:
    made = kept_predictions(tmp_path / "a" / "b", KNOWN, ("graph_alone", 1), Predictor())
    (path,) = (tmp_path / "a" / "b").iterdir()
    assert len(path.stem) == 24 and path.suffix == ".npy" and np.array_equal(np.load(path), made)  # type: ignore[arg-type]
    same = replace(KNOWN, edges=np.asfortranarray(KNOWN.edges), split=Split(SPLIT.train, SPLIT.val, np.array([0, 2])))
    assert np.array_equal(kept_predictions(tmp_path / "a" / "b", same, ("graph_alone", 1), lambda: None), made)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [np.array([0, 1, 2]), np.array([0, 1, -2]), np.zeros(2, int), np.zeros(3)], ids=str)
def test_stored_predictions_that_nobody_made_are_refused(tmp_path: Path, wrong: IntArray) -> None:
    kept_predictions(tmp_path, KNOWN, ("graph_alone", 1), Predictor())
    (path,) = tmp_path.glob("*.npy")
    np.save(path, wrong)
    with pytest.raises(ValueError, match=path.name):
        kept_predictions(tmp_path, KNOWN, ("graph_alone", 1), Predictor())
