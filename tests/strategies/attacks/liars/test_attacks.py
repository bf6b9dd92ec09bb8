"""Attacks: what each is about, and the record that a liar claims."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from devices.data.population import Population
from devices.mechanisms import GRR, Degree, GroupDegrees, MultiBit, OneBit, RandomizedResponse
from devices.raw_record import HandedOver
from strategies.attacks.liars.accounts import JOINING
from strategies.attacks.liars.attacks import ATTACKS, DESCRIPTIONS, EVERY, honest_ones
from strategies.attacks.liars.plan import GOALS, LyingPlan

ROW = RandomizedResponse.from_epsilon(1.0, n=40)


@pytest.fixture
def plan(population: Population) -> LyingPlan:
    return LyingPlan(ATTACKS["fakes"], "response", "untargeted", "all", population, np.array([0, 1]), np.array([4, 9]),
                target_class=1, fakes=6, seed=3)  # fmt: skip


def test_attacks_and_what_they_are_about() -> None:
    about = {
        "all-ones": ROW, "mimic": ROW, "fakes": ROW, "flip-label": GRR.from_epsilon(1.0, categories=3),
        "one-label": GRR.from_epsilon(1.0, categories=3), "extreme-feature": MultiBit.from_epsilon(1.0, d=4),
        "extreme-bit": OneBit.from_epsilon(1.0, d=4), "copy": OneBit.from_epsilon(1.0, d=4),
        "degree-cap": Degree.from_epsilon(1.0, n=40),
        "group-mass": GroupDegrees.from_epsilon(1.0, n=40, groups=2, seed=1),
    }  # fmt: skip
    assert set(about) | {"same-direction"} == set(ATTACKS)
    for name, mechanism in about.items():
        assert ATTACKS[name].fits(mechanism), name
        assert ATTACKS[name].goal in GOALS
    assert not ATTACKS["extreme-feature"].fits(about["extreme-bit"])
    assert not ATTACKS["extreme-bit"].fits(about["extreme-feature"])
    assert not ATTACKS["mimic"].fits(about["degree-cap"])
    assert ATTACKS["flip-label"].fits(HandedOver("label")) and not ATTACKS["flip-label"].fits(HandedOver("features"))


def test_silence_is_described_too() -> None:
    assert set(DESCRIPTIONS) == {*ATTACKS, *JOINING, "silent"} == {*EVERY, "silent"}


def test_a_mimic_has_as_many_ones_as_an_honest_row(plan: LyingPlan) -> None:
    claimed = ATTACKS["mimic"].claims(plan, 5, ROW, None)
    degree = len(plan.population.record(5).neighbours)
    expected = honest_ones(ROW.flip_probability, 39, degree)
    assert expected == pytest.approx(39 * ROW.flip_probability + (1 - 2 * ROW.flip_probability) * degree)
    assert len(claimed.neighbours) == min(round(expected), len(plan.wanted(5)))


def test_fakes_are_added(plan: LyingPlan) -> None:
    own = set(plan.population.record(5).neighbours.tolist())
    claimed = set(ATTACKS["fakes"].claims(plan, 5, ROW, None).neighbours.tolist())
    assert own < claimed and len(claimed) == len(own) + 6
    hidden = ATTACKS["fakes"].claims(replace(plan, goal="hide"), 5, ROW, None)
    assert not len(hidden.neighbours)


def test_labels_and_the_neighbours_that_go_with_them(plan: LyingPlan) -> None:
    people = plan.population
    for name, label in (("one-label", 1), ("flip-label", plan.other_class(5))):
        claimed = ATTACKS[name].claims(plan, 5, None, None)
        assert claimed.label == label
        assert (people.labels[claimed.neighbours] == label).all()


def test_features(plan: LyingPlan) -> None:
    multi = MultiBit.from_epsilon(1.0, d=plan.population.facts.d, m=3)
    shared = [ATTACKS["extreme-feature"].claims(plan, device, multi, None) for device in (5, 6)]
    assert shared[0].feature_indices.tolist() == shared[1].feature_indices.tolist() == plan.columns(3).tolist()
    copied = ATTACKS["copy"].claims(plan, 5, None, None)
    assert copied.feature_indices.tolist() == plan.population.record(9).feature_indices.tolist()
    nobody = replace(plan, targets=np.zeros(0, np.int64))
    assert ATTACKS["copy"].claims(nobody, 5, None, None).label == plan.population.record(5).label


def test_counts(plan: LyingPlan) -> None:
    assert len(ATTACKS["degree-cap"].claims(plan, 5, None, None).neighbours) == 39
    groups = GroupDegrees.from_epsilon(1.0, n=40, groups=3, seed=1)
    false = ATTACKS["group-mass"].claims(replace(plan, lie="input"), 5, groups, None)
    assert len(set(groups.groups_of(None)[false.neighbours].tolist())) == 1
    assert len(ATTACKS["group-mass"].claims(plan, 5, groups, None).neighbours) == 39
