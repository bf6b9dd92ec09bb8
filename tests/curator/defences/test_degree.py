"""Degrees against rows: false alarms by enumeration, clipping, and the joined degree."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from ldpsim.curator.defences.degree import at_least, clip_degrees, degree_ranges, implausible_degrees, outside
from ldpsim.devices.mechanisms import Degree, GroupDegrees, NoisyRow, RandomizedResponse, discrete_laplace
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


def test_noisy_rows_are_compared_by_their_sum_and_clipped() -> None:
    graph, _, _ = _honest(4)
    row = NoisyRow.from_epsilon(4.0, n=N)
    rng = np.random.default_rng(5)
    fall = 1 - np.exp(-row.s / row.t)
    noisy = row.grid * graph + rng.geometric(fall, graph.shape) - rng.geometric(fall, graph.shape)
    np.fill_diagonal(noisy, 0)
    noisy[0, 1:] += row.grid  # claims everybody
    noisy[1, 5] = 1 << 30
    asks = {"adjacency": Ask("adjacency", (row, DEGREE))}
    arrays = {"noisy_rows": noisy.astype(np.int32), "degrees": graph.sum(axis=1).astype(np.int64)}
    reports = replace(reports_of(graph, EPSILON), asks=asks, arrays=arrays)
    assert np.flatnonzero(implausible_degrees(reports, 1e-3 / N)[0]).tolist() == [0, 1]
    kept, notes = clip_degrees(reports, 1e-3 / N)
    assert notes["clipped_entries"] == 1 and kept.arrays["noisy_rows"][1, 5] < 30 * row.grid


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
