"""Discrete Laplace and rounded Gaussian features: exact losses, estimates, the grid, the wire.

This file also covers ``devices/mechanisms/analytic_gaussian.py``.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import AnalyticGaussian, Laplace

KINDS = [
    lambda **grid: Laplace.from_epsilon(1.5, **grid),
    lambda **grid: AnalyticGaussian.from_epsilon(1.5, delta=1e-4, **grid),
]


@pytest.mark.parametrize("make", KINDS)
def test_estimates_are_unbiased_on_the_grid(make) -> None:
    mechanism = make(d=1, low=2.0, high=5.0, grid=4)
    reports = np.arange(-400, 405)
    for value in (2.0, 2.75, 5.0):
        weights = np.exp([mechanism.log_probability(np.array([r]), np.array([value])) for r in reports])
        estimates = np.array([mechanism.estimate(np.array([r]))[0] for r in reports])
        assert weights.sum() == pytest.approx(1, abs=1e-12)
        mean = weights @ estimates
        assert mean == pytest.approx(value, abs=1e-10)


def test_the_gaussians_delta_bounds_what_is_released() -> None:
    """The exact delta(eps) of the rounded mechanism, by summation: below the curve, and close to it."""
    mechanism = AnalyticGaussian.from_epsilon(1.0, delta=1e-3, d=1, grid=8)
    z = np.arange(-400, 401)
    far, near = (np.array([mechanism.log_probability(np.array([r]), np.array([v])) for r in z]) for v in (1.0, 0.0))
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        exact = np.maximum(0, np.exp(far) - np.exp(epsilon + near)).sum()
        curve = mechanism.delta_of(epsilon)
        assert 0.98 * curve < exact <= curve
    assert mechanism.delta_of(1.0) == pytest.approx(1e-3, rel=1e-6) and mechanism.delta_of(1.0) <= 1e-3


def test_the_gaussians_loss_is_the_curve_at_its_delta() -> None:
    mechanism = AnalyticGaussian.from_epsilon(1.0, delta=1e-10, d=1433)
    loss = mechanism.loss()
    assert loss.vector == pytest.approx(1.0, abs=2e-9) and loss.vector <= 1.0 and loss.delta == 1e-10
    assert mechanism.delta_of(loss.bit, changed=1) <= 1e-10 < mechanism.delta_of(loss.bit - 1e-6, changed=1)
    assert 0 < loss.bit < loss.vector
    sigma = mechanism.sigma / mechanism.grid
    assert norm.cdf(math.sqrt(1433) / 2 / sigma - sigma / math.sqrt(1433)) - math.e * norm.cdf(
        -math.sqrt(1433) / 2 / sigma - sigma / math.sqrt(1433)
    ) == pytest.approx(1e-10, rel=1e-4)


def test_a_device_agrees_to_no_delta_of_1_over_n() -> None:
    mechanism = AnalyticGaussian.from_epsilon(1.0, delta=1e-3, d=4)
    assert mechanism.agrees_with(PublicFacts(999, 4, 2)) and not mechanism.agrees_with(PublicFacts(1000, 4, 2))
    assert not mechanism.agrees_with(PublicFacts(99, 5, 2)) and not mechanism.agrees_with(PublicFacts(99, 4, 2, -1.0))
    assert Laplace.from_epsilon(1.0, d=4).agrees_with(PublicFacts(999, 4, 2))
    assert not Laplace.from_epsilon(1.0, d=4).agrees_with(PublicFacts(999, 4, 2, 0.0, 2.0))
