"""The consent sheet: roles and odds follow from policy and question, are never understated, and stand in its text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

import numpy as np
import pytest

from ldpsim.cli.documents import page
from ldpsim.cli.sheet import VOLUNTEER, Role, roles_of, sheet_of
from ldpsim.curator.methods import BUILT_IN, Question, find
from ldpsim.curator.privacy.guarantee import Claim, local_guarantee
from ldpsim.curator.privacy.level import Level
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR
from ldpsim.devices.policy.policy import Cap, Policy
from ldpsim.strategies.flower_app.deployed import PublicFile, agreed_policy, questions_of
from ldpsim.strategies.results.in_words import of_100

FACTS = PublicFacts(20, 6, 3)
Agreed = tuple[Policy, tuple[Question, ...]]


def agreed(
    method: str = "vote",
    epsilon: float = 2.0,
    *,
    people: int = 3,
    labels: str = "volunteers",
    config: dict[str, Any] | None = None,
    **policy: Any,
) -> Agreed:
    """Return a policy and its questions; labels are of ``volunteers``, ``public`` or ``private``."""
    volunteers = np.arange(people) if labels == "volunteers" else None
    known = np.where(np.arange(FACTS.n) % 2 if labels == "public" else True, -1, 1)
    public = PublicFile(FACTS, known, volunteers)
    given = {"method": method, "epsilon": epsilon, **({"settings": "batches=2"} if method == "vote" else {}),
             **({"eps-labels": 1.0} if labels == "private" else {}), **(config or {})}  # fmt: skip
    return agreed_policy(given, public, **policy), questions_of(given, public)


@cache
def all_agreed() -> dict[str, Agreed]:
    """Return policy and questions by name, for every method and source of labels that a deployment can ask."""
    return dict(_all_agreed())


def _all_agreed() -> Iterator[tuple[str, Agreed]]:
    for method in BUILT_IN:
        if find(method).spec.reads:
            continue
        for labels in ("volunteers", "public", "private"):
            for epsilon in (0.5, 4.0):
                for config in ({}, {"reporting": "one-end"}):
                    try:
                        yield (
                            f"{method} {labels} {epsilon}{' one-end' if config else ''}",
                            agreed(method, epsilon, labels=labels, config=config),
                        )
                    except ValueError:  # such a deployment is refused
                        continue


CASES = all_agreed()


def times_of_100(level: Level) -> int:
    return of_100(level.to_dict())


def of(role: str, made: Agreed) -> Role:
    return next(each for each in roles_of(made[0]) if each.name == role)


def chance(epsilon: float, delta: float = 0.0) -> Decimal:
    with localcontext() as context:
        context.prec = 60
        grown = Decimal(epsilon).exp()
        return min((grown + Decimal(delta)) / (1 + grown), Decimal(1))


@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-3, 0.2])
def test_odds_are_rounded_up_and_by_less_than_one(delta: float) -> None:
    edges = [math.log(times / (100 - times)) for times in range(50, 100)]
    for epsilon in (*edges, *np.linspace(0, 12, 500), *np.random.default_rng(1).exponential(2, 500), 700.0, 1e6):
        exact, times = chance(float(epsilon), delta), times_of_100(Level("bounded", float(epsilon), delta))
        assert exact - Decimal("1e-15") <= Decimal(times) / 100 < exact + Decimal("0.010000001")


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_odds_are_the_success_of_the_best_guess(epsilon: float) -> None:
    """The answers of randomised response are enumerated: no rule of guessing between two labels is right more often."""
    mechanism = GRR.from_epsilon(epsilon, categories=3)
    truth, other = mechanism.truth_probability, mechanism.other_probability
    best = sum(max(pair) for pair in zip((truth, other, other), (other, truth, other), strict=True)) / 2
    assert best <= times_of_100(Level("bounded", mechanism.loss().vector)) / 100
    # With two labels the bound is attained; a third answer says nothing about them.
    binary = GRR.from_epsilon(epsilon, categories=2)
    assert math.ceil(100 * binary.truth_probability - 1e-9) == times_of_100(Level("bounded", binary.loss().vector))


@pytest.mark.parametrize("name", CASES)
def test_no_question_that_the_policy_lets_through_tells_more_than_its_own_sheet(name: str) -> None:
    """The sheet of a policy alone bounds every question: its own, and those of all other cases that it allows."""
    policy, _ = CASES[name]
    (*_, alone) = roles_of(policy)
    if policy.volunteers is not None:
        giving = of(VOLUNTEER, CASES[name])
        assert giving.asked == giving.clear == ("features", "label")
        for level in ("bit_feature", "vector", "label", "user", "node"):
            assert giving.holds[level].status == "unprotected" and giving.holds[level].value is None
        assert giving.holds["relationship"] == alone.holds["relationship"]
        assert giving.holds["bit_adjacency"].status == "not asked"
    for asked_policy, questions in CASES.values():
        if (asked_policy.volunteers is None) != (policy.volunteers is None):
            continue
        private = [question for question in questions if not question.query.in_clear]
        if not all(policy.allows(question.query, device=FACTS.n - 1) for question in private):
            continue
        holds = local_guarantee(policy.facts, private, claim=Claim("", None), volunteers=True).holds
        for level, held in holds.items():
            if held.status == "bounded":
                assert times_of_100(held) <= times_of_100(alone.holds[level]), level
            else:
                assert held.status == "not asked" or alone.holds[level].status == "unprotected", level


@pytest.mark.parametrize("seed", range(12))
def test_caps_without_a_limit_are_never_a_protection(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def loss() -> float:
        return math.inf if rng.random() < 0.3 else float(rng.exponential(3))

    caps = {name: Cap(loss(), loss(), loss(), float(rng.choice([0.0, 1e-6])))
            for name in ("adjacency", "features", "label") if rng.random() < 0.7}  # fmt: skip
    policy = Policy("report", caps, frozenset({"grr"}), FACTS, reporting=["both", "one-end"][seed % 2],  # type: ignore[arg-type]
                    user_cap=loss())  # fmt: skip
    (role,) = roles_of(policy)
    most = {name: min(cap.vector, cap.user, policy.user_cap) for name, cap in caps.items()}
    for level, attribute in (("vector", "features"), ("label", "label")):
        held = role.holds[level]
        assert (held.status == "not asked") == (attribute not in caps)
        assert (held.status == "unprotected") == math.isinf(most.get(attribute, 0.0))
        assert held.value is None or most[attribute] <= held.value <= most[attribute] + 1e-8
    if caps:
        total = min(sum(most.values()), policy.user_cap)
        assert (role.holds["user"].status == "unprotected") == math.isinf(total)
        assert role.holds["node"].value is None or role.holds["node"].value >= total
    if "adjacency" in caps:
        entry = min(caps["adjacency"].bit, most["adjacency"])
        ends = 2 if policy.reporting == "both" else 1
        assert (role.holds["relationship"].status == "unprotected") == math.isinf(entry)
        assert math.isinf(entry) or role.holds["relationship"].value == pytest.approx(ends * entry, abs=1e-8)
    # a record that is handed over raw is in clear, whatever the caps are
    (owner,) = roles_of(replace(policy, mode="owner"))
    assert {held.status for name, held in owner.holds.items() if name != "central_node"} == {"unprotected"}
    assert owner.clear == owner.asked


def test_a_training_has_no_sheet() -> None:
    policy, _ = agreed("hogs", labels="public")
    with pytest.raises(ValueError, match="a federated training asks many times"):
        roles_of(replace(policy, mode="federated"))


TERMS = {
    "bit_adjacency": "One entry of your list",
    "bit_feature": "One of your features",
    "relationship": "One connection",
    "vector": "All your features together",
    "label": "Your label alone",
    "user": "All that your device answers",
    "node": "All that your device and others answer about you",
}


def told(made: Agreed, people: tuple[int, ...] | None = None) -> dict[str, str]:
    """Everything that each role is told, on one line."""
    parts = sheet_of(made[0], people).split("\n## ")[1:]
    return {part.partition(" (")[0]: part.replace("\n", " ") for part in parts}


@pytest.mark.parametrize("name", CASES)
def test_the_text_has_the_odds_of_each_level_and_says_what_is_unprotected(name: str) -> None:
    policy, _ = CASES[name]
    made = sheet_of(policy)
    for part, role in zip(made.split("\n## ")[1:], roles_of(policy), strict=True):
        lines = [line for line in part.splitlines() if line.startswith("- **")]
        asked_levels = [level for level, held in role.holds.items() if held.status != "not asked"]
        for level, line in zip(asked_levels, lines, strict=True):
            held, times = role.holds[level], times_of_100(role.holds[level])
            assert line.startswith(f"- **{times} of 100**: ") and f"{TERMS[level]}" in line
            assert ("NOT PROTECTED" in line) == (held.status == "unprotected")
            assert ("No meaningful protection" in line) == (held.status == "bounded" and times > 99)
            assert ("epsilon at most: infinite." in line) == (held.value is None)
    shown = re.sub(r"<[^>]*>", "", page(made)).replace("&quot;", '"')
    assert re.findall(r"\d+ of 100", shown) == re.findall(r"\d+ of 100", made)


@pytest.mark.parametrize(("epsilon", "own", "both_ends"), [(1.0, 74, 89), (2.0, 89, 99), (4.0, 99, 100)])
def test_everybody_else_answers_with_these_odds(epsilon: float, own: int, both_ends: int) -> None:
    """e / (1 + e) = 0.7311, e^2 / (1 + e^2) = 0.8808, e^4 / (1 + e^4) = 0.98201, e^8 / (1 + e^8) = 0.99966."""
    text = told(agreed(epsilon=epsilon))["Everybody else"]
    for term in ("One entry of your list", "All your features together", "All that your device answers"):
        assert f"**{own} of 100**: {term}." in text
    assert re.search(rf"\*\*{both_ends} of 100\*\*: (\*\*No meaningful protection\.\*\* )?One connection, ", text)
    assert "None of your values leaves your device as it is." in text and "Not asked: your label." in text
    assert "Chance changes the answer before it leaves your device: your list of neighbours, all your features." in text


def test_who_gets_the_answer_and_what_a_second_question_gets() -> None:
    policy, questions = agreed()
    for text in told((policy, questions)).values():
        assert "Any curator who asks first: no key is pinned" in text
        assert "If the same collection repeats its question" in text
    pinned = replace(policy, collector="0a" * 32, on_requery="replay")
    for text in told((pinned, questions)).values():
        assert f"Only the curator with this public key: {'0a' * 32}" in text and "Any curator" not in text
        assert "Whoever repeats the question gets the same answer" in text and "the same collection" not in text
