from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from curator.methods import find
from curator.methods.base import Budget
from devices.facts import PublicFacts
from devices.mechanisms import RandomizedResponse
from strategies.estimate.asked import questions_on_paper
from strategies.estimate.graph_facts import GraphFacts
from strategies.estimate.traffic import miniature
from strategies.planning.information import most_gained, nats

PEOPLE = miniature(GraphFacts(300), 300, seed=0)


def asked(method: str, epsilon: float, n: int = 50_000):  # type: ignore[no-untyped-def]
    kind = find(method)
    facts = PublicFacts(n=n, d=PEOPLE.facts.d, classes=PEOPLE.facts.classes)
    return questions_on_paper(kind(), facts, Budget(epsilon=epsilon, public_features=kind.public_features))


def test_links_at_a_small_loss_a_bit_say_next_to_nothing_and_a_vote_says_something() -> None:
    assert most_gained(asked("rr", 4 / 50_000), PEOPLE) < 0.001
    assert most_gained(asked("hogs", 4 / 50_000), PEOPLE) < 0.001
    assert most_gained(asked("rr", 4.0), PEOPLE) == 1.0
    assert most_gained(asked("vote", 4.0), PEOPLE) > 0.5
    assert 0.01 < most_gained(asked("vote", 0.1), PEOPLE) < 0.1


def test_the_bound_is_above_the_information_that_a_row_carries() -> None:
    """A row of three bits, any of which may be 1: its mutual information by enumeration."""
    for epsilon in (0.1, 0.5, 1.5):
        row = RandomizedResponse.from_epsilon(epsilon, n=4)
        values = [np.array(bits, bool) for bits in product((False, True), repeat=3)]
        prior = [math.prod(0.2 if bit else 0.8 for bit in value) for value in values]
        given = [[math.exp(row.log_probability(report, value)) for report in values] for value in values]
        mixed = [sum(p * line[place] for p, line in zip(prior, given, strict=True)) for place in range(8)]
        carried = sum(
            p * line[place] * math.log(line[place] / mixed[place])
            for p, line in zip(prior, given, strict=True)
            for place in range(8)
        )
        lost = [epsilon * int(value.sum()) for value in values]
        bound = sum(p * min(e, e * e / 2) for p, e in zip(prior, lost, strict=True))
        assert carried <= bound


def test_answers_in_clear_are_worth_any_accuracy() -> None:
    found = nats(asked("rr", 30.0, n=1000), PEOPLE)
    assert found == pytest.approx(30.0 * PEOPLE.degrees.mean(), rel=0.01)
