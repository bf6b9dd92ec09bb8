from __future__ import annotations

import numpy as np

from ldpsim.curator.links.blink import BlockModel

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


def test_nothing_reported_is_no_graph() -> None:
    model = BlockModel.from_degrees(np.zeros((5, 2)), GROUPS)
    left, right = model.sample(np.random.default_rng(0))
    assert len(left) == len(right) == 0
    lonely = BlockModel.from_degrees(np.array([[4.0], [0.0], [0.0]]), np.zeros(3, np.int64))
    assert len(lonely.sample(np.random.default_rng(0))[0]) == 0  # a pair of one with itself is no edge
