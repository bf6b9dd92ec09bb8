"""Terms of a collection: what a collector signed once, and no other question, to nobody else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.mechanisms import GRR, Degree, GroupDegrees, Laplace, NeighbourhoodVote, OneBit
from ldpsim.devices.mechanisms.class_table import FeatureModel
from ldpsim.devices.policy.terms import collection_of, people_asked, terms_of
from ldpsim.devices.query import Ask, Query, canonical

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


def own_vote(epsilon: float = 2.0, steep: int = 1, agreement: bool = False, **scale: Any) -> Query:
    model = FeatureModel(steep * np.eye(D, CLASSES, dtype=np.int64), np.zeros(CLASSES, np.int64))
    mechanism = NeighbourhoodVote.from_probabilities(
        np.eye(CLASSES)[np.arange(N) % CLASSES], epsilon, model=model, homophily=0.8, agreement=agreement, **scale
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


@pytest.mark.parametrize(
    "other",
    [
        label(collection="two"), label(0.5), label(0.999), label(1.001), label(4.0), label(categories=4),
        bits(2.0), bits(0.01), bits(d=D + 1), bits(high=2.0), bits(low=-1.0), bits(grid=16),
        Query("one", ((Ask("features", (Laplace.from_epsilon(1.0, d=D),)),),)),
        Query("one", ((Ask("adjacency", (Degree.from_epsilon(1.0, n=N),)),),)),
        both(), both(apart=True), Query("one", label().plan * 2), staged(), vote(),
    ],
)  # fmt: skip
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
    for query in (vote(), vote(rows=hostile)):
        assert asked_of(query, terms) == [2]
    outside = [vote(2.1), vote(1.9), vote(unseen=True),
               vote(homophily=0.1), vote(candidates=3), vote(reporting="one-end"),
               vote(rows=np.eye(4)[np.arange(N) % 4]), own_vote()]  # fmt: skip
    for query in outside:
        assert asked_of(query, terms) == []


def test_batches_of_one_question_are_one_entry() -> None:
    terms = terms_of([(vote(), np.array([0, 1])), (vote(rows=np.ones((N, CLASSES))), np.array([4]))], N)
    (entry,) = json.loads(terms)["questions"]
    assert entry["devices"] == "0-1,4"
