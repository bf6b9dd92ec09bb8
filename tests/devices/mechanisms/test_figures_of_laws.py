"""Exact figures of losses, and of the laws of noise.

It covers all modules below ``ldpsim.devices.mechanisms``.
"""

from __future__ import annotations

import mpmath
import pytest

from ldpsim.devices.mechanisms import (
    gaussian,
)
from ldpsim.devices.mechanisms.exact_loss import round_up


@pytest.mark.parametrize(
    ("shift", "sigma", "epsilon"), [(1.0, 1.0, 0.0), (3.0, 2.0, 0.7), (1.0, 9.0, 0.4), (2.0, 0.3, 9.0)]
)
def test_the_curve_its_epsilon_and_its_deviation_are_inverse(shift: float, sigma: float, epsilon: float) -> None:
    with mpmath.workdps(40):
        a, b = shift / (2 * mpmath.mpf(sigma)), mpmath.mpf(epsilon) * sigma / shift
        exact = float(mpmath.ncdf(a - b) - mpmath.exp(epsilon) * mpmath.ncdf(-a - b))
    delta = gaussian.delta_of(epsilon, shift=shift, sigma=sigma)
    assert delta == pytest.approx(exact, rel=1e-9)
    found = gaussian.epsilon_of(delta, shift=shift, sigma=sigma)
    assert found == pytest.approx(epsilon, rel=1e-9) and gaussian.delta_of(found, shift=shift, sigma=sigma) <= delta
    assert gaussian.printed_epsilon(delta, shift=shift, sigma=sigma) == round_up(found)
    if epsilon:
        back = gaussian.calibrate(epsilon, delta, shift=shift)
        assert back == pytest.approx(sigma, rel=1e-9)
        assert gaussian.delta_of(epsilon, shift=shift, sigma=back) <= delta
