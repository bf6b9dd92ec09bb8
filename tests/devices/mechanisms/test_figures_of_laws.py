"""Exact figures of losses, and of the laws of noise.

It covers all modules below ``ldpsim.devices.mechanisms``.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from ldpsim.devices import mechanisms
from ldpsim.devices.mechanisms import (
    GRR,
    AnalyticGaussian,
    ClearAdjacency,
    ClearFeatures,
    ClearLabel,
    Degree,
    GroupDegrees,
    Laplace,
    MultiBit,
    NoisyRow,
    OneBit,
    RandomizedResponse,
    SubsetSelection,
    Window,
    discrete_laplace,
    exact_loss,
    gaussian,
    subset_mixture,
)
from ldpsim.devices.mechanisms.exact_loss import Loss, probability_threshold, round_up
from tests.devices.mechanisms.examples import FS, VOTE, person


def test_losses_are_summed_and_rounded_up_at_the_ninth_digit() -> None:
    assert [round_up(x) for x in (1.0, 1.0000000001, Decimal("0.1234567890001"), 0.0, math.inf, -math.inf)] == [
        1.0, 1.000000001, 0.123456790, 0.0, math.inf, -math.inf
    ]  # fmt: skip
    assert Loss(0.1, 0.7, 1e-6) + Loss(0.2, 0.1, 2e-6) == Loss(0.3, 0.8, 3e-6)
    assert exact_loss.log_ratio(3, 1, 2) == math.ceil(2e9 * math.log(3)) / 1e9
    assert exact_loss.log_ratio(3, 1) == math.ceil(1e9 * math.log(3)) / 1e9
    for wrong in (0, -1.0, math.nan, math.inf, "1", None):
        with pytest.raises(ValueError, match="epsilon must be a finite number above 0"):
            exact_loss.check_epsilon(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("epsilon", "k", "j"), [(1.0, 1, 1), (0.3, 6, 1), (2.5, 9, 4), (44.0, 1, 1), (1e-9, 1, 1)])
def test_a_threshold_is_the_probability_rounded_up(epsilon: float, k: int, j: int) -> None:
    with mpmath.workdps(60):
        exact = mpmath.mpf(2) ** 64 * k / (j * mpmath.exp(mpmath.mpf(repr(epsilon))) + k)
        assert probability_threshold(epsilon, k, j) == int(mpmath.ceil(exact))


def test_the_scale_of_the_noise_is_the_fraction_of_the_budget() -> None:
    assert discrete_laplace.scale_for(0.5, sensitivity=1) == (2, 1)
    assert discrete_laplace.scale_for(1.2, sensitivity=9) == (15, 2)
    for epsilon, sensitivity in ((math.pi, 7), (1 / 3, 1000), (1e5 / 7, 3)):
        t, s = discrete_laplace.scale_for(epsilon, sensitivity=sensitivity)
        assert max(t, s) < 1 << 32 and math.gcd(t, s) == 1
        assert 0 <= Fraction(repr(epsilon)) - Fraction(sensitivity * s, t) < Fraction(repr(epsilon)) / 10**5
    assert discrete_laplace.scale_for(1.0, sensitivity=(1 << 32) - 1) == ((1 << 32) - 1, 1)
    assert [discrete_laplace.loss(3, 2, shift=k) for k in (0, 5)] == [0.0, round_up(Decimal(10) / 3)]


@pytest.mark.parametrize(("t", "s"), [(1, 1), (7, 2), (2, 9)])
def test_the_noise_has_the_law_of_its_formulas(t: int, s: int) -> None:
    z = np.arange(-400, 401)
    law = np.exp([discrete_laplace.log_probability(np.array([k]), t, s) for k in z])
    assert law.sum() == pytest.approx(1, rel=1e-12)
    assert discrete_laplace.log_probability(np.array([3, -2]), t, s) == pytest.approx(
        math.log(law[403]) + math.log(law[398])
    )
    assert discrete_laplace.variance(t, s) == pytest.approx(float(law @ z**2), rel=1e-9)
    for k in (1, 2, 5):
        assert float(discrete_laplace.tail(k, t, s)) == pytest.approx(law[z >= k].sum(), rel=1e-12)
        found = discrete_laplace.evidence(np.array([k, -k]), t, s, shift=3)
        assert found == pytest.approx([math.log(law[400 + at - 3] / law[400 + at]) for at in (k, -k)])
    assert discrete_laplace.variance(1, 800) == 0.0 < discrete_laplace.variance(1, 600)


@pytest.mark.parametrize("sigma", [0.25, 0.4, 0.7, 2.0, 30.0])
def test_rounded_gaussian_noise_has_the_law_of_its_formulas(sigma: float) -> None:
    z = np.arange(-300, 301)
    normal = mpmath.ncdf
    law = np.array([float(normal((k + 0.5) / sigma) - normal((k - 0.5) / sigma)) for k in z.tolist()])
    assert gaussian.variance(sigma) == pytest.approx(float(law @ z**2), rel=1e-9, abs=1e-12)
    for k in (-2, 0, 1):
        stated = gaussian.log_probability(np.array([k, 0]), sigma)
        assert stated == pytest.approx(math.log(law[300 + k]) + math.log(law[300]), rel=1e-9, abs=1e-12)


def test_the_tail_of_the_normal_law_is_good_to_75_digits() -> None:
    with mpmath.workdps(120):
        for x in (Fraction(0), Fraction(1, 3), Fraction(5, 2), Fraction(9)):
            exact = mpmath.erfc(mpmath.mpf(x.numerator) / x.denominator / mpmath.sqrt(2)) / 2
            assert abs(mpmath.mpf(str(gaussian.upper_tail(x))) - exact) < mpmath.mpf(10) ** -75


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


def test_the_loss_of_a_mixture_over_subsets_by_enumeration() -> None:
    """Two features of 2 and one of 3 categories: every pair of values and every report, in fractions."""
    law: dict[tuple[Any, Any], Fraction] = {}
    every = list(itertools.product(range(2), range(3), range(3)))
    pq = [(Fraction(3, 4), Fraction(1, 4)), *[(Fraction(3, 4), Fraction(1, 8))] * 2]
    for value, report in itertools.product(every, every):
        total = Fraction(0)
        for chosen in itertools.combinations(range(3), FS.m):
            part = Fraction(1, 3)
            for i, g in enumerate(FS.domains):
                part *= pq[i][value[i] != report[i]] if i in chosen else Fraction(1, g)
            total += part
        law[value, report] = total
        assert FS.log_probability(np.array(report), np.array(value)) == pytest.approx(math.log(total), abs=1e-12)
    for moved in ((0,), (1,), (0, 1), (1, 2), (0, 1, 2)):
        worst = max(law[v, r] / law[w, r] for v, w, r in itertools.product(every, every, every)
                    if {i for i in range(3) if v[i] != w[i]} == set(moved))  # fmt: skip
        stated = FS.loss_of_domains([FS.domains[i] for i in moved])
        assert stated == pytest.approx(math.log(worst), abs=1.1e-9) and stated >= math.log(worst) - 1e-15
    assert FS.loss() == Loss(FS.loss_of_domains([3]), pytest.approx(2 * math.log(6), abs=1.1e-9))
    assert [FS.loss_of(k) for k in (1, 2)] == [FS.loss_of_domains(c) for c in ([3], [3, 3])]
    assert FS.correction(3)[0] * FS.marginals(3)[0] + FS.correction(3)[1] == pytest.approx(1)
    assert FS.correction(2)[0] * FS.marginals(2)[1] + FS.correction(2)[1] == pytest.approx(0, abs=1e-12)
    whole = FS.loss().vector
    assert FS.claimed_loss() == pytest.approx(math.log(1 + 2 / 3 * (math.exp(whole) - 1)), abs=1e-9)


def test_the_steps_of_judging_a_mixture() -> None:
    assert subset_mixture.steps((2, 2, 2), 2) == 2 * (3 + 2 + 2 * 2) + 8
    assert subset_mixture.steps((2,), 1) == 2 * (2 + 2 + 2 * 2) + 8
    assert subset_mixture.steps((2, 3, 3), 2) == 2 * ((2 + 3) + 2 + 3 * 3) + 16 == FS.judging_steps
    factors = [(Decimal(2), 3), (Decimal(5), 1), (Decimal("0.5"), 2)]
    numbers = [2, 2, 2, 5, 0.5, 0.5]
    for m in range(1, 7):
        wanted = sum(math.prod(some) for some in itertools.combinations(numbers, m))
        assert float(subset_mixture.elementary(factors, m)) == pytest.approx(wanted)


EXAMPLES = {
    kind.name: kind.audit_examples() for kind in mechanisms.BUILT_IN.values() if hasattr(kind, "audit_examples")
}


def test_an_audit_tries_several_budgets_of_every_kind() -> None:
    """At least two losses of the whole, one of them small; all examples fit the people that they are about."""
    for name, examples in EXAMPLES.items():
        losses = {round(made.loss().vector, 3) for made, _ in examples}
        assert len(losses) > 1 and min(losses) <= 2, name
        assert all(made.agrees_with(facts) and facts.n <= 5 and facts.classes <= 7 for made, facts in examples)


EVERY: list[tuple[Any, Any, Any]] = [
    (RandomizedResponse(1 << 60, 4), np.zeros(3, np.bool_), np.ones(3, np.bool_)),
    (ClearAdjacency(4), np.zeros(3, np.bool_), np.ones(3, np.bool_)),
    (NoisyRow(2, 1, 4), np.zeros(3, np.int64), np.arange(3)),
    (Degree(2, 1, 4), 2, 5), (GroupDegrees(2, 1, 4, 2), np.array([1, 0]), np.array([3, 2])),
    (ClearLabel(3), 1, 2), (GRR(1 << 60, 3), 1, 2), (SubsetSelection(1 << 60, 1, 3), 1, np.array([True, False, False])),
    (ClearFeatures(3), np.zeros(3), np.ones(3)), (OneBit(1 << 60, 3), np.zeros(3), np.ones(3, np.bool_)),
    (MultiBit(1 << 60, 3, 1), np.zeros(3), np.array([0, 1, 0])),
    (Window.from_epsilon(1.0, d=3), np.zeros(3), np.array([0, 9, 0])),
    (Laplace(2, 1, 3), np.zeros(3), np.arange(3)), (AnalyticGaussian(1 << 36, 1e-5, 3), np.zeros(3), np.arange(3)),
    (FS, np.array([0, 1, 2]), np.array([1, 1, 0])), (VOTE, VOTE.value_of(person(), device=0), 1),
]  # fmt: skip


@pytest.mark.parametrize(("mechanism", "value", "report"), EVERY, ids=lambda value: getattr(value, "name", ""))
def test_no_device_loses_more_than_the_largest_loss(mechanism: Any, value: Any, report: Any) -> None:
    assert np.all(np.isfinite(mechanism.estimate(report))) and mechanism.log_probability(report, value) <= 0
    assert mechanism.loss(device=1).vector <= mechanism.loss().vector
