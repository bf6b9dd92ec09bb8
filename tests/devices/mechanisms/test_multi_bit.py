"""The multi-bit mechanism by exhaustive enumeration, and the numbers of the reference."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ldpsim.devices.mechanisms import MultiBit, OneBit
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.mechanisms.feature_bits import sampled_features
from ldpsim.devices.noise import NoiseStream

SMALL = [(1, 1), (2, 1), (3, 1), (3, 2), (3, 3), (4, 2), (4, 3)]


def reports(d: int, m: int) -> list[np.ndarray]:
    every = itertools.product((-1, 0, 1), repeat=d)
    return [np.array(r, np.int8) for r in every if np.count_nonzero(r) == m]


def values(mechanism: MultiBit, points: int = 2) -> list[np.ndarray]:
    grid = np.linspace(mechanism.low, mechanism.high, points)
    return [np.array(v) for v in itertools.product(grid, repeat=mechanism.d)]


def worst_ratio(mechanism: MultiBit, changed: int) -> float:
    pairs = [(v, w) for v, w in itertools.permutations(values(mechanism), 2) if np.count_nonzero(v != w) == changed]
    every = reports(mechanism.d, mechanism.m)
    return max(mechanism.log_probability(r, v) - mechanism.log_probability(r, w) for v, w in pairs for r in every)


@pytest.mark.parametrize(("d", "m"), SMALL)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_losses_by_enumeration(d: int, m: int, epsilon: float) -> None:
    mechanism = MultiBit.from_epsilon(epsilon, d=d, m=m, low=-1.0, high=2.0)
    for value in values(mechanism, 3):
        assert sum(math.exp(mechanism.log_probability(r, value)) for r in reports(d, m)) == pytest.approx(1, abs=1e-12)
    for k in range(1, d + 1):
        assert mechanism.loss_of(k) == pytest.approx(worst_ratio(mechanism, k), abs=3e-9)
        assert mechanism.loss_of(k) == pytest.approx(min(k, m) * epsilon / m, abs=3e-9)
    assert mechanism.loss().vector <= epsilon + 1e-9 and mechanism.loss().bit == mechanism.loss_of(1)


@pytest.mark.parametrize(("d", "m"), SMALL)
def test_the_rectifier_is_unbiased_with_the_stated_variance(d: int, m: int) -> None:
    mechanism = MultiBit.from_epsilon(1.3, d=d, m=m, low=-1.0, high=2.0)
    estimates = np.array([mechanism.estimate(r) for r in reports(d, m)])
    for value in values(mechanism, 3):
        weights = np.exp([mechanism.log_probability(r, value) for r in reports(d, m)])
        mean = weights @ estimates
        assert mean == pytest.approx(value, abs=1e-9)
        spread = (estimates - mean).T @ ((estimates - mean) * weights[:, None])
        assert mechanism.variance(value) == pytest.approx(np.diag(spread), abs=1e-8)
        half, middle = (mechanism.high - mechanism.low) / 2, (mechanism.high + mechanism.low) / 2
        e = math.exp(1.3 / m)
        printed = d / m * (half * (e + 1) / (e - 1)) ** 2 - (value - middle) ** 2  # Proposition 3.3
        assert mechanism.variance(value) == pytest.approx(printed, abs=1e-8)


@pytest.mark.parametrize(("d", "m"), [(3, 1), (3, 2), (2, 2)])
def test_the_sampler_has_the_stated_law(law, d: int, m: int) -> None:
    mechanism = MultiBit.from_epsilon(1.0, d=d, m=m)
    for value in values(mechanism, 3):
        found, lost = law(lambda noise, value=value: mechanism.perturb(value, noise))
        assert lost == 0 and len(found) == len(reports(d, m))
        for report in reports(d, m):
            stated = math.exp(mechanism.log_probability(report, value))
            assert found[report.tobytes()] == pytest.approx(stated, abs=1e-12)


def test_the_numbers_of_the_reference() -> None:
    a = MultiBit.from_epsilon(1.0, d=4, m=2)
    assert 1 - a.flip / ONE == pytest.approx(0.622459331, abs=5e-10)
    assert a.slope == pytest.approx(4.082988165, abs=5e-10)
    assert a.variance(np.array([0.5, 1, 0, 0.5]))[:2] == pytest.approx([8.335396178, 8.085396178], abs=5e-10)
    b = MultiBit.from_epsilon(1.0, d=10, m=1)
    assert b.slope == pytest.approx(10.819767069, abs=5e-10)
    assert b.variance(np.linspace(0, 1, 10))[[0, 9]] == pytest.approx([11.456735942] * 2, abs=5e-10)
    assert b.variance(np.full(10, 0.5))[0] == pytest.approx(11.706735942, abs=5e-10)


def test_all_features_is_1_bit_at_full_budget() -> None:
    mechanism, one_bit = MultiBit.from_epsilon(3.0, d=6, m=6), OneBit.from_epsilon(0.5, d=6)
    assert mechanism.flip == one_bit.flip and mechanism.loss() == one_bit.loss()
    value = np.linspace(0, 1, 6)
    bits = one_bit.perturb(value, NoiseStream(bytes(32)))
    assert mechanism.perturb(value, NoiseStream(bytes(32))).tolist() == np.where(bits, 1, -1).tolist()
    assert mechanism.estimate(np.where(bits, 1, -1)) == pytest.approx(one_bit.estimate(bits))


def spread_of(m: int, epsilon: float) -> float:
    return 1 / (m * math.tanh(epsilon / (2 * m)) ** 2)


def test_the_number_of_sampled_features_is_the_integer_optimum() -> None:
    switches = [3.057141839, 5.319868393, 7.532805550, 9.729749513, 11.919511835, 14.105428873]
    for m, switch in enumerate(switches, start=1):
        assert sampled_features(switch - 2e-9, 100) == m and sampled_features(switch + 2e-9, 100) == m + 1
        assert spread_of(m, switch) == pytest.approx(spread_of(m + 1, switch), abs=1e-8)
    for epsilon in np.linspace(0.01, 60, 700):
        for d in (1, 3, 40):
            best = min(range(1, d + 1), key=lambda m: spread_of(m, epsilon))
            assert sampled_features(float(epsilon), d) == best
    z = 2.177318985
    assert math.sinh(z) == pytest.approx(2 * z, abs=1e-8)
