"""Curves of Gaussian and Laplace noise, against dp-accounting, a closed form and a sum over every outcome."""

from __future__ import annotations

import math

import dp_accounting as dp
import numpy as np
import pytest
from dp_accounting import pld
from scipy.integrate import quad
from scipy.stats import laplace, norm

from ldpsim.curator.additive_noise import AdditiveNoise


@pytest.mark.parametrize("rounds", [1, 10, 1000])
@pytest.mark.parametrize("sensitivity, sigma", [(1.0, 1.0), (2.0, 5.0), (0.1, 30.0)])
@pytest.mark.parametrize("delta", [1e-3, 1e-5, 1e-9])
def test_gaussian_noise_has_the_epsilon_of_dp_accounting(
    sensitivity: float, sigma: float, rounds: int, delta: float
) -> None:
    noise = AdditiveNoise(distribution="gaussian", scale=sigma, sensitivity=sensitivity, rounds=rounds)
    theirs = dp.get_epsilon_gaussian(sigma / sensitivity / math.sqrt(rounds), delta)
    assert noise.is_exact(delta) and noise.epsilon(delta) == pytest.approx(theirs, rel=1e-6, abs=2e-9)


@pytest.mark.parametrize("loss", [0.1, 1.0, 4.0])
def test_one_round_has_the_delta_of_an_integral(loss: float) -> None:
    """The integral of (p - e^eps q)+, where both laws are one apart."""
    for distribution, epsilon_at in (("gaussian", 1e-4), ("laplace", 1e-4), ("laplace", 0.01)):
        noise, scale = AdditiveNoise(distribution=distribution, scale=1 / loss), 1 / loss
        epsilon, density = noise.epsilon(epsilon_at), (norm if distribution == "gaussian" else laplace)(scale=scale).pdf

        def excess(x: float, density=density, epsilon=epsilon) -> float:  # type: ignore[no-untyped-def]
            return max(0.0, float(density(x) - math.exp(epsilon) * density(x - 1)))

        ends = (-40 * scale, -10 * scale, 0.0, 0.5, 1.0)
        delta = sum(quad(excess, a, b, limit=500)[0] for a, b in zip(ends, ends[1:], strict=False))
        assert delta == pytest.approx(epsilon_at, rel=1e-3) or epsilon == 0.0 and delta < epsilon_at


@pytest.mark.parametrize("rounds, delta", [(2, 1e-3), (30, 1e-5), (500, 1e-6)])
def test_laplace_rounds_lie_just_above_those_of_dp_accounting(rounds: int, delta: float) -> None:
    noise = AdditiveNoise(distribution="laplace", scale=10.0, rounds=rounds)
    fine = [pld.privacy_loss_distribution.from_laplace_mechanism(
                10.0, value_discretization_interval=1e-4, pessimistic_estimate=above, use_connect_dots=above
            ).self_compose(rounds).get_epsilon_for_delta(delta) for above in (False, True)]  # fmt: skip
    assert not noise.is_exact(delta)
    assert fine[0] <= noise.epsilon(delta) <= fine[1] + 1e-3


def test_two_laplace_rounds_by_summing_over_a_grid_of_outcomes() -> None:
    """Both laws cut into cells: cells lose at most what the noise loses, and fine ones nearly as much."""
    edges = np.concatenate([[-np.inf], np.arange(-30, 31.001, 0.05), [np.inf]])
    p, q = (np.diff(laplace(loc=where).cdf(edges)) for where in (0, 1))
    delta = 0.01
    epsilon = AdditiveNoise(distribution="laplace", scale=1.0, rounds=2).epsilon(delta)
    sums = [np.maximum(np.outer(p, p) - math.exp(e) * np.outer(q, q), 0).sum() for e in (epsilon, epsilon - 0.03)]
    assert sums[0] <= delta < sums[1]


@pytest.mark.parametrize("distribution, values, said", [
    ("gaussian", {"scale": 0.0}, "--gaussian 0: must lie"), ("laplace", {"scale": math.inf}, "--laplace inf: must lie"),
    ("laplace", {"scale": 1.0, "sensitivity": -1.0}, "--sensitivity -1: must lie"),
    ("gaussian", {"scale": 1.0, "rounds": 0}, "--rounds 0: must lie"), ("cauchy", {"scale": 1.0}, "the noise is"),
])  # fmt: skip
def test_numbers_outside_their_range_are_refused(distribution: str, values: dict[str, float], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        AdditiveNoise(distribution=distribution, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "distribution, delta", [("gaussian", 0.0), ("laplace", 1e-12), ("gaussian", 1.0), ("laplace", math.nan)]
)
def test_a_delta_without_an_epsilon_is_refused(distribution: str, delta: float) -> None:
    with pytest.raises(ValueError, match="--delta"):
        AdditiveNoise(distribution=distribution, scale=1.0, rounds=2).epsilon(delta)
