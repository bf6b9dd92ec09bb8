"""The fitted pool of votes as a trained network: whose labels fit it, and what it predicts."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.graph import Graph
from ldpsim.curator.learning.pool import fit_pool
from ldpsim.curator.reports.labels import LabelEvidence
from ldpsim.curator.votes.fitted import fitted
from ldpsim.curator.votes.knowledge import PRIOR, VoteEvidence

N, CLASSES = 60, 3
TRUTH = np.arange(N) % CLASSES
TRAIN, VAL = np.arange(20), np.arange(20, 40)
COMPONENTS = {"features": 0.6, "vote": 0.7, "class": 0.5}


def opinion(right: float, seed: int) -> np.ndarray:
    """ln-probabilities that name the true class for a share of the people."""
    rng = np.random.default_rng(seed)
    said = np.where(rng.random(N) < right, TRUTH, (TRUTH + 1) % CLASSES)
    return np.log(0.1 + 0.7 * np.eye(CLASSES)[said])


def graph(labels: np.ndarray = TRUTH, val: np.ndarray = VAL, train: np.ndarray = TRAIN) -> tuple[Graph, VoteEvidence]:
    parts = {name: opinion(right, seed) for seed, (name, right) in enumerate(COMPONENTS.items())}
    known = np.full(N, -1)
    known[:40] = labels[:40]
    told = VoteEvidence(LabelEvidence(known, CLASSES), np.zeros((N, CLASSES)), parts, np.ones(N, np.bool_))
    return Graph(np.zeros((N, 0)), np.zeros((2, 0), np.int64), None, known, train, val), told


def test_predictions_are_the_likeliest_classes_of_the_pool_that_all_labels_fit() -> None:
    """Training and validation people fit the exponents; the same pool by hand."""
    made, told = graph()
    parts = told.components
    expected = fit_pool(parts, told.labels, np.arange(40), prior=PRIOR)
    found = fitted(made, told)
    assert np.array_equal(found.predictions, expected.log_probability.argmax(axis=1))
    assert {name: float(value) for name, value in found.model.state_dict().items()} == pytest.approx(
        dict(expected.exponents)
    )
    assert found.val_accuracy == np.mean(found.predictions[VAL] == TRUTH[VAL]) and found.predictions.dtype == np.int64
    alone = fit_pool(parts, told.labels, VAL, prior=PRIOR)
    assert max(abs(alone.exponents[name] - expected.exponents[name]) for name in COMPONENTS) > 0.02  # power


def test_without_labels_to_fit_or_to_judge() -> None:
    assert np.isnan(fitted(*graph(val=VAL[:0])).val_accuracy)
    with pytest.raises(ValueError, match="label"):
        fitted(*graph(train=TRAIN[:0]))
