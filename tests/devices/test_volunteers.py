"""Two roles: who volunteers gives label and features in clear and answers nothing else; nobody else gives them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.mechanisms import GRR, ClearAdjacency, ClearFeatures, ClearLabel, NeighbourhoodVote, OneBit
from ldpsim.devices.mechanisms.feature_model import FeatureModel
from ldpsim.devices.mechanisms.mechanism import Mechanism
from ldpsim.devices.policy.policy import Policy, policy_for
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report

N, D, CLASSES = 12, 10, 3
VOLUNTEER, ORDINARY = 4, 7


def query(collection: str, **asked: Mechanism) -> Query:
    return Query(collection, (tuple(Ask(attribute, (asked[attribute],)) for attribute in sorted(asked)),))


def vote(epsilon: float = 4.0, collection: str = "c") -> Query:
    model = FeatureModel(np.ones((D, CLASSES), np.int64), np.zeros(CLASSES, np.int64))
    mechanism = NeighbourhoodVote.from_probabilities(np.ones((N, CLASSES)), epsilon, model=model, homophily=0.8)
    return query(collection, adjacency=mechanism)


IN_CLEAR = query("c", features=ClearFeatures(D), label=ClearLabel(CLASSES))
ALONE = [query("other", features=ClearFeatures(D)), query("other", label=ClearLabel(CLASSES))]
LIST = query("other", adjacency=ClearAdjacency(N))
BITS = query("other", features=OneBit.from_epsilon(1.0, d=D))
LABEL = query("other", label=GRR.from_epsilon(1.0, categories=CLASSES))
MIXED = query("other", features=ClearFeatures(D), label=GRR.from_epsilon(1.0, categories=CLASSES))


def policy(people: Population, **given: Any) -> Policy:
    asked = [IN_CLEAR, vote(), BITS, LABEL, MIXED, *ALONE]
    return policy_for(asked, people.facts, volunteers=[VOLUNTEER, 9], **given)


@pytest.fixture
def state(tmp_path: Path, population: Population) -> State:
    return enrol(tmp_path / "s", population, policy(population), seed=3)


def ask(state: State, device: int, question: Query) -> Report | Refusal:
    return state.device(device).answer(question.to_bytes())


def test_a_volunteer_gives_label_and_features_and_answers_nothing_else(state: State) -> None:
    assert isinstance(ask(state, VOLUNTEER, IN_CLEAR), Report)
    for question in (vote(), BITS, LABEL, MIXED, LIST, vote(collection="later")):
        assert ask(state, VOLUNTEER, question) is Refusal.POLICY_REFUSED
    for question in ALONE:  # in another collection
        assert ask(state, VOLUNTEER, question) is Refusal.REPORT_COLLECTED
    parts = [part for row in state.ledger(VOLUNTEER).answers(VOLUNTEER) for part in row.parts]
    assert sorted(part.attribute for part in parts) == ["features", "label"]
    assert all(part.loss.vector == np.inf for part in parts)


def test_what_is_given_in_clear_is_judged_too(state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    """No cap bounds it, but its loss is entered: a mechanism that fails on it is found before the ledger is touched."""

    def fail(*_: object, **__: object) -> float:
        raise UnicodeError("no loss")

    monkeypatch.setattr(ClearLabel, "loss_of", fail)
    asked = replace(IN_CLEAR, collection="first")  # it keeps its losses
    assert ask(state, VOLUNTEER, asked) is Refusal.UNKNOWN_QUERY
    assert not state.ledger(VOLUNTEER).answers(VOLUNTEER)


@pytest.mark.parametrize("answered", [False, True])
def test_nobody_else_gives_anything_in_clear(state: State, answered: bool) -> None:
    if answered:
        assert isinstance(ask(state, ORDINARY, vote()), Report)
    for question in (IN_CLEAR, MIXED, LIST, *ALONE):
        assert ask(state, ORDINARY, question) is Refusal.POLICY_REFUSED
    assert isinstance(ask(state, ORDINARY, vote()), Report) and len(state.ledger(ORDINARY).answers(ORDINARY)) == 1


def test_what_volunteers_give_raises_nobody_s_cap(population: Population) -> None:
    only = policy_for([IN_CLEAR, vote()], population.facts, volunteers=[VOLUNTEER])
    assert {name: cap.vector for name, cap in only.caps.items()} == {"adjacency": 4.0, "features": 4.0}
    assert only.allows(vote(), device=ORDINARY) and not only.allows(vote(4.5), device=ORDINARY)
    assert only.allows(IN_CLEAR, device=VOLUNTEER) and not only.allows(IN_CLEAR, device=ORDINARY)
    # A cap of the whole person is about what is not given in clear.
    capped = policy_for([IN_CLEAR, vote()], population.facts, volunteers=[VOLUNTEER], caps={"user": 2.0})
    assert capped.allows_total(IN_CLEAR.total(), device=VOLUNTEER)
    assert not capped.allows(vote(), device=ORDINARY)


def test_who_knows_the_label_answers_it_or_a_vote_and_never_both(tmp_path: Path, population: Population) -> None:
    """The cap of a person is the largest total of one question, and not the sum of all."""
    labels = query("c", label=GRR.from_epsilon(4.0, categories=CLASSES))
    agreed = policy_for([IN_CLEAR, labels, vote()], population.facts, volunteers=[VOLUNTEER])
    assert agreed.user_cap == 4.0
    asked = enrol(tmp_path / "both", population, agreed, seed=3)
    for device, (first, second) in {ORDINARY: (labels, vote()), 8: (vote(), labels)}.items():
        assert isinstance(ask(asked, device, first), Report)
        for later in (second, replace(second, collection="later")):
            assert ask(asked, device, later) is Refusal.POLICY_REFUSED
        assert len(asked.ledger(device).answers(device)) == 1
    assert ask(asked, VOLUNTEER, labels) is Refusal.POLICY_REFUSED
    assert policy_for([labels, vote()], population.facts).user_cap == np.inf  # they add up, as the losses say
