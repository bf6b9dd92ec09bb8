from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from ldpsim.curator.methods import find
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR, Degree, MultiBit, RandomizedResponse
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.estimate.asked import PaperQuestion, questions_on_paper
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.estimate.traffic import miniature
from ldpsim.strategies.planning.information import most_gained, nats

PEOPLE = miniature(GraphFacts(300), 300, seed=0)


def asked(method: str, epsilon: float, n: int = 50_000):  # type: ignore[no-untyped-def]
    kind = find(method)
    facts = PublicFacts(n=n, d=PEOPLE.facts.d, classes=PEOPLE.facts.classes)
    return questions_on_paper(kind(), facts, Budget(epsilon=epsilon, public_features=kind.spec.public_features))


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


def test_the_bound_by_hand() -> None:
    """Sums over mechanisms and questions: the mean of f(min(entries x loss of one, loss of all)), times the share."""
    facts = PublicFacts(n=1000, d=PEOPLE.facts.d, classes=PEOPLE.facts.classes)

    def question(share: float, attribute: str, *made) -> PaperQuestion:  # type: ignore[no-untyped-def]
        return PaperQuestion(Query("c", ((Ask(attribute, made),),)), share)

    def f(loss: np.ndarray) -> float:
        return float(np.minimum(loss, loss**2 / 2).mean())

    row, count = RandomizedResponse.from_epsilon(0.5, n=facts.n), Degree.from_epsilon(0.25, n=facts.n)
    label, words = GRR.from_epsilon(1.5, categories=facts.classes), MultiBit.from_epsilon(3.0, d=facts.d, m=2)
    degrees, features = PEOPLE.degrees, np.diff(PEOPLE.feature_indptr)
    assert features.max() > 2 and degrees.max() > 4
    parts = {
        (0.5, "adjacency", row, count): f(0.5 * degrees) + f(0.25 * degrees),
        (1.0, "features", words): f(np.minimum(1.5 * features, 3.0)),
        (0.25, "label", label): 1.5**2 / 2,
    }
    for (share, *what), told in parts.items():
        assert nats([question(share, *what)], PEOPLE) == pytest.approx(share * told, rel=1e-9)
    every = [question(*given) for given in parts]
    total = sum(share * told for (share, *_), told in parts.items())
    assert nats(every, PEOPLE) == pytest.approx(total, rel=1e-9) and nats([], PEOPLE) == 0.0
    assert most_gained(every[2:], PEOPLE) == pytest.approx(math.sqrt(0.25 * 1.125 / 2))
    assert most_gained([question(1.0, "label", GRR.from_epsilon(9.0, categories=3))], PEOPLE) == 1.0
