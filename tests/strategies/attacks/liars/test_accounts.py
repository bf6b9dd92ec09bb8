"""Fake accounts: their records, and that honest people stay as they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from devices.data.population import Population
from devices.data.splits import make_split
from devices.datasets.generated import generate
from strategies.attacks.liars.accounts import (
    JOINING,
    Joining,
    check_amount,
    claims_of,
    number_of,
    with_accounts,
    with_labels_of,
)

PEOPLE = generate(80, seed=2)
SPLIT = make_split("random", PEOPLE, 1)
TARGETS = SPLIT.test[:3]


def joining(goal: str = "inflate", *, accounts: int = 12, public: bool = False) -> Joining:
    return Joining(PEOPLE, accounts, goal, TARGETS, 1, 5, public)


def made(attack: str, goal: str = "inflate", **given: bool) -> Population:
    where = joining(goal, **given)
    return with_accounts(where, claims_of(attack, where))


@pytest.mark.parametrize("attack", JOINING)
def test_honest_records_stay_as_they_are(attack: str) -> None:
    people = made(attack)
    assert len(people) == 92 and people.facts.n == 92 and people.facts.d == PEOPLE.facts.d
    for node in range(80):
        before, after = PEOPLE.record(node), people.record(node)
        assert after.neighbours.tolist() == before.neighbours.tolist() and after.label == before.label
        assert after.feature_indices.tolist() == before.feature_indices.tolist()
        assert after.feature_values.tolist() == before.feature_values.tolist()
    assert people.only(np.arange(80)).digest == made("join-random").only(np.arange(80)).digest
    people._check_sizes(None)  # type: ignore[arg-type]  # the arrays fit one another


def test_records_of_accounts() -> None:
    others = set(np.flatnonzero(PEOPLE.labels != 1).tolist())
    people = made("join-class")
    for account in range(80, 92):
        record = people.record(account)
        assert record.label == 1 and set(record.neighbours.tolist()) <= others
        assert len(record.neighbours) == joining().links
        copied = [node for node in others
                  if PEOPLE.record(node).feature_indices.tolist() == record.feature_indices.tolist()]  # fmt: skip
        assert copied
    assert people.record(85).neighbours.tolist() != people.record(86).neighbours.tolist()
    assert made("join-degree").record(90).neighbours.tolist() == TARGETS.tolist()
    assert made("join-flood").record(90).neighbours.tolist() == [node for node in range(92) if node != 90]
    named = np.concatenate([made("join-class", "misclassify").record(a).neighbours for a in range(80, 92)])
    assert set(named.tolist()) == set(TARGETS.tolist())
    assert len({made("join-random").record(account).label for account in range(80, 92)}) > 1


def test_accounts_of_a_group_name_one_another() -> None:
    people, size = made("join-pairs"), joining().links + 1
    inner = people.edges[:, (people.edges >= 80).all(axis=0)] - 80
    assert inner.size and (inner[0] // size == inner[1] // size).all()
    for account in range(80, 92):
        group = [mate for mate in range(80, 92) if (mate - 80) // size == (account - 80) // size and mate != account]
        assert people.record(account).neighbours[people.record(account).neighbours >= 80].tolist() == group


def test_an_account_of_a_public_graph_is_in_the_lists_of_both_ends() -> None:
    people = made("join-class", public=True)
    for account in range(80, 92):
        for person in people.record(account).neighbours.tolist():
            assert account in people.record(person).neighbours
    honest = people.edges[:, (people.edges < 80).all(axis=0)]
    assert honest.tolist() == PEOPLE.edges.tolist()


def test_silent_accounts_have_nothing() -> None:
    people = with_accounts(joining(), None)
    for account in range(80, 92):
        record = people.record(account)
        assert (record.label, len(record.feature_indices), len(record.neighbours)) == (-1, 0, 0)


def test_accounts_train_and_validate_and_are_never_tested() -> None:
    split = with_labels_of(SPLIT, joining())
    assert split.test.tolist() == SPLIT.test.tolist()
    assert split.train[split.train < 80].tolist() == SPLIT.train.tolist()
    assert split.val[split.val < 80].tolist() == SPLIT.val.tolist()
    assert sorted([*split.train[split.train >= 80], *split.val[split.val >= 80]]) == list(range(80, 92))
    assert len(split.train) - len(SPLIT.train) == 8  # two thirds, as of the honest


def test_nobody_joins() -> None:
    none = joining(accounts=0)
    assert replace(with_accounts(none, claims_of("join-class", none)), name="x").digest == PEOPLE.digest
    assert with_labels_of(SPLIT, none).train.tolist() == SPLIT.train.tolist()


def test_numbers_of_accounts() -> None:
    assert [number_of(amount, 200) for amount in (0.0, 0.01, 0.999, 1.0, 200.0)] == [0, 2, 200, 1, 200]
    with pytest.raises(ValueError, match="--inject 201: at most as many accounts as honest people"):
        number_of(201, 200)
    for wrong in (-1.0, 1.5, 1e18, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="--inject .*: a share of the honest people"):
            check_amount(wrong)
