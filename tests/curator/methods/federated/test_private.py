"""FedAvg with central noise or with noise on each device: parameters, noise, and what the guarantee says."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from ldpsim.curator.methods import Budget
from ldpsim.curator.methods.federated.dp_fedavg import DPFedAvg
from ldpsim.curator.methods.federated.ldp_fedavg import LDPFedAvg
from ldpsim.curator.privacy.federated import Rounds, central_epsilon, noise_multiplier_for, poisson_epsilon
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import gaussian


def test_settings_of_one_of_the_two() -> None:
    for wrong in (-0.1, math.nan, math.inf):
        with pytest.raises(ValueError, match="--set noise_multiplier="):
            DPFedAvg(noise_multiplier=wrong)
    with pytest.raises(ValueError, match="--set clipping=never"):
        DPFedAvg(clipping="never")
    with pytest.raises(ValueError, match="an evaluation reveals a device's label"):
        LDPFedAvg(evaluate_every=1)
    with pytest.raises(ValueError, match="evaluate_every=1: an evaluation reveals a device's label"):
        DPFedAvg(evaluate_every=1)  # raw answers of validation people would choose the model
    for fraction in (0.3, 0.4, 2 / 3):  # 2 / 0.4 is whole, 1 / 0.4 is not
        with pytest.raises(ValueError, match="must be 1 / a whole number"):
            LDPFedAvg(fraction=fraction)
    assert [LDPFedAvg(fraction=1 / turns).fraction for turns in (1, 3, 7)] == [1, 1 / 3, 1 / 7]


def test_the_rounds_that_the_accountant_sees() -> None:
    method = DPFedAvg(rounds=7, fraction=0.1)
    assert method.rounds_of(100) == Rounds(rounds=7, people=100, sample=10, delta=1e-3)
    assert method.rounds_of(3).sample == 1  # one at least
    assert DPFedAvg(rounds=7, fraction=0.1, delta=1e-6).rounds_of(100).delta == 1e-6
    budget = Budget(epsilon=3.0)
    everybody = DPFedAvg(rounds=7)
    assert everybody.multiplier(100, budget) == noise_multiplier_for(everybody.rounds_of(100), 3.0)
    assert DPFedAvg(noise_multiplier=1.5).multiplier(100, budget) == 1.5


@pytest.mark.parametrize("fraction", [1.0, 0.1])
def test_the_guarantee_of_the_models(fraction: float) -> None:
    method = DPFedAvg(rounds=5, fraction=fraction, noise_multiplier=2.0)
    found = method.guarantee_after(200, 3, 2.0)
    asked = Rounds(rounds=3, people=200, sample=round(200 * fraction), delta=1e-3)
    owned = {name: level for name, level in found.holds.items() if level.status == "bounded"}
    assert {(level.value, level.delta) for level in owned.values()} == {(central_epsilon(asked, 2.0), 1e-3)} and owned
    assert found.claimed.value == poisson_epsilon(asked, 2.0)
    assert found.holds["user"].status == found.holds["vector"].status == "unprotected"  # the server sees updates
    assert found.holds["relationship"].status == "not asked"
    # before a run: half of the people train, two at least, in all rounds of all collections
    for n, people in ((401, 200), (3, 2)):
        once, twice = (
            method.guarantee(PublicFacts(n, 5, 2), (), Budget(epsilon=3.0), **given)
            for given in ({}, {"collections": 2})
        )
        assert once == method.guarantee_after(people, 5, 2.0) and twice == method.guarantee_after(people, 10, 2.0)


def test_shift_and_noise_of_a_round_and_of_an_update() -> None:
    facts, budget = PublicFacts(400, 5, 2), Budget(epsilon=6.0)
    method = DPFedAvg(rounds=5, clip=0.5, noise_multiplier=2.0)
    assert method.gaussian_composition(facts, budget) == (2 * 0.5 / 200, 2.0 * 0.5 / 200, 5)
    assert replace(method, fraction=0.1).gaussian_composition(facts, budget) is None  # devices are drawn
    local = LDPFedAvg(rounds=10, fraction=0.2, clip=0.5)
    assert local.answers == 2 and local.each(facts, budget) == (3.0, 1e-3 / 2)
    assert LDPFedAvg(rounds=10, fraction=0.2, delta=1e-6).each(facts, budget) == (3.0, 5e-7)
    assert local.gaussian_composition(facts, budget) == (1.0, gaussian.calibrate(3.0, 5e-4, shift=1.0), 2)


def test_the_guarantee_of_the_updates() -> None:
    facts, budget = PublicFacts(400, 5, 2), Budget(epsilon=6.0)
    method = LDPFedAvg(rounds=10, fraction=0.2)
    once = method.guarantee(facts, (), budget)
    whole = once.holds["user"]
    assert whole.status == "bounded" and 3.0 < whole.value <= 6.0 + 1e-8 and whole.delta == pytest.approx(1e-3)
    assert once.holds["vector"] == once.holds["label"] == whole and once.claimed.value == 6.0
    assert once.holds["relationship"].status == once.holds["central_node"].status == "not asked"
    twice = method.guarantee(facts, (), budget, collections=2).holds["user"]
    assert twice.value > whole.value + 1 and twice.delta == pytest.approx(2e-3)


@pytest.mark.parametrize(
    "rounds, fraction, answers", [(10, 0.2, 2), (11, 0.2, 3), (1, 0.2, 1), (8, 0.25, 2), (3, 1, 3)]
)
def test_the_answers_of_a_device_are_those_of_the_one_that_is_asked_most(
    rounds: int, fraction: float, answers: int
) -> None:
    """Devices take turns; where the rounds are no multiple of the turns, some have a turn more than others."""
    turns = round(1 / fraction)
    given = [len(range(first, rounds, turns)) for first in range(turns)]
    assert LDPFedAvg(rounds=rounds, fraction=fraction).answers == max(given) == answers
