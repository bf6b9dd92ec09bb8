from __future__ import annotations

import math
from itertools import pairwise

import pytest
from scipy.integrate import quad

from ldpsim.curator.owner.privacy.rdp import laplace_rdp, poisson_rdp, rdp_epsilon, rdp_epsilon_once


def test_known_values() -> None:
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


def test_unsampled() -> None:
    assert rdp_epsilon(loss=0.2, queries=1000, delta=1e-3)[0] == pytest.approx(43.922692, abs=5.1e-7)
    assert poisson_rdp(0.7, 5, 1.0) == laplace_rdp(0.7, 5)
    assert poisson_rdp(0.7, 5, 1 - 1e-12) == pytest.approx(laplace_rdp(0.7, 5), rel=1e-9)


def test_dp_accounting_agrees_where_it_answers() -> None:
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


def test_once() -> None:
    """Algorithm 1 to the letter: the gain is ln(1 / gamma) at most."""
    unsampled = rdp_epsilon(loss=1.0, queries=1000, delta=1e-4 / 0.3)[0]
    found = rdp_epsilon_once(loss=1.0, queries=1000, delta=1e-4, gamma=0.3)
    assert found == pytest.approx(unsampled - math.log(1 / 0.3), rel=1e-9)
