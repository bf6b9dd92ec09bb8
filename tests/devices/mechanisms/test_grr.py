"""Generalised randomised response by exhaustive enumeration, and the formula that RGNN prints."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR
from ldpsim.devices.mechanisms.exact_loss import ONE
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


@pytest.mark.parametrize(
    ("g", "epsilon", "p", "q"),
    [
        (2, 1, 0.731058579, 0.268941421), (4, 1, 0.475366886, 0.174877705),
        (7, 1, 0.311791002, 0.114701500), (7, 0.5, 0.215555151, 0.130740808),
    ],
)  # fmt: skip
def test_published_figures(g: int, epsilon: float, p: float, q: float) -> None:
    mechanism = GRR.from_epsilon(epsilon, categories=g)
    assert (mechanism.truth_probability, mechanism.other_probability) == (
        pytest.approx(p, abs=5e-10), pytest.approx(q, abs=5e-10),
    )  # fmt: skip
    # P^-1 v = (v - q sum(v)) / (p - q) inverts the transition matrix.
    matrix = np.full((g, g), mechanism.other_probability)
    np.fill_diagonal(matrix, mechanism.truth_probability)
    inverse = np.stack([mechanism.estimate(r) for r in range(g)])
    assert matrix @ inverse == pytest.approx(np.eye(g), abs=1e-9)


def test_what_rgnn_prints_for_features_is_no_distribution() -> None:
    g, epsilon = 2, 1.0
    p = math.exp(epsilon) / (math.exp(epsilon + g) - 1)
    q = 1 / (math.exp(epsilon + g) - 1)
    assert (p, q) == (pytest.approx(0.142426, abs=5e-7), pytest.approx(0.052396, abs=5e-7))
    assert p + (g - 1) * q == pytest.approx(0.194822, abs=1e-6)
    mechanism = GRR.from_epsilon(epsilon, categories=g)
    assert mechanism.truth_probability + (g - 1) * mechanism.other_probability == pytest.approx(1, abs=1e-15)


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


def test_reports_survive_the_wire() -> None:
    mechanism = GRR.from_epsilon(1.0, categories=300)
    for report in (0, 7, 255, 256, 299):
        assert mechanism.decode(mechanism.encode(report), device=0) == report
    for wrong in (b"", b"\0", b"\0\0\0", (300).to_bytes(2, "little"), b"\xff\xff"):
        with pytest.raises(ValueError, match="not a report of grr"):
            mechanism.decode(wrong, device=0)


@pytest.mark.parametrize(
    ("lie", "g"), [(0, 3), (-1, 3), (ONE, 3), (ONE // 2, 2), (1, 1), (1, 0), (1, (1 << 16) + 1), (ONE // 3 * 2 + 1, 3)]
)
def test_parameters_out_of_range_are_refused(lie: int, g: int) -> None:
    with pytest.raises(ValueError):
        GRR(lie, g)


def test_domains_and_facts() -> None:
    for g in (1, 0, -3):
        with pytest.raises(ValueError, match="at least 2"):
            GRR.from_epsilon(1.0, categories=g)
    mechanism = GRR.from_epsilon(1.0, categories=3)
    assert mechanism.agrees_with(PublicFacts(9, 4, 3)) and not mechanism.agrees_with(PublicFacts(9, 4, 4))
