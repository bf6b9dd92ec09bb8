"""LDPGen's graph as Blink's comparison draws it: its formula, its coins, and that it says nothing of the other end."""

from __future__ import annotations

import numpy as np

from ldpsim.curator.links.blink import directed_probabilities, draw_links


def _literal(degrees: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
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
        np.testing.assert_allclose(directed_probabilities(degrees, old, new), _literal(degrees, old, new), atol=1e-12)


def test_a_drawn_graph_has_these_probabilities() -> None:
    """4,000 graphs; a pair's count is within 6 standard deviations of its expectation (1e-8 each, 20 pairs).

    Drawn by the target's degree in place of the source's, pairs are up to 70 standard deviations away.
    """
    groups = np.array([0, 0, 1, 1, 1])
    degrees = np.array([[1, 4], [0, 1], [4, 0], [1, 1], [0, 2]])
    p, counts, rng = directed_probabilities(degrees, groups, groups), np.zeros((5, 5)), np.random.default_rng(3)
    for _ in range(4000):
        source, target = draw_links(p, groups, rng)
        counts[source, target] += 1
    pairs = p[:, groups] * ~np.eye(5, dtype=bool)
    spread = np.sqrt(4000 * pairs * (1 - pairs))
    assert np.all(np.abs(counts - 4000 * pairs) <= 6 * spread + 1e-9)
    assert np.max(np.abs(counts.T - 4000 * pairs) / np.maximum(spread, 1)) > 60
