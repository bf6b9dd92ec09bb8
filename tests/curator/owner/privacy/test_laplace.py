from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import laplace

from ldpsim.curator.owner.privacy.laplace import laplace_edge_epsilon, laplace_epsilon, laplace_epsilon_once
from ldpsim.curator.owner.privacy.rdp import rdp_epsilon


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


@pytest.mark.parametrize("gamma", [0.3, 0.9])
@pytest.mark.parametrize("loss", [0.2, 2.0])
def test_an_edge_in_one_query(loss: float, gamma: float) -> None:
    """delta' = gamma^2 delta at the amplified epsilon, in closed form; and no shift of the noise exceeds it."""
    delta, g = 1e-3, gamma**2
    exact = math.log1p(g * math.expm1(loss + 2 * math.log1p(-delta / g)))
    found = laplace_edge_epsilon(loss=loss, queries=1, delta=delta, gamma=gamma)
    assert exact - 1e-9 <= found <= exact + 1e-3
    x = np.linspace(-40.0, 42.0, 1_640_001) + 1e-7  # in units of the scale

    def law(centre: float) -> np.ndarray:
        return 0.5 * np.exp(-np.abs(x - centre))

    for middle in np.linspace(0, loss, 5):  # where the noise is centred when the edge is not drawn
        one, other = ((1 - g) * law(middle) + g * law(end) for end in (0.0, loss))
        lost = float(np.maximum(one - math.exp(found) * other, 0).sum() * (x[1] - x[0]))
        assert lost <= delta * (1 + 1e-3)


def test_an_edge_in_many_queries_loses_more_than_a_removal_that_is_drawn_as_rarely() -> None:
    """Broken variant: add/remove with gamma^2."""
    asked = {"loss": 0.4, "queries": 500, "delta": 1e-4}
    removed, edge = laplace_epsilon(**asked, gamma=0.09), laplace_edge_epsilon(**asked, gamma=0.3)
    person = laplace_epsilon(**asked, gamma=0.3)
    assert 1.05 * removed < edge < person
    assert laplace_edge_epsilon(**asked, gamma=1.0) == laplace_epsilon(**asked)


@pytest.mark.parametrize(("queries", "gamma"), [(20, 0.5), (100, 0.3)])
def test_an_edge_in_many_queries_by_summing_over_cells_of_the_outputs(queries: int, gamma: float) -> None:
    """Laws seen through cells, losses rounded down: a lower bound, wherever the noise is centred without the edge."""
    from dp_accounting.pld import privacy_loss_distribution

    loss, delta, g, below = 0.8, 1e-4, gamma**2, 0.0
    edges = np.concatenate([[-np.inf], np.linspace(0, loss, 201), [np.inf]])  # outside them no ratio changes

    def law(centre: float) -> np.ndarray:
        return np.diff(laplace.cdf(edges, centre))

    for middle in np.linspace(0, loss, 3):
        one, other = ((1 - g) * law(middle) + g * law(end) for end in (0.0, loss))
        composed = privacy_loss_distribution.from_two_probability_mass_functions(
            dict(enumerate(np.log(other))), dict(enumerate(np.log(one))), pessimistic_estimate=False,
            value_discretization_interval=1e-5, symmetric=False,
        ).self_compose(queries)  # fmt: skip
        below = max(below, float(composed.get_epsilon_for_delta(delta)))
    found = laplace_edge_epsilon(loss=loss, queries=queries, delta=delta, gamma=gamma)
    assert 0.5 * found < below <= found
