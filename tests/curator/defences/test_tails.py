"""Tails of counts and of noise, against enumeration."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from ldpsim.curator.defences.degree import at_least, largest_noise, largest_sum, probability_at_most
from ldpsim.devices.mechanisms import discrete_laplace


@pytest.mark.parametrize(("true", "false"), [(0, 5), (5, 0), (2, 4)])
def test_the_law_of_ones_is_that_of_every_single_outcome(true: int, false: int) -> None:
    hit, false_hit = 0.8, 0.3
    law = np.zeros(true + false + 1)
    for bits in product((0, 1), repeat=true + false):
        chances = [hit] * true + [false_hit] * false
        law[sum(bits)] += math.prod(c if b else 1 - c for b, c in zip(bits, chances, strict=True))
    for count in range(true + false + 2):
        assert at_least(count, true, false, hit, false_hit) == pytest.approx(law[count:].sum(), abs=1e-14)
        assert probability_at_most(count, true, false, hit, false_hit) == pytest.approx(
            law[: count + 1].sum(), abs=1e-14
        )


@pytest.mark.parametrize(("t", "s"), [(1, 1), (10, 1), (1, 8)])
@pytest.mark.parametrize("level", [0.1, 1e-7])
def test_noise_reaches_no_further_than_its_level(t: int, s: int, level: float) -> None:
    largest = largest_noise(t, s, level)
    assert float(discrete_laplace.tail(largest + 1, t, s)) <= level
    assert largest == 0 or float(discrete_laplace.tail(largest, t, s)) > level


def test_a_sum_of_noise_reaches_no_further_than_its_level() -> None:
    t, s, terms, level = 2, 1, 12, 1e-4
    z = np.arange(-80, 81)
    one = math.tanh(s / t / 2) * np.exp(-s / t * np.abs(z))
    law = one
    for _ in range(terms - 1):
        law = np.convolve(law, one)
    largest = largest_sum(t, s, terms, level)
    beyond = law[80 * terms + math.ceil(largest) :].sum()
    assert level / 100 < beyond <= level
