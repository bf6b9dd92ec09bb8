"""Votes under attack: repeated questions, hostile tables, and answers that are lies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ldpsim.curator.reports.question import Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import NeighbourhoodVote
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.attacks.adversaries.curator import Target
from ldpsim.strategies.results.lifetime import read_ledgers
from tests.strategies.attacks.adversaries.conftest import loss_of
from tests.strategies.attacks.adversaries.other_attacks import ATTACKS

EPS = 4.0


def vote(facts: PublicFacts, epsilon: float = EPS) -> NeighbourhoodVote:
    q = np.random.default_rng(1).dirichlet(np.ones(facts.classes), facts.n)
    return NeighbourhoodVote.from_probabilities(q, epsilon, homophily=0.8, candidates=facts.classes)


def question(mechanism: NeighbourhoodVote, collection: str = "first") -> Query:
    return Query(collection, ((Ask("adjacency", (mechanism,)),),))


@pytest.mark.parametrize("name", ["growing-budgets", "other-mechanisms", "sybils", "hostile-tables", "changed-data"])
def test_a_vote_is_answered_once_whoever_asks(tmp_path: Path, people: Population, name: str) -> None:
    query = question(vote(people.facts))
    policy = policy_for([query], people.facts, caps={"user": EPS})
    enrol(tmp_path / "s", people, policy, seed=5).close()
    target = Target.of(tmp_path / "s", query)
    outcome = ATTACKS[name].attack(target, asks=25)
    assert outcome.distinct_releases == 1 and outcome.unasked == 0
    assert max(loss_of(outcome, device, "adjacency") for device in range(len(people))) <= EPS
    known = read_ledgers(State(tmp_path / "s"), None)[0].figures()
    assert known["user"]["max"] <= EPS and known["complete"]


def test_a_liar_sends_one_of_w_values_or_nothing_that_counts() -> None:
    """Whatever bytes a device sends, it moves one count by one; a share of m liars moves any share by m."""
    facts, n = PublicFacts(40, 1, 3), 40
    asked = Question(question(vote(facts)))
    honest = {device: {"adjacency": (bytes([device % 3]),)} for device in range(n)}
    before = Reports.from_bytes(facts, [asked], honest).arrays["votes"]
    counts = np.bincount(before, minlength=3)
    for liars in (1, 7):
        for value in range(3):
            lying = honest | {device: {"adjacency": (bytes([value]),)} for device in range(liars)}
            after = Reports.from_bytes(facts, [asked], lying).arrays["votes"]
            assert np.abs(np.bincount(after, minlength=3) - counts).max() <= liars
    for data in [bytes([value]) for value in range(3, 256)] + [b"", b"\x00\x00", b"\x01" * 9]:
        with pytest.raises(ValueError, match="device 5"):
            Reports.from_bytes(facts, [asked], honest | {5: {"adjacency": (data,)}})
