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
    assert constant_guess([1, 3]) == 0.75 and constant_guess([2, 5, 3]) == 0.5 and constant_guess([4]) == 1.0
    assert constant_guess([]) == 0.0  # nothing is guessed
