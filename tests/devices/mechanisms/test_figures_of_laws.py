"""Exact figures of losses, and of the laws of noise.

It covers all modules below ``ldpsim.devices.mechanisms``.
"""

from __future__ import annotations

import mpmath
import pytest

from ldpsim.devices import mechanisms
from ldpsim.devices.mechanisms import (
    gaussian,
)
from ldpsim.devices.mechanisms.exact_loss import probability_threshold, round_up


@pytest.mark.parametrize(("epsilon", "k", "j"), [(1.0, 1, 1), (0.3, 6, 1), (2.5, 9, 4), (44.0, 1, 1), (1e-9, 1, 1)])
def test_a_threshold_is_the_probability_rounded_up(epsilon: float, k: int, j: int) -> None:
    with mpmath.workdps(60):
        exact = mpmath.mpf(2) ** 64 * k / (j * mpmath.exp(mpmath.mpf(repr(epsilon))) + k)
        assert probability_threshold(epsilon, k, j) == int(mpmath.ceil(exact))


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


EXAMPLES = {
    kind.name: kind.audit_examples() for kind in mechanisms.BUILT_IN.values() if hasattr(kind, "audit_examples")
}


def test_an_audit_tries_several_budgets_of_every_kind() -> None:
    """At least two losses of the whole, one of them small; all examples fit the people that they are about."""
    for name, examples in EXAMPLES.items():
        losses = {round(made.loss().vector, 3) for made, _ in examples}
        assert len(losses) > 1 and min(losses) <= 2, name
        assert all(made.agrees_with(facts) and facts.n <= 5 and facts.classes <= 7 for made, facts in examples)
