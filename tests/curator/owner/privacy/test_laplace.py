from __future__ import annotations

import math
from itertools import pairwise

import pytest
from scipy.integrate import quad

from ldpsim.curator.owner.privacy.laplace import (
    laplace_epsilon,
    laplace_epsilon_once,
    laplace_rdp,
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
    assert high < rdp_epsilon(loss=loss, queries=queries, delta=delta, gamma=gamma)[0]


def test_one_shift_by_2_dominates_two_by_1() -> None:
    for gamma, lambda_ in ((1.0, 0.1), (1.0, 1.0)):
        two = laplace_epsilon(loss=lambda_, queries=1000, delta=1e-4, gamma=gamma)
        one = laplace_epsilon(loss=2 * lambda_, queries=500, delta=1e-4, gamma=gamma)
        assert two < one


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


def test_once_gains_the_logarithm_of_gamma_at_most() -> None:
    unsampled = laplace_epsilon(loss=2.0, queries=1000, delta=1e-4 / 0.3)
    assert laplace_epsilon_once(loss=2.0, queries=1000, delta=1e-4, gamma=0.3) == pytest.approx(
        unsampled - math.log(1 / 0.3), rel=1e-9
    )
    assert laplace_epsilon_once(loss=2.0, queries=1000, delta=1e-4, gamma=1e-5) == 0


def test_far_settings_stay_finite() -> None:
    for loss, gamma, queries in ((200.0, 0.3, 1000), (200.0, 1.0, 10), (2e-6, 0.3, 10)):
        found = laplace_epsilon(loss=loss, queries=queries, delta=1e-9, gamma=gamma)
        assert 0 <= found <= queries * loss


def test_known_divergences() -> None:
    assert [laplace_rdp(1, a) for a in (2, 3, 32)] == pytest.approx([0.619123630, 0.746828141, 0.978148425], abs=1e-9)
    assert [poisson_rdp(1, a, 0.3) for a in (2, 3)] == pytest.approx([0.074325133, 0.113675361], abs=1e-9)


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


def with_factor_3(loss: float, order: int, gamma: float) -> float:
    """Theorem 8 as the paper prints it."""
    total = (1 - gamma) ** (order - 1) * (1 + (order - 1) * gamma)
    for k in range(2, order + 1):
        term = math.comb(order, k) * (1 - gamma) ** (order - k) * gamma**k * math.exp((k - 1) * laplace_rdp(loss, k))
        total += term if k == 2 else 3 * term
    return math.log(total) / (order - 1)


def test_theorem_8_as_printed_is_another_formula() -> None:
    assert with_factor_3(1, 2, 0.3) == pytest.approx(poisson_rdp(1, 2, 0.3))
    assert with_factor_3(1, 3, 0.3) == pytest.approx(0.201314163, abs=2e-9)
    printed = min(500 * with_factor_3(0.1, a, 0.3) + math.log(1000) / (a - 1) for a in range(2, 33))
    assert printed == pytest.approx(7.344, abs=5e-4)
    assert rdp_epsilon(loss=0.1, queries=500, delta=1e-3, gamma=0.3) == (pytest.approx(2.673511, abs=1e-6), 7)


def test_unsampled_divergences() -> None:
    assert rdp_epsilon(loss=0.2, queries=1000, delta=1e-3)[0] == pytest.approx(43.922692, abs=5.1e-7)
    assert poisson_rdp(0.7, 5, 1.0) == laplace_rdp(0.7, 5)
    assert poisson_rdp(0.7, 5, 1 - 1e-12) == pytest.approx(laplace_rdp(0.7, 5), rel=1e-9)


def test_dp_accounting_agrees_on_divergences_where_it_answers() -> None:
    """Unsampled Laplace; with a tighter conversion, so never above ours."""
    import dp_accounting
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(orders=list(range(2, 33)))
    accountant.compose(dp_accounting.LaplaceDpEvent(5.0), 1000)
    assert accountant.get_epsilon(1e-3) == pytest.approx(42.536398, abs=1e-6)
    assert accountant.get_epsilon(1e-3) < rdp_epsilon(loss=0.2, queries=1000, delta=1e-3)[0]


def test_large_losses_do_not_overflow() -> None:
    assert laplace_rdp(200, 32) == pytest.approx(200, rel=1e-2)
    assert math.isfinite(poisson_rdp(200, 32, 1e-6))
