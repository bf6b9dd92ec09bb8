from __future__ import annotations

import pytest

from ldpsim.curator.methods import find
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.facts import PublicFacts
from ldpsim.strategies.estimate.asked import (
    largest_question,
    ones_reported,
    questions_on_paper,
    random_split,
)
from ldpsim.strategies.setup.options import RunOptions

LOCAL = ("hogs", "rgnn", "lpgnn", "solitude", "blink", "symrr", "ldpgen", "vote")


def on_paper(method: str, n: int):  # type: ignore[no-untyped-def]
    kind = find(method)
    facts = PublicFacts(n=n, d=40, classes=4)
    return questions_on_paper(kind(), facts, Budget(public_features=kind.spec.public_features), RunOptions())


@pytest.mark.parametrize("method", LOCAL)
def test_questions_on_paper_are_the_ones_that_are_asked(method: str) -> None:
    n, kind = 900, find(method)
    facts = PublicFacts(n=n, d=40, classes=4)
    budget = Budget(public_features=kind.spec.public_features)
    asked = kind().questions(facts, random_split(n), budget, "x")
    paper = questions_on_paper(kind(), facts, budget)
    assert len(paper) == len(asked)
    for made, question in zip(paper, asked, strict=True):
        share = 1.0 if question.devices is None else len(question.devices) / n
        assert made.share == pytest.approx(share, abs=0.01)
        if not made.rows:
            assert [[ask.to_dict() for ask in stage] for stage in made.query.plan] == [
                [ask.to_dict() for ask in stage] for stage in question.query.plan
            ]
        size = len(made.query.to_bytes()) + made.rows * (n - made.few)
        assert size == pytest.approx(len(question.query.to_bytes()), rel=0.05, abs=40)


def test_false_ones_grow_with_the_square_of_the_people() -> None:
    few, many = (ones_reported(on_paper("rr", n), n, 5.0) for n in (10**5, 10**6))
    assert few == pytest.approx(10**10 * 3.3535e-4 + 5e5, rel=1e-3)
    assert 60 < many / few < 100
    assert ones_reported(on_paper("symrr", 10**6), 10**6, 5.0) == pytest.approx(many / 2, rel=1e-6)


def test_a_table_with_a_row_a_person_makes_the_question_longer() -> None:
    sizes = [largest_question(on_paper("vote", n), n) for n in (2000, 4000, 8000)]
    assert sizes[2] - sizes[1] == pytest.approx(2 * (sizes[1] - sizes[0]), rel=0.02)


def test_a_later_stage_tells_everybody_the_group_of_everybody() -> None:
    """The grouping of ldpgen's second stage, as a run sends it, is part of the largest question."""
    n = 1000
    (question,) = on_paper("ldpgen", n)
    groups = question.query.plan[1][0].mechanisms[0].groups  # type: ignore[attr-defined]
    sent = question.query.at_stage(1, tuple(i % groups for i in range(n)))
    assert largest_question((question,), n) == pytest.approx(len(sent.to_bytes()), rel=0.01)
    assert largest_question(on_paper("ldpgen", 3 * 10**6), 3 * 10**6) > 6e6
