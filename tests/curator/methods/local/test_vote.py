"""Vote: its questions, what they tell of labels, and what is concluded from the reports.

It covers ``ldpsim.curator.votes.knowledge`` too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.features import feature_posterior
from ldpsim.curator.features.feature_posterior import FeaturePosterior
from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.linear.array_digest import LastResults
from ldpsim.curator.methods import Budget, Question, Vote
from ldpsim.curator.reports.reports import Reports, joined_reports
from ldpsim.curator.votes import knowledge as module
from ldpsim.curator.votes.knowledge import VOTE, knowledge
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRR, NeighbourhoodVote

N, CLASSES = 240, 4
FACTS = PublicFacts(N, 1, CLASSES)
SPLIT = Split(np.arange(100), np.arange(100, 160), np.arange(160, N))
BUDGET = Budget(epsilon=4.0, public_features=True)
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, CLASSES, N)
# what features say: right in half of the cases
GUESS = np.where(RNG.random(N) < 0.5, TRUTH, RNG.integers(0, CLASSES, N))
EVIDENCE = np.log(np.where(np.eye(CLASSES)[GUESS] > 0, 0.6, 0.4 / (CLASSES - 1)))


def _public(labels: IntArray | None = None) -> PublicKnowledge:
    known = np.full(N, -1)
    known[SPLIT.labelled] = (TRUTH if labels is None else labels)[SPLIT.labelled]
    return PublicKnowledge(FACTS, SPLIT, known, np.ones((N, 1), np.float32))


def _first(method: Vote, public: PublicKnowledge, budget: Budget = BUDGET) -> tuple[Question, ...]:
    return next(method.rounds(public, budget, method.questions(FACTS, SPLIT, budget, "c")))


@pytest.fixture(autouse=True)
def constant_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    """What features say depends on no label here; that a label is not in its own row has tests of its own."""

    def evidence(features: Any, *_: Any, **__: Any) -> FeaturePosterior:
        known = EVIDENCE if features is not None else np.full((N, CLASSES), -np.log(CLASSES))
        return FeaturePosterior(known, {}, {})

    monkeypatch.setattr(feature_posterior, "feature_posterior", evidence)
    monkeypatch.setattr(module, "_FEATURES", LastResults())


def _answer(questions: tuple[Question, ...], rate: float, seed: int, shift: int = 0) -> list[Reports]:
    """Reports of people whose vote is their class (or another one, ``shift`` further) with this rate."""
    rng, found = np.random.default_rng(seed), []
    for question in questions:
        (ask,) = question.query.asks
        (mechanism,) = ask.mechanisms
        people = np.arange(N) if question.devices is None else question.devices
        who = np.zeros(N, np.bool_)
        who[people] = True
        reports = np.full(N, -1)
        for person in people.tolist():
            if isinstance(mechanism, GRR):
                true = rng.random() < mechanism.truth_probability
                reports[person] = TRUTH[person] if true else (TRUTH[person] + rng.integers(1, CLASSES)) % CLASSES
                continue
            candidates = mechanism.ranked[person, : mechanism.candidates].tolist()
            voted = (TRUTH[person] + shift) % CLASSES
            hit = voted in candidates and rng.random() < rate
            reports[person] = candidates.index(voted) if hit else rng.integers(0, len(candidates))
        field: dict[str, Any] = {mechanism.field: reports}
        found.append(Reports(FACTS, {ask.attribute: ask}, {ask.attribute: who}, who, field, plan=question.query.plan))
    return found


def _collect(method: Vote, budget: Budget = BUDGET, *, rate: float = 0.8, seed: int = 1, shift: int = 0,
             public: PublicKnowledge | None = None) -> Reports:  # fmt: skip
    parts: list[Reports] = []
    rounds = method.rounds(public or _public(), budget, method.questions(FACTS, SPLIT, budget, "c"))
    with suppress(StopIteration):
        made = next(rounds)
        while True:
            parts += _answer(made, rate, seed + len(parts), shift)
            made = rounds.send(joined_reports(parts))
    return joined_reports(parts)


def _accuracy(method: Vote, reports: Reports, public: PublicKnowledge | None = None) -> tuple[float, dict[str, float]]:
    graph = method.reconstruct(reports, public or _public())
    trained = method.train(graph, settings=TrainingSettings(), classes=CLASSES, seed=0, device="cpu")
    exponents = {name: float(value) for name, value in trained.model.state_dict().items()}
    return float(np.mean(trained.predictions[SPLIT.test] == TRUTH[SPLIT.test])), exponents


def _tables(questions: tuple[Question, ...]) -> list[tuple[IntArray, NeighbourhoodVote]]:
    found = []
    for question in questions:
        (mechanism,) = question.query.asks[0].mechanisms
        assert isinstance(mechanism, NeighbourhoodVote) and question.devices is not None
        found.append((question.devices, mechanism))
    return found


@pytest.mark.parametrize("features", [True, False])
def test_the_table_tells_all_labels_but_those_of_the_people_it_goes_to(features: bool) -> None:
    public = _public() if features else replace(_public(), features=None)
    budget = replace(BUDGET, public_features=features)
    tables = _tables(_first(Vote(batches=1), public, budget))
    assert len(tables) == 11
    assert sorted(np.concatenate([people for people, _ in tables])) == list(range(N))
    for people, mechanism in tables:
        told = np.setdiff1d(SPLIT.labelled, people)
        table = mechanism.score_table
        own = table.own[table.codes]
        assert np.array_equal(own[told].argmax(axis=1), TRUTH[told])
        assert (np.ptp(own[told], axis=1) > 15 * 2**8).all()  # one-hot
        others = np.setdiff1d(np.arange(N), told)
        assert np.ptp(own[others]) < 3 * 2**8
        assert table.rows[table.codes[others]].any() == features
        assert mechanism.unseen == (not features)


@pytest.mark.parametrize("person", [17, 117])
@pytest.mark.parametrize("batches", [1, 3])
def test_nobodys_own_label_reaches_its_own_row(batches: int, person: int) -> None:
    """The question to a person is the same, but for the rows of others, whatever the person's label is."""
    method = Vote(batches=batches)
    other = TRUTH.copy()
    other[person] = (TRUTH[person] + 1) % CLASSES
    rows = [
        mechanism.table
        for labels in (TRUTH, other)
        for people, mechanism in _tables(_first(method, _public(labels)))
        if person in people
    ]
    assert len(rows) in (0, 2) and len(set(rows)) <= 1
    reports = _collect(method)
    components = [knowledge(reports, _public(labels)).components[VOTE][person] for labels in (TRUTH, other)]
    assert np.array_equal(components[0], components[1])


def test_private_labels_come_first_and_are_learned_from() -> None:
    budget = replace(BUDGET, private_labels=True, eps_labels=3.0)
    public = replace(_public(), labels=np.full(N, -1))
    (first,) = _first(Vote(), public, budget)
    assert first.query.attributes == ("label",) and np.array_equal(first.devices, SPLIT.labelled)  # type: ignore[arg-type]
    reports = _collect(Vote(), budget, public=public)
    known = knowledge(reports, public)
    assert not known.labels.in_clear and known.label_rows[SPLIT.labelled].sum(axis=1) == pytest.approx(1)
    assert not known.label_rows[SPLIT.test].any()
    alone = float(np.mean(GUESS[SPLIT.test] == TRUTH[SPLIT.test]))
    assert _accuracy(Vote(), reports, public)[0] > alone + 0.05


def test_batches_are_asked_where_little_is_known() -> None:
    few = replace(SPLIT, train=SPLIT.train[:15])
    private = replace(BUDGET, public_features=False)
    method = Vote()
    assert method.batches_of(SPLIT, FACTS, BUDGET) == 1
    assert method.batches_of(few, FACTS, BUDGET) == method.batches_of(SPLIT, FACTS, private) == 3
    assert Vote(batches=2).batches_of(few, FACTS, private) == 2
    assert len(method.questions(FACTS, SPLIT, private, "c")) == 3


@pytest.mark.parametrize("choose", [lambda: Vote(), lambda: Vote(batches=3), lambda: Vote(candidates=3)])
def test_the_planned_questions_lose_what_the_asked_ones_do(choose: Callable[[], Vote]) -> None:
    method = choose()
    planned = method.questions(FACTS, SPLIT, BUDGET, "c")
    asked = _collect(method).questions()
    ours, theirs = (method.guarantee(FACTS, questions, BUDGET).holds for questions in (planned, asked))
    for level in ("bit_adjacency", "relationship", "node", "user"):
        assert ours[level] == theirs[level]
    most = {name: max(q.query.loss(name).vector for q in planned) for name in ("adjacency",)}
    assert all(question.query.loss("adjacency").vector <= most["adjacency"] for question in asked)
    assert ours["relationship"].value == pytest.approx(8.0)


@pytest.mark.parametrize("few", [1, 2])
def test_everybody_is_asked_once_where_fewer_have_no_label_than_there_are_batches(few: int) -> None:
    """A batch of labelled people alone would never end, so there are no more batches than people without a label."""
    split = Split(np.arange(100), np.arange(100, N - few), np.arange(N - few, N))
    known = np.where(np.arange(N) < N - few, TRUTH, -1)
    public = PublicKnowledge(FACTS, split, known, np.ones((N, 1), np.float32))
    method = Vote(batches=3)
    assert method.batches_of(split, FACTS, BUDGET) == few
    asked = [person for part in _collect(method, public=public).parts for person in np.flatnonzero(part.answered)]
    assert sorted(asked) == list(range(N))
