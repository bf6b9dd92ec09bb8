"""The 1-bit mechanism by exhaustive enumeration, and the formula that HoGS prints."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ldpsim.devices.data.population import Record
from ldpsim.devices.mechanisms import OneBit
from ldpsim.devices.mechanisms.exact_loss import ONE
from ldpsim.devices.noise import NoiseStream

RANGES = [(0.0, 1.0), (-1.0, 1.0), (2.0, 5.0)]


def reports(d: int) -> list[np.ndarray]:
    return [np.array(bits, np.bool_) for bits in itertools.product((False, True), repeat=d)]


def values_of(mechanism: OneBit) -> list[np.ndarray]:
    grid = np.linspace(mechanism.low, mechanism.high, 3)
    return [np.array(v) for v in itertools.product(grid, repeat=mechanism.d)]


def worst_ratios(mechanism: OneBit) -> tuple[float, float]:
    """Largest log ratio over one changed coordinate, and over any change; from log_probability alone."""
    bit = vector = 0.0
    for v, w in itertools.permutations(values_of(mechanism), 2):
        ratio = max(mechanism.log_probability(r, v) - mechanism.log_probability(r, w) for r in reports(mechanism.d))
        vector = max(vector, ratio)
        if np.count_nonzero(v != w) == 1:
            bit = max(bit, ratio)
    return bit, vector


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize(("low", "high"), RANGES)
def test_probabilities_losses_estimates_variances(low: float, high: float, epsilon: float) -> None:
    mechanism = OneBit.from_epsilon(epsilon, d=2, low=low, high=high)
    for value in values_of(mechanism):
        weights = [math.exp(mechanism.log_probability(r, value)) for r in reports(2)]
        assert sum(weights) == pytest.approx(1, abs=1e-12)
        estimates = np.array([mechanism.estimate(r) for r in reports(2)])
        mean = np.average(estimates, axis=0, weights=weights)
        assert mean == pytest.approx(value, abs=1e-9)
        spread = np.average((estimates - mean) ** 2, axis=0, weights=weights)
        assert spread == pytest.approx(mechanism.variance(value), rel=1e-9)
    bit, vector = worst_ratios(mechanism)
    loss = mechanism.loss()
    assert loss.bit == pytest.approx(bit, abs=2e-9) and loss.bit == epsilon
    assert loss.vector == pytest.approx(vector, abs=4e-9) and loss.vector == 2 * epsilon


def test_the_sampler_has_the_stated_law(all_noise) -> None:
    mechanism = OneBit.from_epsilon(1.0, d=2, low=-1.0, high=1.0)
    for value in values_of(mechanism):
        law: dict[bytes, Fraction] = {}
        for noise in all_noise(2):
            report = mechanism.perturb(value, noise)
            law[report.tobytes()] = law.get(report.tobytes(), Fraction(0)) + noise.probability
        assert sum(law.values()) == 1
        for report in reports(2):
            assert math.exp(mechanism.log_probability(report, value)) == pytest.approx(
                float(law[report.tobytes()]), abs=1e-12
            )


def test_ends_of_the_grid_are_exact_and_thresholds_rise() -> None:
    for grid in (1, 3, 1 << 16, 1 << 20):
        mechanism = OneBit(OneBit.from_epsilon(2.0, d=1).flip, 1, 0.0, 1.0, grid)
        steps = mechanism.thresholds(np.linspace(0, 1, 201))
        assert int(steps[0]) == mechanism.flip and int(steps[-1]) == ONE - mechanism.flip
        assert np.all(np.diff(steps.astype(object)) >= 0)


@pytest.mark.parametrize("together", [1, 9])
def test_a_report_of_sparse_features_is_that_of_dense_ones(together: int) -> None:
    """Columns that do not exist count as the nearest one and never raise."""
    rng = np.random.default_rng(1)
    for low, high in [(-1.0, 1.0), (0.0, 1.0), (0.5, 2.0), (-2.0, -1.0)]:  # zero inside, at an end, outside
        mechanism = OneBit.from_epsilon(0.5, d=300, low=low, high=high)
        columns = np.sort(rng.choice(300, 40, replace=False)).astype(np.int32)
        for place, dense_place in ((columns, columns), ([-1, 5, 300, 10**6], [0, 5, 299, 299])):
            values = rng.uniform(low, high, len(place)).astype(np.float32)
            dense = np.zeros(300, np.float32)
            dense[dense_place] = values
            record = Record(np.array(place, np.int32), values, np.zeros(0, np.int32), 0)
            streams = [NoiseStream(bytes([k]) * 32) for k in range(together)]
            wanted = [mechanism.encode(mechanism.perturb(dense, NoiseStream(s.key))) for s in streams]
            assert mechanism.respond([record] * together, streams, devices=range(together)) == wanted
