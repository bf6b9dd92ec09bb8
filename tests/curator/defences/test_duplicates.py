"""Equal reports: the largest probability of a report by enumeration, and what honest people share by chance."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import binom

from ldpsim.curator.defences.duplicates import duplicated, most_likely
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRRFS, Laplace, Mechanism, MultiBit, OneBit, RandomizedResponse
from tests.curator.defences.lies import a_graph, features_of, honest_rows, reports_of

D = 3
BITS = [np.array(bits) for bits in product((0, 1), repeat=D)]


@pytest.mark.parametrize(
    ("mechanism", "reports"),
    [
        (OneBit.from_epsilon(1.0, d=D), [bits.astype(np.bool_) for bits in BITS]),
        (MultiBit.from_epsilon(1.0, d=D, m=2), [np.array(r) for r in product((-1, 0, 1), repeat=D) if r.count(0) == 1]),
        (GRRFS.from_epsilon(1.0, facts=PublicFacts(9, D, 2), m=2), BITS),
        (Laplace.from_epsilon(1.0, d=D), [np.array(steps) for steps in product((0, 1, 64, 65), repeat=D)]),
    ],
)  # fmt: skip
def test_no_report_is_more_likely(mechanism: Mechanism, reports: list[np.ndarray]) -> None:
    largest = max(mechanism.log_probability(report, value.astype(float)) for report in reports for value in BITS)
    assert most_likely(mechanism) == pytest.approx(math.exp(largest), rel=1e-9)
    if isinstance(mechanism, OneBit):
        as_many_as_chance_allows_are_left_alone(mechanism, math.exp(largest))


def as_many_as_chance_allows_are_left_alone(mechanism: OneBit, chance: float, n: int = 40, level: float = 1e-3) -> None:
    """A group of equal reports is flagged where it is larger than the binomial's tail allows, and not before."""
    most = next(k for k in range(n) if binom.sf(k, n - 1, chance) <= level)
    for equal in (most + 1, most + 2):
        bits = np.array([BITS[0]] * equal + [BITS[1 + place % 7] for place in range(n - equal)], np.uint8)
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
