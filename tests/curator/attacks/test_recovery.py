"""Recovery from repeated reports: the tables of theory, and sums over every outcome."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ldpsim.curator.attacks.recovery import bit_recovery, constant_guess, label_recovery


@pytest.mark.parametrize(
    ("epsilon", "asks", "error"),
    [(0.1, 2167, 0.009974), (0.25, 347, 0.009979), (0.5, 87, 0.009994), (1, 23, 0.008732), (2, 7, 0.005239),
     (3, 3, 0.006534), (4, 3, 0.000959), (5, 1, 0.006693)],
)  # fmt: skip
def test_how_often_a_bit_must_be_asked_for_99_percent(epsilon: float, asks: int, error: float) -> None:
    right = 1 / (1 + math.exp(-epsilon))
    assert 1 - bit_recovery(right, asks) == pytest.approx(error, abs=5e-7)
    assert asks == 1 or bit_recovery(right, asks - 2) < 0.99


def test_one_query_and_even_numbers_of_queries() -> None:
    right = 1 / (1 + math.exp(-1))
    assert bit_recovery(right, 1) == pytest.approx(0.731058579)
    for asks in (2, 6, 40):  # a tie is settled by a coin, so an even number is worth the odd one before it
        assert bit_recovery(right, asks) == pytest.approx(float(bit_recovery(right, asks - 1)), abs=1e-12)
    assert bit_recovery(np.array([0.5, 1.0]), 9).tolist() == pytest.approx([0.5, 1.0])


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


def test_many_reports_of_a_label() -> None:
    truth = math.e / (math.e + 6)
    assert label_recovery(truth, 7, 1) == pytest.approx(truth)
    found = [label_recovery(truth, 7, t) for t in (1, 5, 25, 125, 1000)]
    assert found == sorted(found) and found[-1] > 1 - 1e-9
    assert label_recovery(0.6, 2, 10) == pytest.approx(float(bit_recovery(0.6, 10)), abs=1e-11)


def test_one_guess_for_all_is_right_as_often_as_its_value_occurs() -> None:
    assert constant_guess([1, 3]) == 0.75 and constant_guess([2, 5, 3]) == 0.5 and constant_guess([4]) == 1.0
    assert constant_guess([]) == 0.0  # nothing is guessed


def test_what_makes_no_sense() -> None:
    for wrong in (lambda: bit_recovery(0.6, 0), lambda: label_recovery(0.6, 1, 3)):
        with pytest.raises(ValueError):
            wrong()
