"""Guesses from repeated reports: the tables of theory, sums over every outcome, and edges beside a prior."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ldpsim.curator.attacks.recovery import (
    attack_edges,
    bit_recovery,
    constant_guess,
    label_recovery,
    recovered_bits,
    recovered_labels,
)


def test_a_tie_of_bits_counts_half_and_a_tie_of_k_labels_one_kth() -> None:
    odds, truth = np.array([[2.0, -1.0, 1e-12]]), np.array([[True, True, True]])
    assert recovered_bits(odds, truth) == 0.5 and recovered_bits(odds, truth, np.array([[True, False, False]])) == 1
    likelihoods = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 1.0 + 1e-12], [0.0, 0.0, 0.0], [5.0, 0.0, 0.0]])
    assert recovered_labels(likelihoods, np.array([1, 2, 0, -1])) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


@pytest.mark.parametrize(("epsilon", "asks", "error"), [(0.1, 2167, 0.009974), (1, 23, 0.008732), (5, 1, 0.006693)])
def test_how_often_a_bit_must_be_asked_for_99_percent(epsilon: float, asks: int, error: float) -> None:
    right = 1 / (1 + math.exp(-epsilon))
    assert 1 - bit_recovery(right, asks) == pytest.approx(error, abs=5e-7)
    assert asks == 1 or bit_recovery(right, asks - 2) < 0.99
    assert bit_recovery(right, 2) == pytest.approx(right)  # a coin decides


@pytest.mark.parametrize(("categories", "asks"), [(2, 1), (2, 4), (3, 5), (4, 4), (5, 3)])
def test_labels_by_every_outcome(categories: int, asks: int) -> None:
    truth = math.e / (math.e + categories - 1)
    chances = [truth] + [(1 - truth) / (categories - 1)] * (categories - 1)
    total = 0.0
    for outcome in itertools.product(range(categories), repeat=asks):
        counts = np.bincount(outcome, minlength=categories)
        if counts[0] == counts.max():
            total += math.prod(chances[c] for c in outcome) / np.count_nonzero(counts == counts.max())
    assert label_recovery(truth, categories, asks) == pytest.approx(total, abs=1e-11)


def test_one_guess_for_all_is_right_as_often_as_its_value_occurs() -> None:
    assert constant_guess([2, 5, 3]) == 0.5 and constant_guess([4]) == 1.0
    assert constant_guess([]) == 0.0  # nothing is guessed


def test_edges_are_guessed_from_both_ends_and_the_density() -> None:
    truth = np.zeros((8, 8), bool)
    truth[np.arange(8), (np.arange(8) + 1) % 8] = True
    truth |= truth.T
    logit = math.log(8 / 20)
    odds = np.zeros((8, 8))
    odds[0, 1], odds[1, 0] = -logit + 1, -0.9  # both ends together say yes, by little
    odds[3, 2], odds[2, 3] = -logit + 1, -1.1
    odds[0, 5] = 9.0  # no edge
    assert attack_edges(odds, truth) == {"edge_precision": 1 / 2, "edge_recall": 1 / 8}
    assert attack_edges(np.zeros((8, 8)), truth) == {"edge_precision": None, "edge_recall": 0.0}
    with pytest.raises(ValueError, match="0 of"):
        attack_edges(np.zeros((3, 3)), np.zeros((3, 3), bool))
