"""LINK: rows by hand, what one hop and two hops tell, and its place in the family of the graph alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.learning.link import link, rows_of_pairs
from ldpsim.curator.nulls import models
from ldpsim.curator.nulls.inputs import NullInputs, known_from_reports
from ldpsim.curator.nulls.models import graph_alone, graph_learned
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import RandomizedResponse
from ldpsim.devices.query import Ask

# 40 people, of two classes in turn, and four stars, two for each class. A star has the label of the other class.
PEOPLE, STARS = 40, 4
N = PEOPLE + STARS
LABELS = np.arange(N) % 2
LABELS[PEOPLE:] = (1, 0, 1, 0)
LISTED = np.stack(
    [np.repeat(np.arange(PEOPLE), 2), PEOPLE + np.stack([np.arange(PEOPLE) % 2, 2 + np.arange(PEOPLE) % 2]).T.ravel()]
)
SPLIT = Split(np.concatenate([np.arange(12), np.arange(PEOPLE, N)]), np.arange(12, 24), np.arange(24, PEOPLE))


def known(edges: IntArray = LISTED, labels: IntArray = LABELS, split: Split = SPLIT, **changed: Any) -> NullInputs:
    hidden = np.where(np.isin(np.arange(len(labels)), split.labelled), labels, -1)
    return NullInputs(ObservedLabels(hidden, 2), split, edges, **changed)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network in the family that is right about nobody."""
    monkeypatch.setattr(models, "_network_of_edges", lambda inputs, *_, **__: np.full(len(inputs.labels.labels), -1))


def _hops(evidence: NullInputs) -> list[IntArray]:
    split = evidence.split
    return [scores[0].argmax(axis=1) for scores in link(evidence.edges, evidence.labels, split.train, split.val, None)]


def test_rows_by_hand() -> None:
    """Person 0 is a friend of 1 and 2, and 3 of nobody: a row of length 1, a mean over friends, zeros."""
    mean, rows = rows_of_pairs(4, np.array([[0, 2], [1, 0]]))
    half = np.sqrt(0.5)
    np.testing.assert_allclose(rows.toarray(), [[0, half, half, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_allclose(mean.toarray(), [[0, 0.5, 0.5, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])


def test_lists_of_one_end_are_rows_of_both() -> None:
    """Person i reports about j < i only; the first person, who reports about nobody, has the same pairs."""
    facts, everybody = PublicFacts(4, 0, 2), np.ones(4, np.bool_)
    ones = csr_array(np.array([[0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]], np.bool_))
    ask = Ask("adjacency", (RandomizedResponse.from_epsilon(2.0, n=4, reporting="one-end"),))
    reports = Reports(facts, {"adjacency": ask}, {"adjacency": everybody}, everybody, {"adjacency": ones})
    split = Split(np.array([0, 1]), np.array([2]), np.array([3]))
    found = known_from_reports(reports, PublicKnowledge(facts, split, np.array([0, 1, 0, -1])))
    assert found.edges is not None
    pairs = rows_of_pairs(4, found.edges)[1].toarray() > 0
    assert np.array_equal(pairs, pairs.T)
    assert pairs.astype(int).tolist() == [[0, 1, 1, 0], [1, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]]


def test_who_is_listed_tells_the_class_where_friends_are_unlike() -> None:
    """Labels that spread are wrong about everybody; LINK is right, so the family is: also where validation teaches."""
    spread, test = graph_alone(known()), SPLIT.test
    assert spread is not None and (spread[test] != LABELS[test]).all()
    assert np.array_equal(_hops(known())[0][test], LABELS[test])
    for taught in (False, True):
        learned = graph_learned(known(uses_validation_labels=taught), seed=0)
        assert learned is not None and np.array_equal(learned[test], LABELS[test])


def test_two_hops_tell_it_where_nobody_lists_the_same_people() -> None:
    """Everybody lists one friend of her own, and only these friends list the stars."""
    own = np.stack([np.arange(PEOPLE), np.arange(N, N + PEOPLE)])
    edges = np.concatenate([own, np.stack([LISTED[0] + N, LISTED[1]])], axis=1)
    labels = np.concatenate([LABELS, np.full(PEOPLE, -1)])
    one, two = _hops(known(edges, labels))
    test = SPLIT.test
    assert np.mean(one[test] == LABELS[test]) <= 0.5 and np.array_equal(two[test], LABELS[test])
    learned = graph_learned(known(edges, labels), seed=0)
    assert learned is not None and np.array_equal(learned[test], LABELS[test])


def test_it_is_left_out_above_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for most, right in ((N, True), (N - 1, False)):
        monkeypatch.setattr(models, "MOST_PEOPLE", most)
        learned = graph_learned(known(), seed=0)
        assert learned is not None and np.array_equal(learned[SPLIT.test], LABELS[SPLIT.test]) is right


def test_validation_labels_that_teach_do_not_choose_what_has_learned_them_by_heart() -> None:
    """Two rings, one for each class: labels spread well, and LINK, fitted to a label, can repeat it."""
    labels, split = np.arange(60) // 30, Split(np.arange(0, 60, 3), np.arange(1, 60, 3), np.arange(2, 60, 3))
    ends = np.arange(60)
    ring = np.stack([ends, ends - ends % 30 + (ends + 1) % 30])
    noisy = labels.copy()
    noisy[split.val[::4]] = 1 - noisy[split.val[::4]]
    given = known(ring, noisy, split, uses_validation_labels=True)
    fair = graph_alone(replace(given, uses_validation_labels=False))
    assert fair is not None
    scores = list(link(given.edges, given.labels, split.train, split.val, given.training_people))
    hits = [[np.sum(each.argmax(axis=1)[split.val] == noisy[split.val]) for each in pair] for pair in scores]
    spread = int(np.sum(fair[split.val] == noisy[split.val]))
    assert max(pair[0] for pair in hits) <= spread < max(pair[1] for pair in hits)  # a fit that saw them is above
    assert np.array_equal(graph_learned(given, seed=0), graph_alone(given))  # type: ignore[arg-type]


def test_validation_labels_teach_it_where_they_teach_the_method() -> None:
    """Three stars with a circle each: nobody of the last circle is in training, and most of training is of class 0."""
    circle = np.arange(36) % 3
    labels, edges = np.minimum(circle, 1), np.stack([np.arange(33), 33 + np.arange(33) % 3])
    labels[33:] = (1, 0, 0)  # stars are of the other class
    train = np.array([0, 3, 6, 9, 12, 15, 1, 4, 33, 34, 35])
    val = np.setdiff1d(np.arange(21), train)
    split = Split(train, val, np.arange(21, 33))
    third = split.test[circle[split.test] == 2]
    for taught in (False, True):
        learned = graph_learned(known(edges, labels, split, uses_validation_labels=taught), seed=0)
        assert learned is not None and (learned[third] == int(taught)).all()


def test_test_labels_are_not_read() -> None:
    """They stand in the evidence, true and exchanged: the classes are equal."""
    answers = []
    for labels in (LABELS, np.where(np.isin(np.arange(N), SPLIT.test), 1 - LABELS, LABELS)):
        evidence = replace(known(), labels=ObservedLabels(labels, 2))
        answers.append((*_hops(evidence), graph_learned(evidence, seed=0)))
    for one, two in zip(*answers, strict=True):
        assert one is not None and two is not None and np.array_equal(one, two)
