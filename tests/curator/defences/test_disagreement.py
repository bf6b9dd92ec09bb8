"""The test of disagreements: its false alarms, its power, and people who are framed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import binom

from curator.defences.disagreement import disagreeing, excess_disagreement
from curator.defences.pair_counts import PairCounts
from devices.mechanisms import RandomizedResponse
from tests.curator.defences.lies import a_graph, honest_rows, public, reports_of

N, LEVEL = 400, 1e-3 / 400


def _flip(epsilon: float, n: int = N) -> float:
    return RandomizedResponse.from_epsilon(epsilon, n=n).flip_probability


@pytest.mark.parametrize("flip", [0.02, 0.3])
def test_its_false_alarm_is_the_exact_law(flip: float) -> None:
    """Every outcome (disagreements, own claims) of a person with 60 others, weighed by its exact probability."""
    others, level = 60, 0.01
    differ, own = np.array([(d, u) for d in range(others + 1) for u in range(d + 1)]).T
    both = np.zeros_like(differ)
    counts = PairCounts(np.full_like(differ, others), own, differ - own, both)
    pq = flip * (1 - flip)
    weight = binom.pmf(differ, others, 2 * pq) * binom.pmf(own, differ, 0.5)
    alarm = weight[excess_disagreement(counts, flip, level) > 0].sum()

    def tails(count: np.ndarray, chance: float, high: np.ndarray) -> np.ndarray:
        low = binom.cdf(count, others, chance) <= level / 4
        return np.asarray(low | (high & (binom.sf(count - 1, others, chance) <= level / 4)))

    expected = weight[tails(own, pq, np.True_) | tails(differ, 2 * pq, 2 * own >= differ)].sum()
    assert alarm == pytest.approx(expected) and 0 < alarm <= level


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
def test_liars_are_found_and_honest_people_are_not(epsilon: float) -> None:
    rows = honest_rows(a_graph(N, 6, 0), _flip(epsilon), 1)
    found, _ = disagreeing(reports_of(rows, epsilon), public(N), LEVEL)
    assert not found.any()
    rows[:20] = True  # 20 people claim everybody
    np.fill_diagonal(rows, False)
    found, _ = disagreeing(reports_of(rows, epsilon), public(N), LEVEL)
    assert np.flatnonzero(found).tolist() == list(range(20))


def test_nobody_is_flagged_for_what_others_claim() -> None:
    """100 mimics, whose rows have an honest weight, all name person 0: only their claims are too many."""
    rows = honest_rows(a_graph(N, 6, 0), _flip(4.0), 1)
    rows[300:, 0] = True
    found, _ = disagreeing(reports_of(rows, 4.0), public(N), LEVEL)
    assert not found[0]


def test_it_does_nothing_without_two_reports_about_a_pair() -> None:
    rows = np.tril(np.ones((9, 9), np.bool_), -1)
    assert not disagreeing(reports_of(rows, 4.0, "one-end"), public(9), 0.1)[0].any()
    silent = replace(reports_of(rows, 4.0), adjacency=None)
    assert disagreeing(silent, public(9), 0.1)[1]["not_used"]
    quiet = reports_of(np.zeros((9, 9), np.bool_), 4.0)
    assert not disagreeing(replace(quiet, adjacency=csr_array((9, 9), dtype=np.bool_)), public(9), 1e-6)[0].any()
