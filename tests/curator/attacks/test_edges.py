"""Edge membership: posteriors of pairs, ties, and the thresholds of theory."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ldpsim.curator.attacks.edges import attack_edges, expected_named, pair_odds, top_share


def ring(n: int) -> np.ndarray:
    truth = np.zeros((n, n), bool)
    truth[np.arange(n), (np.arange(n) + 1) % n] = True
    return truth | truth.T


def test_both_ends_add_up() -> None:
    odds = np.array([[0.0, 1.0, -1.0], [2.0, 0.0, 0.5], [0.25, -4.0, 0.0]])
    assert pair_odds(odds).tolist() == [3.0, -0.75, -3.5]


def test_an_attacker_who_knows_all_and_one_who_knows_nothing() -> None:
    truth = ring(8)
    everything = attack_edges(np.where(truth, 9.0, -9.0), truth)
    assert (everything.precision, everything.recall, everything.top) == (1.0, 1.0, 1.0)
    assert everything.prior_precision == 8 / 28 and everything.prior_recall == 8 / 28
    nothing = attack_edges(np.zeros((8, 8)), truth)
    assert nothing.precision is None and nothing.recall == 0.0
    assert nothing.top == pytest.approx(8 / 28) and nothing.prior_recall == 0.0
    with pytest.raises(ValueError, match="0 of"):
        attack_edges(np.zeros((3, 3)), np.zeros((3, 3), bool))


def test_ties_are_drawn_at_random() -> None:
    odds, linked = np.array([3.0, 1.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False, True])
    assert top_share(odds, linked, 3) == pytest.approx((1 + 2 / 3) / 3)


@pytest.mark.parametrize(("epsilon", "reports", "least"), [(1, 24, 28), (2, 6, 8), (7, 1, 2)])
def test_cora_at_99_percent(epsilon: float, reports: int, least: int) -> None:
    """Both ends of a pair, ``reports`` collections, named from ``least`` ones on; density 3.9 / 2707."""
    from scipy.stats import binom

    flip = 1 / (1 + math.exp(epsilon))
    density = 3.9 / 2707
    edge, other = binom.sf(least - 1, 2 * reports, 1 - flip), binom.sf(least - 1, 2 * reports, flip)
    assert edge > 0.99 and density * edge / (density * edge + (1 - density) * other) > 0.99
    best, named = expected_named(flip, 2 * reports, density)
    assert abs(best - edge) < 0.02 and named < 2e-5


def test_expected_numbers_by_every_outcome() -> None:
    flip, density, reports = 0.2, 0.05, 7
    weight = math.log((1 - flip) / flip)
    chosen = [k for k in range(reports + 1) if (2 * k - reports) * weight + math.log(density / (1 - density)) > 0]
    edge = sum(math.comb(reports, k) * (1 - flip) ** k * flip ** (reports - k) for k in chosen)
    other = sum(math.comb(reports, k) * flip**k * (1 - flip) ** (reports - k) for k in chosen)
    assert expected_named(flip, reports, density) == pytest.approx((edge, other))
