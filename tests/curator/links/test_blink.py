"""Link posterior, beta model and the drawn graphs of LDPGen, each beside its literal formula."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.links.beta_model import fit_beta_model
from ldpsim.curator.links.blink import LinkPosterior
from ldpsim.curator.links.block_model import BlockModel
from ldpsim.curator.links.directed_groups import directed_probabilities
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
@pytest.mark.parametrize("count", [0, 1, 7, 100, 500, 10_000])
def test_the_most_likely_pairs_come_in_order(silent: tuple[int, ...], count: int) -> None:
    posterior, _ = _world(3, silent)
    everything = posterior.above(0.0)
    order = np.argsort(-everything.odds, kind="stable")[:count]
    best = posterior.most_likely(count)
    assert best.left.tolist() == everything.left[order].tolist()
    assert best.right.tolist() == everything.right[order].tolist()


def test_the_steps_of_the_beta_model_end_and_an_impossible_degree_is_refused() -> None:
    degrees = np.random.default_rng(0).integers(1, 12, 50)
    assert fit_beta_model(degrees, steps=2).steps == 2 < fit_beta_model(degrees, steps=2000).steps < 2000
    for degrees in ([0, 1, 1, 1], [3, 1, 1, 1]):
        with pytest.raises(ValueError, match="must lie above 0 and below 3"):
            fit_beta_model(np.array(degrees))


GROUPS = np.array([0, 0, 1, 1, 1])


DEGREES = np.array([[1, 2], [1, 1], [2, 0], [1, 1], [0, 1]])


def test_expected_edges_are_what_both_groups_report() -> None:
    model = BlockModel.from_degrees(DEGREES, GROUPS)
    # inside 0: 1 + 1 ends are 1 edge; inside 1: 0 + 1 + 1 ends; between: 3 say the ones, 3 the others
    np.testing.assert_allclose(model.edges, [[1, 3], [3, 1]])
    shifted = BlockModel.from_degrees(DEGREES - np.array([[9, 0], [0, 0], [0, 0], [0, 0], [0, 0]]), GROUPS)
    assert shifted.edges[0, 0] == 0 and shifted.weights[0, 0] == 0  # never negative


def _literal(degrees: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The formula, pair by pair."""
    n, _k = degrees.shape
    d = np.maximum(degrees, 0)
    p = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            a, b = groups[i], groups[j]
            d_ab = sum(d[u, b] for u in range(n) if groups[u] == a)
            d_ba = sum(d[u, a] for u in range(n) if groups[u] == b)
            between = sum(degrees[u, b] for u in range(n) if groups[u] == a)
            between += sum(degrees[u, a] for u in range(n) if groups[u] == b)
            if i != j and d_ab * d_ba > 0:
                p[i, j] = 1 - np.exp(-max(between / 2, 0) * d[i, b] * d[j, a] / (d_ab * d_ba))
    return p


def test_a_drawn_graph_has_the_model_s_probabilities() -> None:
    """4,000 graphs; a pair's count is within 6 standard deviations of its expectation (1e-8 each, 10 pairs).

    A model without the factor 2 inside groups has half of q there: some 30 standard deviations away.
    """
    model = BlockModel.from_degrees(DEGREES, GROUPS)
    p = _literal(DEGREES, GROUPS)
    counts, rng = np.zeros((5, 5)), np.random.default_rng(7)
    for _ in range(4000):
        left, right = model.sample(rng)
        assert np.all(left < right)
        counts[left, right] += 1
    upper = np.triu_indices(5, 1)
    spread = np.sqrt(4000 * p[upper] * (1 - p[upper]))
    assert np.all(np.abs(counts[upper] - 4000 * p[upper]) <= 6 * spread + 1e-9)


def _literal_of_ldpgen_published(degrees: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The formula, person by person and group by group."""
    n, k = degrees.shape
    d = np.clip(np.round(degrees), 0, n - 1)
    h, p = np.zeros((n, k)), np.zeros((n, k))
    for i in range(n):
        for b in range(k):
            for a in range(k):
                size = sum(old[u] == a for u in range(n))
                both = sum(old[u] == a and new[u] == b for u in range(n))
                h[i, b] += d[i, a] * both / size if size else 0
    for i in range(n):
        for b in range(k):
            total = sum(h[u, b] for u in range(n))
            within = sum(h[u, b] for u in range(n) if new[u] == new[i])
            size = sum(new[u] == b for u in range(n))
            if size and total > 0:
                p[i, b] = min(1, h[i, b] * (total / size) / (total + within))
    return p


def test_probabilities_are_those_of_the_literal_formula() -> None:
    rng = np.random.default_rng(0)
    for k in (1, 2, 4):
        degrees, old, new = rng.normal(3, 4, (12, k)), rng.integers(k, size=12), rng.integers(k, size=12)
        np.testing.assert_allclose(
            directed_probabilities(degrees, old, new), _literal_of_ldpgen_published(degrees, old, new), atol=1e-12
        )
