"""What the curator makes of volunteers' records and of one vote of everybody else.

It covers ``own_questions`` too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from curator.learning.naive_bayes import folds_of
from curator.methods.base import Question
from curator.reports.labels import label_evidence
from curator.reports.reports import Reports
from curator.votes.own_questions import OwnQuestions
from curator.votes.volunteered import NamedClasses, Volunteered, beyond_chance, next_voters, volunteered
from devices.data.population import Population, Record
from devices.data.splits import make_split
from devices.datasets.generated import generate
from devices.facts import PublicKnowledge, Split
from devices.mechanisms import OwnFeaturesVote
from devices.noise import NoiseStream

N, CLASSES, KEPT = 90, 3, 0.7
PEOPLE: Population = generate(N, 20, CLASSES, seed=1)
SPLIT: Split = make_split("random", PEOPLE, 0, volunteers=0.3)
ASKED = OwnQuestions("c", 4.0, 0.8, "both", "full", "both", batches=2)


def public() -> PublicKnowledge:
    return PublicKnowledge(PEOPLE.facts, SPLIT, np.full(N, -1))


def answers(questions: Sequence[Question]) -> dict[int, dict[str, tuple[bytes, ...]]]:
    """Everybody's answers, as a device gives them."""
    found: dict[int, dict[str, tuple[bytes, ...]]] = {}
    for question in questions:
        assert question.devices is not None
        for device in question.devices.tolist():
            for ask in question.query.asks:
                noise = [NoiseStream(bytes([device]) * 32, stream) for stream in range(len(ask.mechanisms))]
                given = tuple(m.respond(PEOPLE.record(device), stream, device=device)
                              for m, stream in zip(ask.mechanisms, noise, strict=True))  # fmt: skip
                found.setdefault(device, {})[ask.attribute] = given
    return found


def asked(batches: int, by: OwnQuestions = ASKED) -> tuple[list[Question], Reports | None]:
    questions: list[Question] = []
    reports = None
    for _ in range(batches):
        made = by.next(public(), reports)
        questions += [replace(each, part=len(questions) + place) for place, each in enumerate(made)]
        reports = Reports.from_bytes(PEOPLE.facts, questions, answers(questions))
    return questions, reports


def test_volunteers_are_asked_first_and_everybody_else_once() -> None:
    questions, reports = asked(3)
    assert ASKED.next(public(), reports) == ()
    first, *votes = questions
    assert np.array_equal(first.devices, SPLIT.labelled) and first.query.in_clear
    others = np.concatenate([vote.devices for vote in votes])
    assert np.array_equal(np.sort(others), np.setdiff1d(np.arange(N), SPLIT.labelled))
    assert all(vote.query.in_clear is False and vote.query.attributes == ("adjacency", "features") for vote in votes)
    planned = ASKED.for_accounts(PEOPLE.facts, SPLIT)
    assert np.array_equal(planned[1].devices, np.sort(others))
    assert planned[1].query.loss("features") == votes[0].query.loss("features") == votes[1].query.loss("adjacency")


def test_the_table_knows_volunteers_and_earlier_answers_alone() -> None:
    _, reports = asked(2)
    assert reports is not None and reports.votes is not None
    known = volunteered(reports, public())
    rows = known.table
    assert np.array_equal(rows[SPLIT.labelled], np.eye(CLASSES)[PEOPLE.labels[SPLIT.labelled]])
    told = reports.votes >= 0
    assert rows[told].sum(axis=1) == pytest.approx(1)
    told[SPLIT.labelled] = True
    assert not rows[~told].any()


def test_the_law_of_an_answer_is_counted_on_volunteers_who_answer_nothing() -> None:
    _, reports = asked(3)
    assert reports is not None and reports.votes is not None
    known = volunteered(reports, public())
    assert known.own is not None
    labels = PEOPLE.labels[SPLIT.labelled]
    said = known.own.log_probability.argmax(axis=1)
    of_said, of_labels = (np.bincount(each, minlength=CLASSES) / len(labels) for each in (said, labels))
    by_chance = sum(of_said[c] * of_labels[c] for c in range(CLASSES))
    right, overall = (
        (np.mean(said == labels) - by_chance) / (1 - by_chance),
        (of_said * len(labels) + 1) / (len(labels) + 3),
    )
    shares = (np.bincount(labels, minlength=CLASSES) + 1) / (len(labels) + CLASSES)
    truth = np.exp(4.0) / (np.exp(4.0) + CLASSES - 1)
    for person in (5, 60, 88):
        if person in SPLIT.labelled:
            continue
        odds = []
        for c in range(CLASSES):
            chosen = [right * (v == c) + (1 - right) * overall[v] for v in range(CLASSES)]
            told = [truth if v == reports.votes[person] else (1 - truth) / (CLASSES - 1) for v in range(CLASSES)]
            odds.append(shares[c] * float(np.dot(chosen, told)))
        assert known.probability[person] == pytest.approx(np.array(odds) / sum(odds), abs=1e-6)
    log_p, exponents = known.posterior(SPLIT.labelled)
    assert np.exp(log_p) == pytest.approx(known.probability) and exponents == {}


def test_without_votes_everybody_has_the_class_shares() -> None:
    labels = np.array([0, 0, 1])
    known = Volunteered(PEOPLE.facts, np.arange(3), labels, None)
    assert known.probability == pytest.approx(np.tile(np.array([3, 2, 1]) / 6, (N, 1)))
    assert not known.answered.any()


@pytest.mark.parametrize(("said", "labels", "expected"), [
    ([0, 1, 2], [0, 1, 2], 1.0), ([0, 0, 0], [0, 1, 2], 0.0), ([1, 2, 0], [0, 1, 2], 0.0), ([0, 0], [0, 0], 0.0),
    ([], [], 0.0),
])  # fmt: skip
def test_agreement_beyond_chance(said: list[int], labels: list[int], expected: float) -> None:
    assert beyond_chance(np.array(said, np.int64), np.array(labels, np.int64), 3) == expected


def test_answers_that_nothing_vouches_for_leave_everybody_at_the_largest_class() -> None:
    """A model that says nothing of volunteers vouches for nothing; answers about the list alone count by homophily."""
    everybody = np.arange(N)
    votes = NamedClasses(everybody, everybody % CLASSES, 0.9)
    labels = np.array([0, 0, 1])
    assert set(Volunteered(PEOPLE.facts, np.arange(3), labels, None, votes).probability.argmax(axis=1)) == {0}
    by_list = Volunteered(PEOPLE.facts, np.arange(3), labels, None, votes, agreement=0.8)
    assert np.array_equal(by_list.probability.argmax(axis=1), votes.reports)


def test_features_alone_and_the_list_alone() -> None:
    """One vote does not depend on the list, the other not on the features; the vote on both depends on both."""
    rng = np.random.default_rng(0)
    for evidence, of_list, of_features in (("both", True, True), ("features", False, True), ("list", True, False)):
        questions, _ = asked(2, OwnQuestions("c", 4.0, 0.8, evidence, "full", "both", batches=1))
        vote = questions[1].query.asks[0].mechanisms[0]
        assert isinstance(vote, OwnFeaturesVote)
        values: dict[str, set[int]] = {"list": set(), "features": set()}
        for _ in range(40):
            near = np.sort(rng.choice(N, 12, replace=False)).astype(np.int32)
            words = np.sort(rng.choice(20, 6, replace=False)).astype(np.int32)
            record = PEOPLE.record(1)
            listed = Record(record.feature_indices, record.feature_values, near, 0)
            told = Record(words, np.ones(6, np.float32), record.neighbours, 0)
            values["list"].add(vote.value_of(listed, device=1))
            values["features"].add(vote.value_of(told, device=1))
        assert (len(values["list"]) > 1, len(values["features"]) > 1) == (of_list, of_features)


def test_people_who_know_their_label_answer_it_in_place_of_a_vote() -> None:
    by = replace(ASKED, labels=True)
    questions, reports = asked(3, by)
    assert reports is not None and by.next(public(), reports) == ()
    in_clear, labels, *votes = questions
    assert np.array_equal(in_clear.devices, SPLIT.labelled) and np.array_equal(labels.devices, SPLIT.ordinary)
    assert labels.query.attributes == ("label",) and labels.query.in_clear is False
    voters = np.sort(np.concatenate([vote.devices for vote in votes]))
    assert np.array_equal(voters, SPLIT.test)
    assert {question.query.total() for question in (labels, *votes)} == {4.0}
    planned = by.for_accounts(PEOPLE.facts, SPLIT)
    assert [p.devices.tolist() for p in planned if p.devices is not None] == [
        SPLIT.labelled.tolist(), SPLIT.ordinary.tolist(), voters.tolist()
    ]  # fmt: skip
    assert [p.query.total() for p in planned[1:]] == [4.0, 4.0]


def test_a_label_under_noise_has_the_law_of_the_response_and_stands_in_the_table_of_votes() -> None:
    _, reports = asked(1, replace(ASKED, labels=True))
    assert reports is not None and reports.labels is not None
    known = volunteered(reports, public())
    labels = PEOPLE.labels[SPLIT.labelled]
    shares = (np.bincount(labels, minlength=CLASSES) + 1) / (len(labels) + CLASSES)
    truth = np.exp(4.0) / (np.exp(4.0) + CLASSES - 1)
    for person in SPLIT.ordinary.tolist():
        told = np.where(np.arange(CLASSES) == reports.labels[person], truth, (1 - truth) / (CLASSES - 1))
        assert known.table[person] == pytest.approx(shares * told / np.sum(shares * told), abs=1e-6)
    assert np.array_equal(known.table[SPLIT.labelled], np.eye(CLASSES)[labels])  # nobody doubts a volunteer's
    assert not known.table[SPLIT.test].any()
    assert np.array_equal(np.flatnonzero(label_evidence(reports, public()).labels >= 0), SPLIT.labelled)


def test_next_voters_are_dealt_to_batches_without_a_look_at_them() -> None:
    volunteers, done = np.array([2, 5]), np.zeros(20, np.bool_)
    seen = []
    while len(people := next_voters(20, volunteers, done, batches=4)):
        seen.append(people)
        done[people] = True
    assert [len(people) for people in seen] == [5, 5, 4, 4]
    assert sorted(np.concatenate(seen)) == sorted(set(range(20)) - {2, 5})
    dealt = folds_of(18, 4, seed=0)
    assert np.array_equal(seen[0], np.setdiff1d(np.arange(20), volunteers)[dealt == 0])


def test_nobody_who_volunteered_answered() -> None:
    _, reports = asked(1)
    assert reports is not None
    silent = Reports(reports.facts, reports.asks, reports.asked, np.zeros(N, np.bool_),
                     features=csr_array((N, 20)), labels=np.full(N, -1))  # fmt: skip
    with pytest.raises(ValueError, match="no volunteer has given a label"):
        volunteered(silent, public())
