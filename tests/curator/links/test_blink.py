from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.links.blink import LinkPosterior
from ldpsim.curator.reports.rows import FlippedRows

N = 40


def _bits(ones: np.ndarray, reported: np.ndarray, odds: float) -> FlippedRows:
    return FlippedRows(csr_array(ones), reported, False, odds / (1 + odds), odds)


def _world(seed: int, silent: tuple[int, ...] = (), flip: float = 0.1) -> tuple[LinkPosterior, np.ndarray]:
    """Return the posterior and, literally, every P: float64 (N, N), 0 on the diagonal and where nobody reported."""
    rng = np.random.default_rng(seed)
    strength = rng.choice([0.05, 0.3, 0.9, 4.0, 40.0], N)
    ones = rng.random((N, N)) < 0.15
    np.fill_diagonal(ones, False)
    reported = np.ones(N, np.bool_)
    reported[list(silent)] = False
    ones[~reported] = False
    prior = np.outer(strength, strength) / (1 + np.outer(strength, strength))
    if_edge, if_none = np.ones((N, N)), np.ones((N, N))
    for said, heard in ((ones, reported[:, None]), (ones.T, reported[None, :])):
        if_edge *= np.where(heard, np.where(said, 1 - flip, flip), 1)
        if_none *= np.where(heard, np.where(said, flip, 1 - flip), 1)
    dense = if_edge * prior / (if_edge * prior + if_none * (1 - prior))
    np.fill_diagonal(dense, 0)
    dense[~(reported[:, None] | reported[None, :])] = 0
    return LinkPosterior(strength, _bits(ones, reported, flip / (1 - flip))), dense


@pytest.mark.parametrize("silent", [(), (3, 4, 9)])
@pytest.mark.parametrize("bound", [0.001, 0.02, 0.3, 0.5, 0.9, 0.999])
def test_the_likely_pairs_are_those_of_bayes_rule(silent: tuple[int, ...], bound: float) -> None:
    posterior, dense = _world(1, silent)
    pairs = posterior.above(bound / (1 - bound))
    left, right = np.nonzero(np.triu(dense >= bound, 1))
    assert pairs.left.tolist() == left.tolist() and pairs.right.tolist() == right.tolist()
    np.testing.assert_allclose(pairs.probability, dense[left, right], rtol=1e-12)
    assert len(pairs) > 0


@pytest.mark.parametrize("silent", [(), (3, 4, 9)])
def test_the_total_needs_no_matrix(silent: tuple[int, ...]) -> None:
    posterior, dense = _world(2, silent)
    assert posterior.expected_edges() == pytest.approx(dense.sum() / 2, rel=1e-12)
    everything = posterior.above(0.0)
    assert len(everything) == N * (N - 1) // 2 - len(silent) * (len(silent) - 1) // 2


@pytest.mark.parametrize("silent", [(), (3, 4, 9)])
@pytest.mark.parametrize("count", [0, 1, 7, 100, 500, 10_000])
def test_the_most_likely_pairs_come_in_order(silent: tuple[int, ...], count: int) -> None:
    posterior, _ = _world(3, silent)
    everything = posterior.above(0.0)
    order = np.argsort(-everything.odds, kind="stable")[:count]
    best = posterior.most_likely(count)
    assert best.left.tolist() == everything.left[order].tolist()
    assert best.right.tolist() == everything.right[order].tolist()


def test_by_hand() -> None:
    # s = 1: prior 1/2. rho = 1/3: two ones give odds 9, one and a zero give 1, two zeros 1/9
    ones = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]], np.bool_)
    pairs = LinkPosterior(np.ones(3), _bits(ones, np.ones(3, np.bool_), 1 / 3)).above(0.0)
    np.testing.assert_allclose(pairs.odds, [9, 1, 1 / 9])
    heard = np.array([True, False, True])
    silent = LinkPosterior(np.ones(3), _bits(ones & heard[:, None], heard, 1 / 3))
    np.testing.assert_allclose(silent.above(0.0).odds, [3, 1, 1 / 3])
