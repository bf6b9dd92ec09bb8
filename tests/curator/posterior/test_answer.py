from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.posterior.estimate import POOL, guarded_answer
from ldpsim.curator.reports.labels import LabelEvidence

LABELS = np.arange(90) % 3
VAL = np.arange(60)
KNOWN = LabelEvidence(LABELS, 3)


def _opinion(right: float, sure: float, seed: int) -> np.ndarray:
    """Return log-probabilities that are right for a share of the people, with a certain confidence."""
    rng = np.random.default_rng(seed)
    said = np.where(rng.random(90) < right, LABELS, (LABELS + 1) % 3)
    scores = sure * np.eye(3)[said]
    return np.asarray(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))


def test_a_good_pool_is_published() -> None:
    parts = {"a": _opinion(0.8, 2, 0), "b": _opinion(0.6, 2, 1)}
    found = guarded_answer(parts, {"b": parts["b"]}, KNOWN, VAL, prior={"a": 1.0, "b": 0.0})
    assert found.chosen == POOL and set(found.exponents) == {"a", "b"} and set(found.accuracy) == {POOL, "b"}


def test_the_guard_publishes_what_validation_prefers() -> None:
    parts = {"links": _opinion(0.4, 2, 0)}
    features = _opinion(0.9, 2, 1)
    found = guarded_answer(parts, {"features": features}, KNOWN, VAL, prior={"links": 1.0})
    assert found.chosen == "features" and found.log_probability is features
    assert found.accuracy["features"] == pytest.approx(np.mean(features[VAL].argmax(axis=1) == LABELS[VAL]))


def test_of_equally_good_simpler_answers_the_most_trusted_is_published() -> None:
    parts, good = {"links": _opinion(0.4, 2, 0)}, _opinion(0.9, 2, 1)
    better = good.copy()
    better[VAL] = 3.0 * np.eye(3)[LABELS[VAL]]
    named = {"trusted": good, "same": good + 0.0}
    assert guarded_answer(parts, named, KNOWN, VAL, prior={"links": 1.0}).chosen == "trusted"
    found = guarded_answer(parts, {**named, "better": better}, KNOWN, VAL, prior={"links": 1.0})
    assert found.chosen == "better" and found.log_probability is better and found.accuracy["better"] == 1


def test_one_hit_more_is_not_enough() -> None:
    pool = _opinion(0.8, 2, 0)
    wrong = np.flatnonzero(pool[VAL].argmax(axis=1) != LABELS[VAL])[0]
    better = pool.copy()
    better[wrong] = np.log(np.full(3, 0.01) + 0.97 * (np.arange(3) == LABELS[wrong]))
    found = guarded_answer({"pool": pool}, {"features": better}, KNOWN, VAL, prior={"pool": 1.0})
    assert found.chosen == POOL and found.accuracy["features"] > found.accuracy[POOL]
