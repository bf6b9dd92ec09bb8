"""Majority, likelihood and plurality over repeated reports."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.attacks.recovery import (
    BitTally,
    LabelTally,
    recovered_bits,
    recovered_labels,
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


def test_labels_by_plurality_and_by_likelihood() -> None:
    tally = LabelTally(3, 3)
    for row, report in ((0, 1), (0, 1), (0, 2), (1, 0), (1, 2)):
        tally.add(row, report, 1.0)
    assert recovered_labels(tally.likelihoods(), np.array([1, 2, -1])) == (1 + 0.5) / 2
    tally.add(0, 2, 1.5)  # one report of a larger budget outweighs one of a smaller
    tally.add(0, 2, 1.5)
    assert np.argmax(tally.likelihoods()[0]) == 2
    assert recovered_labels(tally.likelihoods(), np.array([2, 1, 0])) == pytest.approx((1 + 0 + 1 / 3) / 3)
    tally.add_evidence(2, np.array([0.0, 2.0, 2.0]))  # a report that names two classes
    tally.add(2, 2, 1.5)
    assert tally.likelihoods()[2].tolist() == [0, 2, 3.5]
