"""The multi-bit mechanism by exhaustive enumeration, and the numbers of the reference."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpsim.devices.mechanisms import MultiBit, OneBit
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.mechanisms.feature_bits import sampled_features
from ldpsim.devices.noise import NoiseStream


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
