"""Majority, likelihood and plurality over repeated reports."""

from __future__ import annotations

import math

import numpy as np
import pytest

from curator.attacks.averaging import (
    BitTally,
    LabelTally,
    evidence,
    label_weight,
    recovered_bits,
    recovered_labels,
    weight_of,
)
from devices.mechanisms import (
    GRR,
    ClearAdjacency,
    ClearFeatures,
    ClearLabel,
    Degree,
    Laplace,
    MultiBit,
    OneBit,
    RandomizedResponse,
)


def test_equal_weights_are_a_majority_and_ties_are_seen() -> None:
    tally = BitTally(2, 3)
    for bits in ([1, 0, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0]):
        tally.add(0, np.array(bits, bool), 0.7)
    odds = tally.log_odds()
    assert np.sign(odds[0]).tolist() == [1, -1, 0] and not odds[1].any()
    truth = np.array([[True, False, True], [True, True, True]])
    assert recovered_bits(odds, truth) == (2 + 0.5 + 1.5) / 6
    assert recovered_bits(odds, truth, np.array([[True, True, False], [False, False, False]])) == 1.0


def test_different_budgets_weigh_as_much_as_they_say() -> None:
    tally = BitTally(1, 2)
    for bit, weight in ((1, 1.0), (0, 2.0), (1, 0.5), (1, 0.4)):
        tally.add(0, np.array([bit, 1 - bit], bool), weight)
    assert tally.log_odds()[0] == pytest.approx([1.0 - 2.0 + 0.5 + 0.4, -1.0 + 2.0 - 0.5 - 0.4])
    tally.add_evidence(0, np.array([0.2, 0.0]))
    tally.add(0, np.array([True, True]), 1.0)
    assert tally.log_odds()[0] == pytest.approx([1.1, 1.1])


def test_the_diagonal_is_skipped() -> None:
    tally = BitTally(3, 3)
    tally.add(1, np.array([True, True]), 1.0, skip=1)
    assert tally.log_odds()[1].tolist()[::2] == [1.0, 1.0]
    tally.add_evidence(1, np.array([2.0, 3.0]), skip=1)
    assert tally.log_odds()[1].tolist()[::2] == [3.0, 4.0]


def test_labels_by_plurality_and_by_likelihood() -> None:
    tally = LabelTally(3, 3)
    for row, report in ((0, 1), (0, 1), (0, 2), (1, 0), (1, 2)):
        tally.add(row, report, 1.0)
    assert recovered_labels(tally.likelihoods(), np.array([1, 2, -1])) == (1 + 0.5) / 2
    tally.add(0, 2, 1.5)  # one report of a larger budget outweighs one of a smaller
    tally.add(0, 2, 1.5)
    assert np.argmax(tally.likelihoods()[0]) == 2
    assert recovered_labels(tally.likelihoods(), np.array([2, 1, 0])) == pytest.approx((1 + 0 + 1 / 3) / 3)


def test_evidence_is_the_log_likelihood_ratio() -> None:
    """ln Pr[report | high] - ln Pr[report | low], by each mechanism's own law."""
    one, many = OneBit.from_epsilon(1.3, d=2), MultiBit.from_epsilon(2.0, d=2, m=1)
    noisy = Laplace.from_epsilon(1.0, d=2, grid=4)
    for mechanism, report in ((one, np.array([True, False])), (many, np.array([0, -1], np.int8)),
                              (noisy, np.array([7, -1]))):  # fmt: skip
        found = evidence(mechanism, report)
        assert found is not None
        for entry in range(2):
            high, low = np.zeros(2), np.zeros(2)
            high[entry] = 1.0
            ratio = mechanism.log_probability(report, high) - mechanism.log_probability(report, low)
            assert found[entry] == pytest.approx(ratio, abs=1e-9)
    response = RandomizedResponse.from_epsilon(0.8, n=3)
    assert evidence(response, np.array([True, False])) == pytest.approx([0.8, -0.8])
    assert evidence(Degree.from_epsilon(1.0, n=3), 2) is None and weight_of(many) is None
    clear = evidence(ClearFeatures(2), np.array([1.0, 0.0]))
    assert clear is not None and clear.tolist() == [1e9, -1e9] and weight_of(ClearAdjacency(3)) == 1e9


def test_what_a_label_weighs() -> None:
    grr = GRR.from_epsilon(1.2, categories=4)
    assert label_weight(grr) == pytest.approx(1.2)
    assert label_weight(ClearLabel(3)) == 1e9 and label_weight(OneBit.from_epsilon(1.0, d=2)) is None
    assert math.isclose(grr.log_probability(1, 1) - grr.log_probability(1, 2), 1.2, abs_tol=1e-9)
