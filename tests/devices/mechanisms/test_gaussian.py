"""delta(eps) against quadrature and published values; the rounded law (its sampler bit by bit: test_inversion)."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2, norm

from ldpsim.devices.mechanisms import gaussian as g
from ldpsim.devices.noise import NoiseStream

CASES = [(0.1, 1.0, 3.0), (1.0, 1.0, 0.7), (1.0, 2.0, 5.0), (4.0, 1.0, 0.3), (0.0, 1.0, 2.0), (10.0, 3.0, 0.9)]


@pytest.mark.parametrize(("epsilon", "shift", "sigma"), CASES)
def test_delta_is_the_integral(epsilon: float, shift: float, sigma: float) -> None:
    def excess(x: float) -> float:
        return max(0.0, norm.pdf(x, shift, sigma) - math.exp(epsilon) * norm.pdf(x, 0, sigma))

    edge = shift / 2 + epsilon * sigma**2 / shift  # where the excess begins
    integral = quad(excess, edge, edge + 40 * sigma, limit=400, epsabs=1e-14, epsrel=1e-12)[0]
    assert g.delta_of(epsilon, shift=shift, sigma=sigma) == pytest.approx(integral, rel=1e-8, abs=1e-13)


@pytest.mark.parametrize("epsilon", [0.5, 5.0, 50.0, 500.0])
def test_delta_keeps_its_digits_far_out(epsilon: float) -> None:
    mpmath.mp.dps = 60
    for sigma in (0.05, 0.2, 1.0):
        s, e = mpmath.mpf(sigma), mpmath.mpf(epsilon)
        a, b = (side / (2 * s) - e * s for side in (1, -1))
        exact = mpmath.ncdf(a) - mpmath.exp(epsilon) * mpmath.ncdf(b)
        found = g.delta_of(epsilon, shift=1.0, sigma=sigma)
        assert found == pytest.approx(float(exact), rel=1e-10, abs=1e-290)


def test_calibration_and_its_inverse() -> None:
    assert g.calibrate(1.0, 1e-5, shift=1.0) == pytest.approx(3.730631634816, abs=1e-9)  # Balle and Wang 2018
    for epsilon in (0.01, 1.0, 8.0, 40.0):
        for delta in (1e-10, 1e-5, 0.1):
            sigma = g.calibrate(epsilon, delta, shift=7.0)
            assert g.delta_of(epsilon, shift=7.0, sigma=sigma) <= delta
            assert g.delta_of(epsilon, shift=7.0, sigma=sigma * (1 - 1e-9)) > delta
            assert g.epsilon_of(delta, shift=7.0, sigma=sigma) == pytest.approx(epsilon, rel=1e-6)
    assert g.epsilon_of(0.5, shift=1.0, sigma=10.0) == 0.0


def test_a_sigma_from_which_the_search_starts_may_be_smaller() -> None:
    """Near 1 delta has one value for many sigmas; the search begins at one of them and returns a smaller one."""
    delta = g.delta_of(17.0, shift=1.0, sigma=1 / 17)
    sigma = g.calibrate(17.0, delta, shift=1.0)
    assert g.delta_of(17.0, shift=1.0, sigma=sigma) <= delta and sigma < 1 / 17 * (1 - 1e-6)


def test_the_textbook_formula_is_no_guarantee_above_1() -> None:
    """Named broken variant: sigma = sqrt(2 ln(1.25 / delta)) / eps, proved for eps < 1 only."""
    epsilon, delta = 20.0, 1e-5
    classical = math.sqrt(2 * math.log(1.25 / delta)) / epsilon
    assert g.delta_of(epsilon, shift=1.0, sigma=classical) > 10 * delta
    assert g.delta_of(0.5, shift=1.0, sigma=math.sqrt(2 * math.log(1.25 / delta)) / 0.5) < delta


@pytest.mark.parametrize("sigma", [0.25, 0.5, 1.0, 3.7])
def test_the_rounded_law(sigma: float) -> None:
    z = np.arange(-60, 61)
    p = np.exp([g.log_probability(np.array(k), sigma) for k in z])
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert (p * z * z).sum() == pytest.approx(g.variance(sigma), rel=1e-9)
    assert p[60] == pytest.approx(2 * norm.cdf(0.5 / sigma) - 1, rel=1e-12)


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(3)])
def test_the_sampler_fits_the_law(sigma: Fraction) -> None:
    drawn = g.sample(NoiseStream(bytes([8]) * 32), sigma, 60_000)
    inside = np.arange(-math.ceil(3.4 * sigma), math.ceil(3.4 * sigma) + 1)
    expected = 60_000 * np.exp([g.log_probability(np.array(z), float(sigma)) for z in inside])
    kept = expected >= 20
    observed = np.array([np.count_nonzero(drawn == z) for z in inside])
    statistic = ((observed - expected) ** 2 / expected)[kept].sum()
    assert chi2.sf(statistic, kept.sum() - 1) > 1e-6
    # power: noise that is cut off, not rounded, puts far too much on 0
    cut = np.trunc(np.random.default_rng(0).normal(size=60_000) * float(sigma))
    observed = np.array([np.count_nonzero(cut == z) for z in inside])
    assert chi2.sf(((observed - expected) ** 2 / expected)[kept].sum(), kept.sum() - 1) < 1e-100


def test_upper_tail_digits() -> None:
    mpmath.mp.dps = 70
    for x in (Fraction(0), Fraction(1, 3), Fraction(5), Fraction(38, 4)):
        exact = mpmath.erfc(mpmath.mpf(x.numerator) / x.denominator / mpmath.sqrt(2)) / 2
        assert abs(mpmath.mpf(str(g.upper_tail(x))) - exact) < mpmath.mpf(10) ** -60
