"""Losses of trainings in rounds, against dp-accounting's own accountants and against sums over outputs."""

from __future__ import annotations

import math

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting import pld, rdp
from dp_accounting.pld import privacy_loss_distribution
from scipy.stats import norm

from ldpsim.curator.methods import find
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.privacy.federated import (
    Rounds,
    central_epsilon,
    noise_multiplier_for,
    poisson_epsilon,
    updates_epsilon,
)
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import gaussian


def test_everybody_asked_is_one_gaussian_at_half_the_multiplier() -> None:
    asked = Rounds(rounds=4, people=500, sample=500, delta=1e-3)
    ours = central_epsilon(asked, 8.0)
    accountant = pld.PLDAccountant(dp.NeighboringRelation.REPLACE_ONE, value_discretization_interval=1e-3)
    accountant.compose(dp.GaussianDpEvent(8.0), 4)  # this accountant knows that a replacement moves a sum twice
    assert ours <= accountant.get_epsilon(1e-3) + 1e-9
    assert ours == pytest.approx(accountant.get_epsilon(1e-3), rel=5e-3)
    # power: the usual figure, which forgets that a replaced device moves the mean twice as far, is far below
    assert poisson_epsilon(asked, 8.0) < 0.6 * ours


def test_the_multiplier_is_the_smallest_that_holds() -> None:
    asked = Rounds(rounds=10, people=500, sample=500, delta=1e-3)
    for epsilon in (2.0, 1e-9):  # delta alone covers the second one's noise, a little more of it
        multiplier = noise_multiplier_for(asked, epsilon)
        assert central_epsilon(asked, multiplier) <= epsilon < central_epsilon(asked, multiplier * 0.995)


def test_two_updates_of_4_lose_5_87_and_not_8() -> None:
    """The sum is an upper bound; the composition is that of dp-accounting's privacy loss distributions."""
    assert updates_epsilon(2, 4.0, 0.005) == pytest.approx(5.8724003, abs=1e-6)
    assert updates_epsilon(1, 8.0, 0.01) == 8.0
    method = find("ldp-fedavg")()
    few = PublicFacts(n=40, d=5, classes=3)
    found = method.guarantee(few, (), Budget(epsilon=8.0))
    assert found.claimed.value == 8.0 and found.holds["user"].delta == 0.01  # the two deltas of 0.005, added
    assert found.holds["user"].value == updates_epsilon(2, 4.0, 0.005)
    assert "together one Gaussian mechanism, exactly" in found.holds["user"].detail
    assert "claimed is the sum" in found.why_they_differ[0]
    again = method.guarantee(few, (), Budget(epsilon=8.0), collections=2)
    assert again.holds["user"].value == updates_epsilon(4, 4.0, 0.005) and again.holds["user"].delta == 0.02


def output_laws(shift: float, sigma: float, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Two Gaussian laws ``shift`` apart, seen through cells of ``width``: post-processing, so a lower bound."""
    edges = np.arange(-12 * sigma, shift + 12 * sigma, width)
    one, other = (norm.cdf(np.append(edges, np.inf), centre, sigma) for centre in (0.0, shift))
    return np.diff(one, prepend=0), np.diff(other, prepend=0)


def composed_below(one: np.ndarray, other: np.ndarray, times: int, delta: float) -> float:
    """Epsilon of ``times`` answers with these laws, every loss rounded down: a lower bound."""
    kept = (one > 0) & (other > 0)
    found = privacy_loss_distribution.from_two_probability_mass_functions(
        dict(enumerate(np.log(other[kept]))), dict(enumerate(np.log(one[kept]))), pessimistic_estimate=False,
        value_discretization_interval=1e-4, symmetric=False,
    ).self_compose(times)  # fmt: skip
    return float(found.get_epsilon_for_delta(delta))


@pytest.mark.parametrize(("answers", "epsilon", "delta"), [(3, 1.0, 1e-4), (10, 0.3, 1e-6)])
def test_updates_by_summing_over_every_cell_of_their_outputs(answers: int, epsilon: float, delta: float) -> None:
    """Exact: the sum over cells comes to it from below, and one update less is seen."""
    sigma = gaussian.calibrate(epsilon, delta, shift=1.0)
    found = updates_epsilon(answers, epsilon, delta)
    below = composed_below(*output_laws(1.0, sigma, sigma / 50), answers, answers * delta)
    assert 0.99 * found < below <= found < 0.9 * answers * epsilon
    fewer = gaussian.epsilon_of(answers * delta, shift=math.sqrt(answers - 1), sigma=sigma)
    assert fewer < below  # power


@pytest.mark.parametrize(("rounds", "rate", "multiplier"), [(20, 0.05, 4.0)])
def test_drawn_devices_lose_at_least_what_the_worst_update_shows(rounds: int, rate: float, multiplier: float) -> None:
    """A device drawn with this rate pushes the sum by C one way, its replacement by C the other way."""
    asked = Rounds(rounds=rounds, people=1000, sample=round(1000 * rate), delta=1e-4)
    zero, plus = output_laws(1.0, multiplier, 0.05)
    minus = np.diff(norm.cdf(np.append(np.arange(-12 * multiplier, 1 + 12 * multiplier, 0.05), np.inf), -1.0,
                             multiplier), prepend=0)  # fmt: skip
    below = composed_below((1 - rate) * zero + rate * plus, (1 - rate) * zero + rate * minus, rounds, 1e-4)
    found = central_epsilon(asked, multiplier)
    whole = gaussian.epsilon_of(1e-4, shift=2 * math.sqrt(rounds), sigma=multiplier)
    assert below <= found < whole
    # The bound for a step of 2 C, by the accountant; that for C would stay above the worst update and is too little.
    twice, once = (rdp.RdpAccountant(neighboring_relation=dp.NeighboringRelation.REPLACE_ONE) for _ in range(2))
    for accountant, steps in ((twice, 2), (once, 1)):
        event = dp.SampledWithoutReplacementDpEvent(1000, asked.sample, dp.GaussianDpEvent(multiplier / steps))
        accountant.compose(event, rounds)
    assert found == pytest.approx(min(whole, twice.get_epsilon(1e-4)), abs=2e-9) and found > 1.5 * once.get_epsilon(
        1e-4
    )
    assert poisson_epsilon(asked, multiplier) < below  # power: add/remove, as it is usually printed, claims too little


@pytest.mark.parametrize(("training", "epsilon", "before"), [
    (Rounds(30, 1000, 1000, 1e-4), 0.5, 64.57), (Rounds(30, 1000, 1000, 1e-4), 100.0, 0.9993),
    (Rounds(30, 1000, 100, 1e-4), 8.0, 1.733),
])  # fmt: skip
def test_multipliers_are_those_of_the_root_finder_before(training: Rounds, epsilon: float, before: float) -> None:
    found = noise_multiplier_for(training, epsilon)
    assert found == pytest.approx(before, rel=1e-12) and central_epsilon(training, found) <= epsilon
