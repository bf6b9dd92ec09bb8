"""Generalised randomised response by exhaustive enumeration, and the formula that RGNN prints."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ldpsim.devices.mechanisms import GRR
from ldpsim.devices.noise import NoiseStream


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("g", [2, 3, 4, 7])
def test_law_loss_estimate_variance(g: int, epsilon: float, all_noise) -> None:
    mechanism = GRR.from_epsilon(epsilon, categories=g)
    table = np.zeros((g, g))
    for value in range(g):
        law = [Fraction(0)] * g
        for noise in all_noise(1, g - 1):
            report = mechanism.perturb(value, noise)
            law[int(report)] += noise.probability
        assert sum(law) == 1
        for report in range(g):
            table[value, report] = mechanism.log_probability(report, value)
            assert math.exp(table[value, report]) == pytest.approx(float(law[report]), abs=1e-12)
    assert np.exp(table).sum(axis=1) == pytest.approx(np.ones(g), abs=1e-12)
    worst = max(table[v, r] - table[w, r] for v in range(g) for w in range(g) for r in range(g))
    loss = mechanism.loss()
    assert loss.bit == loss.vector == pytest.approx(worst, abs=2e-9) and loss.bit == epsilon
    estimates = np.array([mechanism.estimate(r) for r in range(g)])
    for value in range(g):
        weights = np.exp(table[value])
        onehot = (np.arange(g) == value).astype(float)
        assert weights @ estimates == pytest.approx(onehot, abs=1e-9)


def test_a_label_outside_the_domain_is_category_0_silently() -> None:
    mechanism = GRR.from_epsilon(1.0, categories=4)
    for strange in (-1, 4, 10**9):
        for seed in range(40):
            key = bytes([seed]) * 32
            assert mechanism.perturb(strange, NoiseStream(key)) == mechanism.perturb(0, NoiseStream(key))
        assert mechanism.log_probability(2, strange) == mechanism.log_probability(2, 0)


def test_both_draws_are_made_whichever_is_used() -> None:
    class Counting(NoiseStream):
        drawn = 0

        def _draw(self, lane: int, size: int) -> np.ndarray:
            self.drawn += size
            return super()._draw(lane, size)

    streams = []
    for value in range(4):
        for seed in range(20):
            stream = Counting(bytes([seed]) * 32)
            GRR.from_epsilon(3.0, categories=5).perturb(value, stream)
            streams.append(stream.drawn)
    assert set(streams) == {2}
