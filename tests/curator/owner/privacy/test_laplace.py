from __future__ import annotations

import math
from itertools import pairwise

import pytest
from scipy.integrate import quad

from ldpsim.curator.owner.privacy.label import (
    laplace_epsilon,
    laplace_epsilon_once,
    poisson_rdp,
    rdp_epsilon,
)


def one_query(loss: float, delta: float, gamma: float) -> float:
    """Exact: delta(eps) = 1 - e^((eps - loss) / 2) for Laplace noise, amplified once."""
    unsampled = max(loss + 2 * math.log1p(-delta / gamma), 0)
    return math.log1p(gamma * math.expm1(unsampled))


@pytest.mark.parametrize("gamma", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("loss", [0.02, 0.2, 2.0, 20.0])
def test_one_query_in_closed_form(loss: float, gamma: float) -> None:
    exact = one_query(loss, 1e-5, gamma)
    for epsilon in (laplace_epsilon, laplace_epsilon_once):
        found = epsilon(loss=loss, queries=1, delta=1e-5, gamma=gamma)
        assert exact - 1e-9 <= found <= exact + 1e-3


def test_sensitivity_1_is_too_little_for_the_vector() -> None:
    """Broken variant: two posteriors differ by 2, and at the figure for 1 an output set breaks the promise."""
    lambda_, delta = 0.4, 1e-5
    promised = laplace_epsilon(loss=lambda_, queries=1, delta=delta)
    really = 1 - math.exp((promised - 2 * lambda_) / 2)  # delta of e_1 against e_2 at that epsilon
    assert really > 1000 * delta
    # the same over 500 sampled queries: the lower bound for sensitivity 2 lies above the figure for 1
    low, _ = bracket(2 * lambda_, 0.3, 500, 1e-4)
    assert low > laplace_epsilon(loss=lambda_, queries=500, delta=1e-4, gamma=0.3)


def bracket(loss: float, gamma: float, queries: int, delta: float, width: float = 1e-4) -> tuple[float, float]:
    """Losses rounded down and up to multiples of ``width``: bounds from both sides, by another rounding than ours."""
    from dp_accounting.pld import privacy_loss_distribution

    low, high = (
        privacy_loss_distribution.from_laplace_mechanism(
            1 / loss, sampling_prob=gamma, pessimistic_estimate=up, use_connect_dots=False,
            value_discretization_interval=width,
        ).self_compose(queries).get_epsilon_for_delta(delta)
        for up in (False, True)
    )  # fmt: skip
    return low, high


@pytest.mark.parametrize(("loss", "gamma", "queries", "delta"), [(0.8, 0.3, 500, 1e-4), (0.2, 1.0, 1000, 1e-5)])
def test_between_an_upper_and_a_lower_bound(loss: float, gamma: float, queries: int, delta: float) -> None:
    low, high = bracket(loss, gamma, queries, delta)
    assert low < laplace_epsilon(loss=loss, queries=queries, delta=delta, gamma=gamma) < high
    assert high - low < 0.12
    assert high < rdp_epsilon(loss=loss, queries=queries, delta=delta, gamma=gamma)


def test_pate_by_its_privacy_loss_distribution() -> None:
    found = [laplace_epsilon(loss=2 * x, queries=500, delta=4e-4) for x in (0.1, 0.2, 0.4, 0.8, 1.0)]
    assert found == pytest.approx([23.016, 61.861, 173.858, 481.902, 659.219], abs=0.002)


def test_theorem_9_as_printed_is_false() -> None:
    """Even at sensitivity 1: 16.36 lies below a lower bound on the true epsilon."""
    lambda_, gamma, queries, delta = 0.4, 0.3, 1000, 1e-3
    growth = queries * math.log1p(gamma**2 * (2 / 3 * math.exp(lambda_) + 1 / 3 * math.exp(-2 * lambda_) - 1))
    printed, corrected = math.log(1 / delta) / 2 + growth, math.log(1 / delta) + growth
    assert printed == pytest.approx(16.3596, abs=5e-5)
    assert bracket(lambda_, gamma, queries, delta)[0] > printed
    assert laplace_epsilon(loss=lambda_, queries=queries, delta=delta, gamma=gamma) < corrected


def moment(loss: float, order: int, gamma: float, *, reverse: bool) -> float:
    """Rényi divergence of the sampled Laplace mechanism by quadrature over the output."""

    def densities(x: float) -> tuple[float, float]:
        without, drawn = math.exp(-abs(x)) / 2, math.exp(-abs(x - loss)) / 2
        mixed = (1 - gamma) * without + gamma * drawn
        return (without, mixed) if reverse else (mixed, without)

    def integrand(x: float) -> float:
        p, q = densities(x)
        return q * (p / q) ** order

    total = sum(quad(integrand, *ends, limit=200)[0] for ends in pairwise([-60.0, 0.0, loss, loss + 60.0]))
    return math.log(total) / (order - 1)


@pytest.mark.parametrize("gamma", [0.1, 0.3, 1.0])
@pytest.mark.parametrize("order", [2, 3, 7, 20])
@pytest.mark.parametrize("loss", [0.2, 1.0, 2.0])
def test_the_sum_is_exact_without_the_factor_3(loss: float, order: int, gamma: float) -> None:
    found = poisson_rdp(loss, order, gamma)
    assert found == pytest.approx(moment(loss, order, gamma, reverse=False), rel=1e-8)
    assert moment(loss, order, gamma, reverse=True) <= found * (1 + 1e-9)
