"""What is inside a policy and inside the signed terms of a collection, level by level and fact by fact."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import (
    GRR,
    Degree,
    GroupDegrees,
    Laplace,
    Loss,
    Mechanism,
    NeighbourhoodVote,
    OneBit,
    RandomizedResponse,
)
from ldpsim.devices.mechanisms.feature_model import FeatureModel
from ldpsim.devices.policy.policy import Cap, Policy, policy_for, policy_for_training, read_policy, write_policy
from ldpsim.devices.policy.terms import collection_of, people_asked, terms_of
from ldpsim.devices.query import Ask, Query, canonical
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


@pytest.mark.parametrize("asked", [
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
])  # fmt: skip
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


class LabelByFriends(GRR):
    """A mechanism of another package, about the label and the whole list."""

    name = "label_by_friends"
    reads = ("label", "adjacency")


class LabelByEarlierFriends(LabelByFriends):
    """The same, about the people before the device alone."""

    reporting = "one-end"


def test_a_list_that_is_read_beside_another_attribute_is_one_ended_too() -> None:
    for kind, allowed in ((LabelByFriends, False), (LabelByEarlierFriends, True)):
        asked = one("label", kind.from_epsilon(1.0, categories=3))
        assert policy_for([asked], FACTS, reporting="one-end").allows(asked, device=3) is allowed
        assert policy_for([asked], FACTS).allows(asked, device=3)


def test_a_policy_is_saved_and_read_back(tmp_path: Path) -> None:
    pins = {"collector": "0a" * 32, "questions": frozenset({"1b" * 32}), "volunteers": frozenset({3, 1})}
    policy = policy_for(
        [ALL], replace(FACTS, class_names=("a", "b", "c")), reporting="one-end", on_requery="replay",
        caps={"bit": 7.5, "user": math.inf},
    )  # fmt: skip
    assert policy.caps["label"] == Cap(7.5, 1.0, math.inf)
    for given in (policy, replace(policy, user_cap=3.5, **pins)):
        (tmp_path / "p.json").write_text(write_policy(given))
        again = read_policy(tmp_path / "p.json")
        assert again.to_dict() == given.to_dict()
        assert (again.caps, again.facts, again.reporting, again.user_cap) == (
            given.caps, given.facts, "one-end", given.user_cap,
        )  # fmt: skip


def test_the_cap_of_a_user_bounds_the_sum_of_all_releases() -> None:
    """Two attributes that fit one by one do not fit together, in one question or in two."""
    population = people()
    both = ask_for(attributes="af", eps=1.0)
    adjacency, features = (both.loss(name).vector for name in ("adjacency", "features"))
    policy = policy_for([both], population.facts, caps={"user": adjacency + features - 0.5})
    assert policy.allows(both, device=3)  # each attribute is below its own cap
    assert both.total(device=3) == adjacency + features
    assert not policy.allows_total(both.total(device=3), device=3)
    one = ask_for(attributes="f", eps=1.0).total(device=3)
    assert policy.allows_total(one, device=3)
    assert policy.allows_total(adjacency - 0.5 + one, device=3) and not policy.allows_total(adjacency + one, device=3)


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


@pytest.mark.parametrize(("change", "says"), [
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
])  # fmt: skip
def test_a_bad_policy_is_one_line(tmp_path: Path, population: Population, change: dict[str, Any], says: str) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps({**policy_of(population).to_dict(), **change}))
    with pytest.raises(ValueError, match=says) as caught:
        read_policy(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No such file"):
        read_policy(tmp_path / "none")
    for text in ("[1", "[" * 10**6, '{"mode": "report", "mode": "owner"}'):
        (tmp_path / "x").write_text(text)
        with pytest.raises(ValueError, match="not a policy") as caught:
            read_policy(tmp_path / "x")
        assert "\n" not in str(caught.value)


N, D, CLASSES = 6, 4, 3


def asked_of(query: Query, terms: bytes, people: int = N) -> list[int]:
    return np.flatnonzero(people_asked(terms, query, people)).tolist()


def label(epsilon: float = 1.0, collection: str = "one", **changes: Any) -> Query:
    mechanism = replace(GRR.from_epsilon(epsilon, categories=CLASSES), **changes)
    return Query(collection, ((Ask("label", (mechanism,)),),))


def bits(epsilon: float = 1.0, **changes: Any) -> Query:
    return Query("one", ((Ask("features", (replace(OneBit.from_epsilon(epsilon, d=D), **changes),)),),))


def staged(groups: int = 2, epsilon: float = 0.5) -> Query:
    first = GroupDegrees.from_epsilon(epsilon, n=N, groups=groups, seed=4)
    second = GroupDegrees.from_epsilon(epsilon, n=N, groups=groups)
    return Query("one", ((Ask("adjacency", (first,)),), (Ask("adjacency", (second,)),)))


def vote(epsilon: float = 2.0, rows: Any = None, **changes: Any) -> Query:
    given = {"candidates": 2, "homophily": 0.8, **changes}
    rows = np.eye(CLASSES)[np.arange(N) % CLASSES] if rows is None else rows
    return Query("one", ((Ask("adjacency", (NeighbourhoodVote.from_probabilities(rows, epsilon, **given),)),),))


def own_vote(epsilon: float = 2.0, **scale: Any) -> Query:
    model = FeatureModel(np.eye(D, CLASSES, dtype=np.int64), np.zeros(CLASSES, np.int64))
    mechanism = NeighbourhoodVote.from_probabilities(
        np.eye(CLASSES)[np.arange(N) % CLASSES], epsilon, model=model, homophily=0.8, **scale
    )
    return Query("one", ((Ask("adjacency", (mechanism,)),),))


def both(*, apart: bool = False) -> Query:
    return Query("one", ((*bits().plan[0], *label().plan[0]),) if not apart else (bits().plan[0], label().plan[0]))


TERMS = terms_of([(label(), np.array([0, 1, 3])), (bits(), None)], N)


def test_the_people_of_a_question_are_asked_and_nobody_else() -> None:
    assert asked_of(label(), TERMS) == [0, 1, 3] and asked_of(bits(), TERMS) == list(range(N))
    assert collection_of(TERMS) == "one"
    agreed = json.loads(TERMS)["questions"]
    assert [question["devices"] for question in agreed] == ["0-1,3", None]
    assert agreed[0]["loss"] == {"label": {"bit": 1.0, "vector": 1.0, "delta": 0.0}}
    for devices in ([5], [0, 2, 4], [1, 2, 3], [0, 5]):
        assert asked_of(label(), terms_of([(label(), np.array(devices))], N)) == devices


@pytest.mark.parametrize("other", [
    label(collection="two"), label(0.5), label(0.999), label(1.001), label(4.0), label(categories=4),
    bits(2.0), bits(0.01), bits(d=D + 1), bits(high=2.0), bits(low=-1.0), bits(grid=16),
    Query("one", ((Ask("features", (Laplace.from_epsilon(1.0, d=D),)),),)),
    Query("one", ((Ask("adjacency", (Degree.from_epsilon(1.0, n=N),)),),)),
    both(), both(apart=True), Query("one", label().plan * 2), staged(), vote(),
])  # fmt: skip
def test_another_question_is_outside(other: Query) -> None:
    assert asked_of(other, TERMS) == []


FIELDS = {
    "another version": {"v": 2}, "another collection": {"collection": "two"}, "other people": {"people": N + 1},
    "no question": {"questions": []}, "no list": {"questions": 3}, "an entry that is none": {"questions": [None]},
}  # fmt: skip
ENTRIES: dict[str, dict[str, Any]] = {
    "a smaller loss": {"loss": {"label": {"bit": 0.9, "vector": 0.9, "delta": 0.0}}},
    "a smaller loss of an entry": {"loss": {"label": {"bit": 0.9, "vector": 1.0, "delta": 0.0}}},
    "a larger loss": {"loss": {"label": {"bit": 2.0, "vector": 2.0, "delta": 0.0}}},
    "no bound": {"loss": {"label": {"bit": None, "vector": None, "delta": 0.0}}},
    "no delta": {"loss": {"label": {"bit": 1.0, "vector": 1.0}}},
    "another attribute's loss": {"loss": {"features": {"bit": 1.0, "vector": 1.0, "delta": 0.0}}},
    "no stage": {"plan": []}, "two stages": {"plan": json.loads(TERMS)["questions"][0]["plan"] * 2},
    "devices that are none": {"devices": "x"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("head", "entry"),
    [*((head, {}) for head in FIELDS.values()), *(({}, entry) for entry in ENTRIES.values())],
    ids=[*FIELDS, *ENTRIES],
)
def test_every_field_of_the_terms_counts(head: dict[str, Any], entry: dict[str, Any]) -> None:
    given = json.loads(terms_of([(label(), None)], N))
    assert asked_of(label(), canonical(given)) == list(range(N))
    given["questions"][0] |= entry
    assert asked_of(label(), canonical(given | head)) == []


@pytest.mark.parametrize("name", ["attribute", "name", "version", "sampler", "lie", "categories"])
def test_every_field_of_a_mechanism_counts(name: str) -> None:
    given = json.loads(terms_of([(label(), None)], N))
    (ask,) = given["questions"][0]["plan"][0]
    where = ask if name == "attribute" else ask["mechanisms"][0]
    where[name] = where[name] + where[name]
    assert asked_of(label(), canonical(given)) == []
    del where[name]
    assert asked_of(label(), canonical(given)) == []


def test_groups_of_a_later_stage_are_open_and_nothing_else_of_it() -> None:
    terms = terms_of([(staged(), None)], N)
    for grouping in ((0,) * N, (0, 1) * (N // 2)):
        assert asked_of(staged().at_stage(1, grouping), terms) == list(range(N))
    for other in (staged(3), staged(epsilon=0.6), Query("one", staged().plan[::-1]), Query("one", staged().plan[:1])):
        assert asked_of(other, terms) == []


def test_a_vote_s_table_is_open_and_its_loss_is_not() -> None:
    terms = terms_of([(vote(), np.array([2]))], N)
    hostile = np.eye(CLASSES)[[0, 1, 1, 1, 1, 1]]
    for query in (vote(), vote(rows=hostile), vote(homophily=0.1)):
        assert asked_of(query, terms) == [2]
    outside = [vote(2.1), vote(1.9), vote(unseen=True),
               vote(saturation=3), vote(candidates=3), vote(reporting="one-end"),
               vote(rows=np.eye(4)[np.arange(N) % 4]), own_vote()]  # fmt: skip
    for query in outside:
        assert asked_of(query, terms) == []


def test_batches_of_one_question_are_one_entry() -> None:
    terms = terms_of([(vote(), np.array([0, 1])), (vote(rows=np.ones((N, CLASSES))), np.array([4]))], N)
    (entry,) = json.loads(terms)["questions"]
    assert entry["devices"] == "0-1,4"
