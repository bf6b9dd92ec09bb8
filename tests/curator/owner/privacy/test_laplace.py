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


@pytest.mark.parametrize(("loss", "gamma", "queries", "delta"), [(0.8, 0.3, 500, 1e-4)])
def test_between_an_upper_and_a_lower_bound(loss: float, gamma: float, queries: int, delta: float) -> None:
    low, high = bracket(loss, gamma, queries, delta)
    assert low < laplace_epsilon(loss=loss, queries=queries, delta=delta, gamma=gamma) < high
    assert high - low < 0.12
    assert high < rdp_epsilon(loss=loss, queries=queries, delta=delta, gamma=gamma)


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
