"""Roles and odds of the consent sheet: they follow from the policy and the question, and are never understated."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest

from cli.consent.roles import EVERYBODY, OTHER, VOLUNTEER, Role, roles_of, times_of_100
from curator.privacy.guarantee import Claim, local_guarantee
from curator.privacy.level import Level
from devices.mechanisms import GRR
from devices.policy.policy import Cap, Policy
from tests.cli.consent.agreed import FACTS, Agreed, agreed, all_agreed

CASES = all_agreed()


def of(role: str, made: Agreed) -> Role:
    return next(each for each in roles_of(*made) if each.name == role)


def test_the_cases_are_many() -> None:
    """Power: the property tests below see every source of labels, and values in clear."""
    assert len({name.split()[0] for name in CASES}) >= 8
    for word in ("volunteers", "public", "private", "one-end"):
        assert any(word in name for name in CASES)
    clear = {role.name for made in CASES.values() for role in roles_of(*made) if role.clear}
    assert VOLUNTEER in clear


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
    truth, other = mechanism.channel
    best = sum(max(pair) for pair in zip((truth, other, other), (other, truth, other), strict=True)) / 2
    assert best <= times_of_100(Level("bounded", mechanism.loss().vector)) / 100
    # With two labels the bound is attained; a third answer says nothing about them.
    binary = GRR.from_epsilon(epsilon, categories=2)
    assert math.ceil(100 * binary.truth_probability - 1e-9) == times_of_100(Level("bounded", binary.loss().vector))


@pytest.mark.parametrize("name", CASES)
def test_levels_are_those_of_the_guarantee_and_what_is_unprotected_stays_so(name: str) -> None:
    policy, questions = CASES[name]
    volunteers = policy.volunteers is not None
    holds = local_guarantee(policy.facts, questions, claim=Claim("", None), volunteers=volunteers).holds
    role = of(OTHER if volunteers else EVERYBODY, (policy, questions))
    assert role.holds == holds and not role.refused
    for level, held in holds.items():
        assert (times_of_100(role.holds[level]) == 100) or held.status != "unprotected"
    if volunteers:
        giving = of(VOLUNTEER, (policy, questions))
        assert giving.asked == giving.clear == ("features", "label") and giving.not_asked == ("adjacency",)
        for level in ("bit_feature", "vector", "label", "user", "node"):
            assert giving.holds[level].status == "unprotected" and giving.holds[level].value is None
        assert giving.holds["relationship"] == holds["relationship"]
        assert giving.holds["bit_adjacency"].status == "not asked"


@pytest.mark.parametrize("name", CASES)
def test_no_question_that_the_policy_lets_through_tells_more_than_its_own_sheet(name: str) -> None:
    """The sheet of a policy alone bounds every question: its own, and those of all other cases that it allows."""
    policy, _ = CASES[name]
    (*_, alone) = roles_of(policy)
    assert alone.holds == alone.allowed
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


@pytest.mark.parametrize("seed", range(40))
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


@pytest.mark.parametrize("caps", [{"vector": 1.0}, {"user": 1.5}])
def test_a_policy_that_refuses_the_question_is_known(caps: dict[str, float]) -> None:
    assert of(OTHER, agreed(caps=caps)).refused and not of(VOLUNTEER, agreed(caps=caps)).refused
    assert not of(OTHER, agreed(caps={"vector": 2.5, "user": 2.5})).refused


def test_a_policy_may_let_through_more_than_the_question() -> None:
    """A vote is one answer about list and features; two questions could ask for them one by one."""
    policy, questions = agreed(epsilon=1.0)
    role = of(OTHER, (replace(policy, user_cap=math.inf), questions))
    assert role.holds["user"].value == 1.0 and role.allowed["user"].value == 2.0
    assert of(OTHER, (replace(policy, user_cap=1.0), questions)).allowed["user"].value == 1.0


def test_a_plan_has_steps_and_a_training_has_no_sheet() -> None:
    assert of(EVERYBODY, agreed("fp-ldpgen", labels="public")).stages == 2
    assert of(EVERYBODY, agreed("hogs", labels="public")).stages == 1
    policy, _ = agreed("hogs", labels="public")
    with pytest.raises(ValueError, match="a federated training asks many times"):
        roles_of(replace(policy, mode="federated"))
