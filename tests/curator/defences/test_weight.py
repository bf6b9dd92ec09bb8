"""The test of a row's ones: false alarm and power by enumeration of every report."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from curator.defences.pair_counts import PairCounts
from curator.defences.tails import at_least, probability_at_most
from curator.defences.weight import degree_ranges, excess_claims, outside, overweight
from devices.mechanisms import Degree, RandomizedResponse, discrete_laplace
from tests.curator.defences.lies import a_graph, honest_rows, public, reports_of

BITS = 9


def _rejected(least: int, most: int, flip: float, level: float) -> np.ndarray:
    """bool (BITS + 1,): the numbers of ones that are rejected."""
    counts = np.arange(BITS + 1)
    ranges = np.full(BITS + 1, least), np.full(BITS + 1, most)
    return outside(counts, np.full(BITS + 1, BITS), ranges, (1 - flip, flip), level)


@pytest.mark.parametrize("degree", [0, 3, 9])
@pytest.mark.parametrize("fakes", [0, 2, 4])
def test_false_alarm_and_power_are_the_binomial_law(degree: int, fakes: int) -> None:
    """Each of the 2^9 honest rows, the last bits forced to 1: the false alarm without fakes, the power with them."""
    mechanism, level = RandomizedResponse.from_epsilon(2.0, n=BITS + 1), 0.05
    flip = mechanism.flip_probability
    rejected = _rejected(degree, degree, flip, level)
    truth = np.arange(BITS) < degree
    total = 0.0
    for row in product((False, True), repeat=BITS):
        sent = np.array(row)
        sent[BITS - fakes :] = True
        total += np.exp(mechanism.log_probability(np.array(row), truth)) * rejected[sent.sum()]
    free = BITS - fakes
    edges = min(degree, free)
    law = [at_least(x, edges, free - edges, 1 - flip, flip) - at_least(x + 1, edges, free - edges, 1 - flip, flip)
           for x in range(free + 1)]  # fmt: skip
    expected = sum(chance for x, chance in enumerate(law) if rejected[x + fakes])
    assert total == pytest.approx(expected, abs=1e-12)
    if not fakes:
        assert total <= level


@pytest.mark.parametrize("level", [0.001, 0.005, 0.01, 0.03, 0.1, 0.2, 0.4])
def test_the_bounds_are_those_of_the_exact_tail(level: float) -> None:
    flip = RandomizedResponse.from_epsilon(2.0, n=BITS + 1).flip_probability
    for least, most in ((0, 0), (2, 4), (0, BITS)):
        for count, wrong in enumerate(_rejected(least, most, flip, level)):
            high = at_least(count, most, BITS - most, 1 - flip, flip) <= level / 2
            assert wrong == (high or probability_at_most(count, least, BITS - least, 1 - flip, flip) <= level / 2)


@pytest.mark.parametrize("degree", [0, 2, 9])
def test_the_false_alarm_with_a_noisy_degree_is_within_its_level(degree: int) -> None:
    """Every noisy degree and every number of ones, weighed by their exact probabilities."""
    epsilon, level = 1.5, 0.05
    response, noisy = RandomizedResponse.from_epsilon(epsilon, n=10), Degree.from_epsilon(0.8, n=10)
    pairs = [(given, ones) for given in range(-60, 80) for ones in range(BITS + 1)]
    given, ones = np.array(pairs).T
    size = np.full(len(pairs), BITS)
    rows = np.zeros((10, 10), np.bool_)
    ranges = degree_ranges(reports_of(rows, epsilon, more=(noisy,), degrees=given), size, level / 2)
    assert ranges is not None
    flip = response.flip_probability
    rejected = outside(ones, size, ranges, (1 - flip, flip), level / 2)
    law = [at_least(x, degree, BITS - degree, 1 - flip, flip) - at_least(x + 1, degree, BITS - degree, 1 - flip, flip)
           for x in range(BITS + 1)]  # fmt: skip
    noise = np.exp([discrete_laplace.log_probability(np.array([d - degree]), noisy.t, noisy.s) for d in given])
    chance = noise * np.array(law)[ones]
    assert chance.sum() == pytest.approx(1.0)
    assert 0 < chance[rejected].sum() <= level


def test_own_claims_are_half_of_the_disagreements() -> None:
    differ, level = 30, 0.01
    own = np.arange(differ + 1)
    zeros = np.zeros_like(own)
    failed = excess_claims(PairCounts(zeros + 99, own, differ - own, zeros), level) > 0
    alarm = binom.pmf(own, differ, 0.5)[failed].sum()
    assert level / 4 < alarm <= level and not failed[: differ // 2].any()


def test_an_honest_population_raises_at_most_the_stated_alarms() -> None:
    n, epsilon = 2708, 4.0
    flip = RandomizedResponse.from_epsilon(epsilon, n=n).flip_probability
    reports = reports_of(honest_rows(a_graph(n, 4, 3), flip, 4), epsilon)
    assert overweight(reports, public(n), 1e-3)[0].sum() <= binom.isf(1e-6, n, 1e-3)


def test_a_degree_that_the_row_contradicts_is_found() -> None:
    n, epsilon = 300, 6.0
    graph = a_graph(n, 5, 5)
    rows = honest_rows(graph, RandomizedResponse.from_epsilon(epsilon, n=n).flip_probability, 6)
    degrees = graph.sum(axis=1).astype(np.int64)
    noisy = Degree.from_epsilon(2.0, n=n)
    assert not overweight(reports_of(rows, epsilon, more=(noisy,), degrees=degrees), public(n), 1e-6)[0].any()
    rows[7, 8:90] = True
    found, notes = overweight(reports_of(rows, epsilon, more=(noisy,), degrees=degrees), public(n), 1e-6)
    assert np.flatnonzero(found).tolist() == [7] and notes == {"degree": "reported"}


def test_rows_of_one_end_may_have_any_degree() -> None:
    n = 60
    rows = np.tril(honest_rows(a_graph(n, 5, 5), 0.018, 6), -1)
    assert not overweight(reports_of(rows, 4.0, "one-end"), public(n), 1e-4)[0].any()
    rows[59, :59] = True
    assert not overweight(reports_of(rows, 1.0, "one-end"), public(n), 1e-12)[0][:50].any()
    assert overweight(reports_of(rows, 1.0, "one-end"), public(n), 1e-4)[0][59]  # no degree explains so many ones
