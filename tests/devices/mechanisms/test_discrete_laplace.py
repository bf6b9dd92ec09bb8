"""The discrete Laplace law, its scales, and a sampler that fits it (bit by bit: test_inversion)."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpsim.devices.mechanisms import discrete_laplace as dl

SCALES = [(1, 1), (3, 2), (2, 7), (5, 36), (40, 3), (1, 1_000)]


@pytest.mark.parametrize(("t", "s"), SCALES)
def test_the_law_adds_to_1(t: int, s: int) -> None:
    z = np.arange(-2000, 2001)
    p = np.exp([dl.log_probability(np.array(k), t, s) for k in z])
    assert p.sum() == pytest.approx(1, abs=1e-12)
    ratios = np.log(p[2000:2005] / p[2001:2006]) if s / t < 100 else np.array([s / t])
    assert ratios == pytest.approx(s / t, rel=1e-9)


@pytest.mark.parametrize(("t", "s"), SCALES)
def test_the_tail_has_80_digits(t: int, s: int) -> None:
    with mpmath.workdps(120):
        rate = mpmath.mpf(s) / t
        for k in (1, 2, 7):
            exact = mpmath.exp(-k * rate) / (1 + mpmath.exp(-rate))
            assert abs(mpmath.mpf(str(dl.tail(k, t, s))) / exact - 1) < mpmath.mpf(10) ** -80


@given(st.floats(1e-4, 40), st.integers(1, 400_000))
def test_a_scale_never_loses_more_than_epsilon(epsilon: float, sensitivity: int) -> None:
    try:
        t, s = dl.scale_for(epsilon, sensitivity=sensitivity)
    except ValueError:
        assert sensitivity / epsilon > 2**31
        return
    dl.check_scale(t, s)
    loss = Fraction(sensitivity * s, t)
    assert loss <= Fraction(repr(epsilon))
    assert loss >= Fraction(repr(epsilon)) * (1 - Fraction(1, 10**5))


def test_readable_budgets_have_exact_scales() -> None:
    assert dl.scale_for(0.1, sensitivity=1) == (10, 1)
    assert dl.scale_for(7.2, sensitivity=1) == (5, 36)
    assert dl.scale_for(1.0, sensitivity=1433 * 256) == (366848, 1)


def test_a_scale_beyond_32_bits_is_one_clear_line() -> None:
    with pytest.raises(ValueError, match="needs a scale beyond"):
        dl.scale_for(1e-6, sensitivity=10**6)
