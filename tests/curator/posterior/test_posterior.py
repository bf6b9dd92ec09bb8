"""Evidence of sbp, its estimate and the guard of its answer."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ldpsim.curator.knowledge.knowledge import Knowledge
from ldpsim.curator.posterior.block_model import LIKELY
from ldpsim.curator.posterior.estimate import Estimate, estimate
from ldpsim.curator.posterior.guarded_answer import POOL, guarded_answer
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from tests.curator.worlds import CLASSES, SPLIT, world


def test_public_labels_are_certain_and_those_of_others_are_nothing() -> None:
    reports, public, labels = world()
    evidence = Knowledge(reports, public)
    own = evidence.label_log_likelihood(evidence.train)
    assert np.array_equal(evidence.train, SPLIT.train) and np.array_equal(evidence.val, SPLIT.val)
    assert (own[SPLIT.train].argmax(axis=1) == labels[SPLIT.train]).all() and np.isneginf(own).sum() == 75 * 2
    assert not own[SPLIT.val].any() and not own[SPLIT.test].any()
    np.testing.assert_array_equal(evidence.class_estimates(evidence.train)[:75], np.eye(CLASSES)[labels[:75]])


def test_what_is_public_is_taken_even_if_it_was_reported_too() -> None:
    reports, public, _ = world(public=True, bits=True)
    assert reports.features is not None and public.features is not None
    evidence, alone = Knowledge(reports, public), Knowledge(reports.with_arrays(features=None), public)
    assert evidence.bits is None and evidence.scores is not None and alone.scores is not None
    pairs = np.array([1, 2]), np.array([2, 4])
    np.testing.assert_array_equal(evidence.scores(*pairs), alone.scores(*pairs))
    np.testing.assert_array_equal(evidence.people.log_probability, alone.people.log_probability)


def test_neither_reports_nor_a_graph_is_refused() -> None:
    reports, public, _ = world(public_graph=True, private_labels=True)
    with pytest.raises(ValueError, match="no adjacency"):
        _ = Knowledge(reports, dataclasses.replace(public, edges=None)).links


SETTINGS: dict[str, dict] = {
    "public features": {"epsilon": 3.0},
    "nothing but links": {"public": False},
    "reported bits": {"public": False, "bits": True},
    "private labels": {"private_labels": True},
    "one end": {"reporting": "one-end", "epsilon": 5.0},
    "silent": {"silent": (0, 7, 80, 120)},
    "public graph": {"public_graph": True, "private_labels": True},
}


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_it_reads_whatever_was_asked(setting: dict) -> None:
    reports, public, labels = world(**setting)
    found = estimate(Knowledge(reports, public))
    right = (found.answer.log_probability.argmax(axis=1) == labels)[SPLIT.test]
    assert right.mean() > 0.8
    assert (found.probability >= LIKELY).all() and (found.left < found.right).all()
    notes = found.notes()
    assert notes["answer"] == found.answer.chosen and notes["stopped"] and notes["pairs"] >= len(found.left)


def test_who_the_friends_are_is_read_where_their_classes_say_nothing() -> None:
    """In 40 groups of 30 people, each of two classes has three friends of its own, whose classes are drawn by chance.

    Everybody knows two of these three, and 10 of 100 people whom anybody may know. Without LINK the answer has 61 %.
    """
    rng, people = np.random.default_rng(0), 1200
    classes, group = rng.integers(0, 2, people), np.arange(people) // 30
    of_class = people + 3 * (2 * group + classes)[:, None] + rng.random((people, 3)).argsort(axis=1)[:, :2]
    n = people + 40 * 2 * 3 + 100
    of_anybody = n - 100 + rng.random((people, 100)).argsort(axis=1)[:, :10]
    edges = np.stack([np.repeat(np.arange(people), 12), np.concatenate([of_class, of_anybody], axis=1).ravel()])
    labels = np.concatenate([classes, rng.integers(0, 2, n - people)])
    split = Split(*np.split(rng.permutation(n), [n // 2, 3 * n // 4]))
    known = np.full(n, -1)
    known[split.labelled] = labels[split.labelled]
    facts = PublicFacts(n, 0, 2)
    reports = Reports(facts, {}, {}, np.ones(n, np.bool_), {})
    found = estimate(Knowledge(reports, PublicKnowledge(facts, split, known, None, edges)))
    tested = split.test[split.test < people]
    assert (found.answer.log_probability.argmax(axis=1) == labels)[tested].mean() > 0.95


def test_flipping_one_label_has_no_special_effect_on_its_owner() -> None:
    """A validation label moves everybody's exponents. A training label reaches neighbours, not its own row."""
    reports, public, labels = world(epsilon=3.0)
    before = estimate(Knowledge(reports, public))

    def after(person: int) -> Estimate:
        known = public.labels.copy()
        known[person] = (labels[person] + 1) % CLASSES
        return estimate(Knowledge(reports, dataclasses.replace(public, labels=known)))

    val, train = int(SPLIT.val[3]), int(SPLIT.train[3])
    change = np.abs(np.exp(after(val).answer.log_probability) - np.exp(before.answer.log_probability)).max(axis=1)
    assert change[val] <= np.quantile(change, 0.95) + 1e-9
    rows = [np.exp(found.components["beliefs"]) for found in (before, after(train))]
    change = np.abs(rows[1] - rows[0]).max(axis=1)
    assert change[train] < 0.2 * np.sort(change)[-5:].mean()  # power: its neighbours' rows move


LABELS = np.arange(90) % 3


VAL = np.arange(60)


KNOWN = ObservedLabels(LABELS, 3)


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
