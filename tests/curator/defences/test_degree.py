"""Degrees against rows: tails and false alarms by enumeration, and clipping."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from ldpsim.curator.defences.degree import (
    clip_degrees,
    degree_ranges,
    implausible_degrees,
    largest_noise,
    outside,
    tails,
)
from ldpsim.devices.mechanisms import Degree, GroupDegrees, RandomizedResponse, discrete_laplace
from ldpsim.devices.query import Ask
from tests.curator.defences.lies import a_graph, honest_rows, reports_of

N, EPSILON = 400, 5.0
DEGREE = Degree.from_epsilon(1.0, n=N)
BITS = 9


def _honest(seed: int, epsilon: float = EPSILON) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A graph, its noisy rows and its noisy degrees."""
    graph = a_graph(N, 6, seed)
    rows = honest_rows(graph, RandomizedResponse.from_epsilon(epsilon, n=N).flip_probability, seed + 1)
    rng = np.random.default_rng(seed)
    noise = rng.geometric(1 - np.exp(-1.0), N) - rng.geometric(1 - np.exp(-1.0), N)
    return graph, rows, graph.sum(axis=1) + noise


def test_lies_about_the_degree_are_found() -> None:
    _, rows, degrees = _honest(0)
    honest = reports_of(rows, EPSILON, more=(DEGREE,), degrees=degrees.copy())
    assert not implausible_degrees(honest, 1e-3 / N)[0].any()
    degrees[[3, 4, 5]] = N - 1, 1 << 60, -(1 << 60)
    found, _ = implausible_degrees(reports_of(rows, EPSILON, more=(DEGREE,), degrees=degrees), 1e-3 / N)
    assert np.flatnonzero(found).tolist() == [3, 4, 5]


def test_people_who_did_not_report_do_not_make_others_liars() -> None:
    """Half of the people are silent, so half of the neighbours are in no count of both ends."""
    graph, rows, _ = _honest(2)
    graph[0, 1:120] = graph[1:120, 0] = True
    rows[0, 1:120] = rows[1:120, 0] = True
    answered = np.ones(N, np.bool_)
    answered[1:200] = False
    rows[1:200] = False
    degrees = np.where(answered, graph.sum(axis=1), 0)
    reports = replace(reports_of(rows, EPSILON, more=(DEGREE,), degrees=degrees), answered=answered)
    assert not implausible_degrees(reports, 1e-3 / N)[0].any()


def test_an_honest_degree_stays_and_a_lie_is_clipped() -> None:
    group = GroupDegrees.from_epsilon(1.0, n=N, groups=3, seed=1)
    sizes = np.bincount(group.groups_of(None), minlength=3)
    counts = np.tile(sizes, (N, 1))
    counts[0] = -5, 0, 2
    counts[1, 2] = 1 << 62
    reports = replace(reports_of(np.zeros((N, N), np.bool_), EPSILON), arrays={"group_degrees": counts},
                      asks={"adjacency": Ask("adjacency", (group,))})  # fmt: skip
    kept, notes = clip_degrees(reports, 1e-6)
    assert notes == {"clipped_group_degrees": 1}
    same = np.ones_like(counts, np.bool_)
    same[1, 2] = False
    clipped = kept.arrays["group_degrees"]
    assert np.array_equal(clipped[same], counts[same]) and clipped[1, 2] < sizes[2] + 60
    assert np.flatnonzero(implausible_degrees(reports, 1e-6)[0]).tolist() == [1]


def law_of_ones(true: int, false: int, flip: float) -> np.ndarray:
    return -np.diff(np.append(tails(true, false, 1 - flip, flip)[0], 0.0))


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
    law = law_of_ones(edges, free - edges, flip)
    expected = sum(chance for x, chance in enumerate(law) if rejected[x + fakes])
    assert total == pytest.approx(expected, abs=1e-12)
    if not fakes:
        assert total <= level


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
    law = law_of_ones(degree, BITS - degree, flip)
    noise = np.exp([discrete_laplace.log_probability(np.array([d - degree]), noisy.t, noisy.s) for d in given])
    chance = noise * law[ones]
    assert chance.sum() == pytest.approx(1.0)
    assert 0 < chance[rejected].sum() <= level


@pytest.mark.parametrize(("true", "false"), [(0, 5), (5, 0), (2, 4)])
def test_the_law_of_ones_is_that_of_every_single_outcome(true: int, false: int) -> None:
    hit, false_hit = 0.8, 0.3
    law = np.zeros(true + false + 1)
    for bits in product((0, 1), repeat=true + false):
        chances = [hit] * true + [false_hit] * false
        law[sum(bits)] += np.prod([c if b else 1 - c for b, c in zip(bits, chances, strict=True)])
    at_least, at_most = tails(true, false, hit, false_hit)
    assert at_least == pytest.approx(law[::-1].cumsum()[::-1], abs=1e-14)
    assert at_most == pytest.approx(law.cumsum(), abs=1e-14)


@pytest.mark.parametrize(("t", "s"), [(1, 1), (10, 1), (1, 8)])
@pytest.mark.parametrize("level", [0.1, 1e-7])
def test_noise_reaches_no_further_than_its_level(t: int, s: int, level: float) -> None:
    largest = largest_noise(t, s, level)
    assert float(discrete_laplace.tail(largest + 1, t, s)) <= level
    assert largest == 0 or float(discrete_laplace.tail(largest, t, s)) > level
