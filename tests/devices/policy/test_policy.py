"""What is inside a policy, level by level and fact by fact, and its file."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR, Degree, Loss, Mechanism, OneBit, RandomizedResponse
from ldpsim.devices.policy.policy import Cap, Policy, policy_for, policy_for_training, read_policy, write_policy
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.training_task import GaussianUpdate, Task
from tests.devices.conftest import ask_for, people, policy_of

FACTS = PublicFacts(9, 4, 3)
RR = RandomizedResponse.from_epsilon(2.0, n=9)
ONE_END = replace(RR, reporting="one-end")
BITS = OneBit.from_epsilon(1.0, d=4)
LABEL = GRR.from_epsilon(1.0, categories=3)
ALL = Query("c", ((Ask("adjacency", (RR,)), Ask("features", (BITS,)), Ask("label", (LABEL,))),))
OWN = policy_for([ALL], FACTS)


def one(attribute: str, *mechanisms: Mechanism) -> Query:
    return Query("c", ((Ask(attribute, mechanisms),),))


@pytest.mark.parametrize(
    "asked",
    [
        one("adjacency", RandomizedResponse.from_epsilon(2.000001, n=9)),  # bit
        one("adjacency", RR, RR),  # losses add
        Query("c", ((Ask("adjacency", (RR,)),), (Ask("adjacency", (RR,)),))),  # over the stages too
        one("adjacency", RandomizedResponse.from_epsilon(2.0, n=10)),  # facts: n
        one("adjacency", RandomizedResponse.from_epsilon(2.0, n=8)),
        one("features", OneBit.from_epsilon(1.0, d=3)),  # facts: d
        one("features", OneBit.from_epsilon(1.0, d=4, low=-1.0)),  # facts: range
        one("features", OneBit.from_epsilon(1.0, d=4, high=2.0)),
        one("label", GRR.from_epsilon(1.0, categories=4)),  # facts: classes
        one("label", GRR.from_epsilon(1.1, categories=3)),
    ],
)
def test_more_loss_or_other_facts_are_outside(asked: Query) -> None:
    assert not OWN.allows(asked, device=3)
    joined = Query("c", (tuple(sorted((*asked.plan[0],), key=lambda a: a.attribute)), *asked.plan[1:]))
    assert not OWN.allows(joined, device=3)


def test_a_later_stage_outside_puts_the_first_outside() -> None:
    asked = Query("c", ((Ask("adjacency", (RR,)),), (Ask("label", (GRR.from_epsilon(5.0, categories=3),)),)))
    assert not OWN.allows(asked, device=3)


def test_an_attribute_or_mechanism_that_was_not_agreed_to() -> None:
    narrow = policy_for([one("features", BITS)], FACTS)
    assert narrow.allows(one("features", BITS), device=0)
    assert not narrow.allows(one("label", LABEL), device=0) and not narrow.allows(ALL, device=0)
    assert not replace(OWN, mechanisms=frozenset({"grr"})).allows(one("features", BITS), device=0)


@pytest.mark.parametrize("level", ["bit", "vector", "user"])
def test_every_level_binds(level: str) -> None:
    loss = {"bit": 2.0, "vector": 16.0, "user": 16.0}[level]
    at = replace(OWN, caps={"adjacency": replace(Cap(99.0, 99.0, 99.0), **{level: loss})})
    below = replace(OWN, caps={"adjacency": replace(Cap(99.0, 99.0, 99.0), **{level: loss - 1e-9})})
    assert at.allows(one("adjacency", RR), device=1)
    assert not below.allows(one("adjacency", RR), device=1)


def test_a_one_ended_device_reports_nothing_about_later_ones() -> None:
    policy = policy_for([one("adjacency", ONE_END)], FACTS, reporting="one-end")
    policy = replace(policy, mechanisms=policy.mechanisms | {"degree"})
    degree = Degree.from_epsilon(0.1, n=9)  # it reads the whole list
    assert policy.allows(one("adjacency", ONE_END), device=5)
    assert not policy.allows(one("adjacency", RR), device=5)
    assert not policy.allows(one("adjacency", RR), device=0)
    assert not policy.allows(one("adjacency", ONE_END, degree), device=5)
    assert replace(policy, reporting="both").allows(one("adjacency", degree), device=5)


def test_a_policy_is_saved_and_read_back() -> None:
    policy = policy_for(
        [ALL], replace(FACTS, class_names=("a", "b", "c")), reporting="one-end", on_requery="replay",
        caps={"bit": 7.5, "user": math.inf},
    )  # fmt: skip
    again = Policy.from_dict(json.loads(json.dumps(policy.to_dict())))
    assert again.to_dict() == policy.to_dict()
    assert (again.caps, again.facts, again.reporting) == (policy.caps, policy.facts, "one-end")
    assert policy.caps["label"] == Cap(7.5, 1.0, math.inf)


def test_the_cap_of_a_user_bounds_the_sum_of_all_releases() -> None:
    """Two attributes that fit one by one do not fit together, in one question or in two."""
    population = people()
    both = ask_for(attributes="af", eps=1.0)
    adjacency, features = (both.loss(name).vector for name in ("adjacency", "features"))
    policy = policy_for([both], population.facts, caps={"user": adjacency + features - 0.5})
    assert policy.allows(both, device=3)  # each attribute is below its own cap
    assert not policy.allows_total(0.0, both, device=3)
    one = ask_for(attributes="f", eps=1.0)
    assert policy.allows_total(0.0, one, device=3)
    assert policy.allows_total(adjacency - 0.5, one, device=3) and not policy.allows_total(adjacency, one, device=3)
    assert Policy.from_dict(policy.to_dict()).user_cap == policy.user_cap
    assert Policy.from_dict(policy_for([both], population.facts).to_dict()).user_cap == math.inf


# --- rounds of a federated training -----------------------------------------------------

TASK = Task("t", "own", 4, 3, 3, 0.1, 1, noise=GaussianUpdate.from_epsilon(2.0, clip=0.5, delta=1e-3))
EACH = TASK.loss("update")


def training_policy(**changes: object) -> Policy:
    return replace(policy_for_training(TASK, FACTS, answers=3), **changes)  # type: ignore[arg-type]


def test_rounds_are_allowed_up_to_the_cap_of_the_training() -> None:
    policy = training_policy()
    assert set(policy.caps) == {"training"} and policy.mode == "federated"
    cap = policy.caps["training"]
    assert (cap.bit, cap.vector, cap.user) == (3 * EACH.bit, 3 * EACH.vector, 3 * EACH.vector)
    assert 3 * EACH.delta <= cap.delta <= 3 * EACH.delta * (1 + 1e-9)
    spent = Loss(0.0, 0.0)
    for _ in range(3):
        assert policy.allows_round(TASK, "update", spent)
        spent = spent + EACH
    assert not policy.allows_round(TASK, "update", spent)
    assert not policy.allows_round(TASK, "evaluation", Loss(0.0, 0.0))  # nothing bounds what it loses
    assert not training_policy(caps={}).allows_round(TASK, "update", Loss(0.0, 0.0))


def test_a_training_of_other_facts_or_another_mechanism_is_refused() -> None:
    policy, nothing = training_policy(), Loss(0.0, 0.0)
    assert not policy.allows_round(replace(TASK, d=5), "update", nothing)
    assert not policy.allows_round(replace(TASK, noise=None), "update", nothing)
    assert not training_policy(mechanisms=frozenset()).allows_round(TASK, "update", nothing)


def test_questions_that_are_pinned_are_the_only_ones(population: Population) -> None:
    pinned = policy_of(population, questions=frozenset({ask_for().digest.hex()}))
    assert pinned.allows(ask_for("another"), device=3)
    for other in (ask_for(eps=0.5), ask_for(attributes="a"), ask_for(attributes="fl")):
        assert policy_of(population).allows(other, device=3) and not pinned.allows(other, device=3)
    made = policy_for([ask_for()], population.facts, only_these=True)
    assert made.questions == pinned.questions and policy_for([ask_for()], population.facts).questions is None


def test_no_loss_is_computed_for_a_question_that_is_refused_anyway(
    population: Population, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a loss was computed")

    monkeypatch.setattr(Query, "loss", never)
    everything = policy_of(population)
    without_labels = {name: cap for name, cap in everything.caps.items() if name != "label"}
    for policy, query in (
        (replace(everything, caps=without_labels), ask_for()),
        (replace(everything, mechanisms=frozenset({"grr"})), ask_for()),
        (replace(everything, questions=frozenset()), ask_for()),
        (everything, ask_for(n=13)),
    ):
        assert not policy.allows(query, device=3)
    with pytest.raises(AssertionError, match="a loss"):  # power
        everything.allows(ask_for(), device=3)


def test_a_policy_and_its_file(tmp_path: Path, population: Population) -> None:
    pins = {"collector": "0a" * 32, "questions": frozenset({"1b" * 32}), "volunteers": frozenset({3, 1})}
    policy = policy_of(population, on_requery="replay", user_cap=3.5, **pins)
    (tmp_path / "p.json").write_text(write_policy(policy))
    assert read_policy(tmp_path / "p.json").to_dict() == policy.to_dict()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"mode": "open"}, "mode is one of"),
        ({"reporting": "all"}, "reporting is one of"),
        ({"on_requery": "answer"}, "on_requery is one of"),
        ({"mechanisms": ["grr", "none"]}, "no mechanism is called none"),
        ({"caps": {"name": {"bit": 1, "vector": 1, "user": 1}}}, "no attribute name"),
        ({"caps": {"label": {"bit": float("nan"), "vector": 1, "user": 1}}}, "label's cap on bit"),
        ({"caps": {"label": {"bit": 1, "vector": -1, "user": 1}}}, "label's cap on vector"),
        ({"caps": {"label": {"bit": 1, "vector": 1, "user": "1"}}}, "label's cap on user"),
        ({"caps": {"label": {"bit": 1, "all": 1}}}, "not a policy"),
        ({"caps": []}, "not a policy"),
        ({"user_cap": -1}, "user_cap"),
        ({"facts": {}}, "not a policy"),
        ({"more": 1}, "no others"),
        ({"collector": "ab"}, "64 hexadecimal digits"),
        ({"collector": 5}, "64 hexadecimal digits"),
        ({"questions": ["ab"]}, "questions are"),
        ({"questions": 5}, "not a policy"),
        ({"volunteers": ["1"]}, "volunteers are public numbers"),
        ({"volunteers": [-1]}, "volunteers are public numbers"),
        ({"volunteers": 5}, "not a policy"),
        ({"mode": "federated", "collector": "ab" * 32}, "not signed"),
    ],
)
def test_a_bad_policy_is_one_line(tmp_path: Path, population: Population, change: dict[str, Any], says: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**policy_of(population).to_dict(), **change}))
    with pytest.raises(ValueError, match=says) as caught:
        read_policy(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No such file"):
        read_policy(tmp_path / "none")
    (tmp_path / "x").write_text("[1")
    with pytest.raises(ValueError, match="not a policy"):
        read_policy(tmp_path / "x")
