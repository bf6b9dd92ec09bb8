"""Defences: false alarms by enumeration, what an honest population pays, and which liars they find."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import binom

from ldpsim.curator.defences import DEFENCES, defences_named, defend
from ldpsim.curator.defences.agreement import keep_agreed
from ldpsim.curator.defences.degree import clip_degrees, degree_ranges, implausible_degrees, outside
from ldpsim.curator.defences.duplicates import duplicated, most_likely
from ldpsim.curator.defences.tails import largest_noise, tails
from ldpsim.curator.reports.question import Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import (
    GRRFS,
    Degree,
    GroupDegrees,
    Laplace,
    Mechanism,
    MultiBit,
    OneBit,
    RandomizedResponse,
    discrete_laplace,
)
from ldpsim.devices.query import Ask, Query
from tests.curator.defences.lies import a_graph, features_of, honest_rows, reports_of
from tests.devices.mechanisms.one import encoded


def test_names_are_read_in_one_order() -> None:
    assert defences_named("none") == () and defences_named("all") == tuple(DEFENCES)
    assert defences_named("both-ends, degree") == defences_named("degree,both-ends") == ("degree", "both-ends")
    for wrong, word in (("degre", "degree"), ("all,degree", "stands alone"), ("", "there are")):
        with pytest.raises(ValueError, match=word):
            defences_named(wrong)


def test_an_honest_population_loses_nobody() -> None:
    """2,708 people; a false alarm of 1e-3 is the chance that one of them at least is excluded by one defence."""
    n, epsilon = 2708, 3.0
    flip = RandomizedResponse.from_epsilon(epsilon, n=n).flip_probability
    reports = reports_of(honest_rows(a_graph(n, 4, 1), flip, 2), epsilon)
    found = defend(defences_named("all"), reports, 1e-3)
    assert not found.flagged.any() and set(found.notes) == set(DEFENCES)


def test_flagged_people_are_silent_and_the_others_stay() -> None:
    n, epsilon = 300, 3.0
    rows = honest_rows(a_graph(n, 5, 1), RandomizedResponse.from_epsilon(epsilon, n=n).flip_probability, 2)
    rows[:15] = True
    np.fill_diagonal(rows, False)
    found = defend(("duplicates",), reports_of(rows, epsilon), 1e-3)
    assert np.flatnonzero(found.flagged).tolist() == list(range(15)) and found.notes["duplicates"]["flagged"] == 15
    assert not found.reports.answered[:15].any() and found.reports.answered[15:].all()
    assert np.array_equal(found.reports.adjacency.toarray()[15:], rows[15:])


def test_colluders_go_before_they_can_frame_others() -> None:
    """A fifth of the people send one list that names person 0: what they claim about 0 is judged without them."""
    n, epsilon = 1500, 4.0
    graph = a_graph(n, 4, 1)
    rows = honest_rows(graph, RandomizedResponse.from_epsilon(epsilon, n=n).flip_probability, 2)
    rows[: n // 5] = np.arange(n) % 4 == 0
    rows[-1, : n // 5] = True  # an honest person whose noise confirms them all
    np.fill_diagonal(rows, False)
    rows[: n // 5, -1] = True
    degree = Degree.from_epsilon(4.0, n=n)
    degrees = np.where(np.arange(n) < n // 5, rows.sum(axis=1), graph.sum(axis=1))
    reports = reports_of(rows, epsilon, more=(degree,), degrees=degrees)
    alone, together = (defend(defences_named(names), reports, 1e-3) for names in ("degree", "degree,duplicates"))
    assert alone.flagged[-1]
    assert together.flagged[: n // 5].all() and not together.flagged[n // 5 :].any()


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


@pytest.mark.parametrize(("t", "s"), [(1, 1), (10, 1), (1, 8)])
@pytest.mark.parametrize("level", [0.1, 1e-7])
def test_noise_reaches_no_further_than_its_level(t: int, s: int, level: float) -> None:
    largest = largest_noise(t, s, level)
    assert float(discrete_laplace.tail(largest + 1, t, s)) <= level
    assert largest == 0 or float(discrete_laplace.tail(largest, t, s)) > level


D = 3


BITS_OF_DUPLICATES = [np.array(bits) for bits in product((0, 1), repeat=D)]


@pytest.mark.parametrize(("mechanism", "reports"), [
    (OneBit.from_epsilon(1.0, d=D), [bits.astype(np.bool_) for bits in BITS_OF_DUPLICATES]),
    (MultiBit.from_epsilon(1.0, d=D, m=2), [np.array(r) for r in product((-1, 0, 1), repeat=D) if r.count(0) == 1]),
    (GRRFS.from_epsilon(1.0, facts=PublicFacts(9, D, 2), m=2), BITS_OF_DUPLICATES),
    (Laplace.from_epsilon(1.0, d=D), [np.array(steps) for steps in product((0, 1, 64, 65), repeat=D)]),
])  # fmt: skip
def test_no_report_is_more_likely(mechanism: Mechanism, reports: list[np.ndarray]) -> None:
    largest = max(
        mechanism.log_probability(report, value.astype(float)) for report in reports for value in BITS_OF_DUPLICATES
    )
    assert most_likely(mechanism) == pytest.approx(math.exp(largest), rel=1e-9)
    if isinstance(mechanism, OneBit):
        as_many_as_chance_allows_are_left_alone(mechanism, math.exp(largest))


def as_many_as_chance_allows_are_left_alone(mechanism: OneBit, chance: float, n: int = 40, level: float = 1e-3) -> None:
    """A group of equal reports is flagged where it is larger than the binomial's tail allows, and not before."""
    most = next(k for k in range(n) if binom.sf(k, n - 1, chance) <= level)
    for equal in (most + 1, most + 2):
        bits = np.array(
            [BITS_OF_DUPLICATES[0]] * equal + [BITS_OF_DUPLICATES[1 + place % 7] for place in range(n - equal)],
            np.uint8,
        )
        reports = features_of(mechanism, np.packbits(bits, axis=1), n, D)
        flagged = duplicated(reports, level)[0]
        assert np.flatnonzero(flagged).tolist() == (list(range(equal)) if equal == most + 2 else [])


def test_as_many_equal_rows_as_chance_allows_are_left_alone() -> None:
    """Both ways to compare rows have half of the level; an empty row is said with probability (1 - p)^(n - 2)."""
    n, level = 40, 1e-3
    flip = RandomizedResponse.from_epsilon(3.0, n=n).flip_probability
    most = next(k for k in range(n) if binom.sf(k, n - 1, (1 - flip) ** (n - 2)) <= level / 2)
    for equal in (most + 1, most + 2):
        rows = np.zeros((n, n), np.bool_)
        rows[np.arange(equal, n), np.arange(equal, n) - 1] = rows[np.arange(equal, n), 0] = True
        reports = reports_of(rows, 3.0)
        flagged = duplicated(reports, level)[0]
        assert np.flatnonzero(flagged).tolist() == (list(range(equal)) if equal == most + 2 else [])


@pytest.mark.parametrize("own", [False, True])
def test_one_list_of_colluders_is_found(own: bool) -> None:
    n = 300
    rows = honest_rows(a_graph(n, 5, 1), 0.12, 2)
    rows[:8] = np.arange(n) % 9 == 8
    rows[:8, :8] = own
    np.fill_diagonal(rows, False)
    found, notes = duplicated(reports_of(rows, 2.0), 1e-3 / n)
    assert set(np.flatnonzero(found)) == set(range(8)) and notes == {"compared": ["rows"]}


def test_equal_features_are_found_where_chance_does_not_make_them() -> None:
    n, d = 200, 64
    rng = np.random.default_rng(0)
    bits = np.packbits(rng.integers(0, 2, (n, d)).astype(np.uint8), axis=1)
    bits[:3] = bits[0]
    found, _ = duplicated(features_of(OneBit.from_epsilon(1.0, d=d), bits, n, d), 1e-3 / n)
    assert np.flatnonzero(found).tolist() == [0, 1, 2]
    single = MultiBit.from_epsilon(1.0, d=d, m=1)
    sampled = csr_array((np.ones(n, np.int8), (np.arange(n), rng.integers(0, d, n))), shape=(n, d))
    assert not duplicated(features_of(single, sampled, n, d), 1e-3 / n)[0].any()
    chosen = np.where(np.arange(n) < 40, 5, rng.integers(6, d, n))
    sampled = csr_array((np.ones(n, np.int8), (np.arange(n), chosen)), shape=(n, d))
    found, _ = duplicated(features_of(single, sampled, n, d), 1e-3 / n)
    assert np.flatnonzero(found).tolist() == list(range(40))


N_OF_BOTH_ENDS, LIARS, FAKES = 500, 25, 50


def _answered(reporting: str) -> tuple[Reports, np.ndarray]:
    """Reports at eps 8 from bytes, with 50 fakes about honest people in the last 25 people's rows; and the fakes."""
    mechanism = RandomizedResponse.from_epsilon(8.0, n=N_OF_BOTH_ENDS, reporting=reporting)  # type: ignore[arg-type]
    graph = a_graph(N_OF_BOTH_ENDS, 4, 0)
    rows = honest_rows(graph, mechanism.flip_probability, 1)
    rng, fakes = np.random.default_rng(2), np.zeros((N_OF_BOTH_ENDS, N_OF_BOTH_ENDS), np.bool_)
    for liar in range(N_OF_BOTH_ENDS - LIARS, N_OF_BOTH_ENDS):
        rows[liar] = False
        strangers = np.flatnonzero(~graph[liar, : N_OF_BOTH_ENDS - LIARS])
        fakes[liar, rng.choice(strangers, FAKES, replace=False)] = True
    rows |= fakes
    answers = {i: {"adjacency": (encoded(mechanism, np.delete(rows[i], i), i),)} for i in range(N_OF_BOTH_ENDS)}
    question = Question(Query("c", ((Ask("adjacency", (mechanism,)),),)))
    return Reports.from_bytes(PublicFacts(N_OF_BOTH_ENDS, 1, 2), (question,), answers), fakes


def test_a_mimic_finds_nobody_who_confirms() -> None:
    reports, fakes = _answered("both")
    kept, notes = keep_agreed(reports, 1e-6)
    assert kept.adjacency is not None and kept.adjacency.multiply(csr_array(fakes)).nnz / LIARS < 1
    assert notes["dropped_claims"] >= LIARS * (FAKES - 1)


def test_it_is_symmetric_and_drops_claims_about_silent_people() -> None:
    rows = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]], np.bool_)
    kept, _ = keep_agreed(reports_of(rows, 2.0), 0.1)
    assert kept.adjacency is not None and kept.adjacency.dtype == np.bool_
    assert kept.adjacency.toarray().astype(int).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
