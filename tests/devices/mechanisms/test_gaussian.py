"""delta(eps) against quadrature and published values; the rounded law (its sampler bit by bit: test_inversion)."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.stats import norm

from ldpsim.devices.mechanisms import gaussian as g


@pytest.mark.parametrize("epsilon", [0.5, 5.0, 50.0, 500.0])
def test_delta_keeps_its_digits_far_out(epsilon: float) -> None:
    mpmath.mp.dps = 60
    for sigma in (0.05, 0.2, 1.0):
        s, e = mpmath.mpf(sigma), mpmath.mpf(epsilon)
        a, b = (side / (2 * s) - e * s for side in (1, -1))
        exact = mpmath.ncdf(a) - mpmath.exp(epsilon) * mpmath.ncdf(b)
        found = g.delta_of(epsilon, shift=1.0, sigma=sigma)
        assert found == pytest.approx(float(exact), rel=1e-10, abs=1e-290)


@pytest.mark.parametrize("sigma", [0.25, 0.5, 1.0, 3.7])
def test_the_rounded_law(sigma: float) -> None:
    z = np.arange(-60, 61)
    p = np.exp([g.log_probability(np.array(k), sigma) for k in z])
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert p[60] == pytest.approx(2 * norm.cdf(0.5 / sigma) - 1, rel=1e-12)


def test_upper_tail_digits() -> None:
    mpmath.mp.dps = 70
    for x in (Fraction(0), Fraction(1, 3), Fraction(5), Fraction(38, 4)):
        exact = mpmath.erfc(mpmath.mpf(x.numerator) / x.denominator / mpmath.sqrt(2)) / 2
        assert abs(mpmath.mpf(str(g.upper_tail(x))) - exact) < mpmath.mpf(10) ** -60
