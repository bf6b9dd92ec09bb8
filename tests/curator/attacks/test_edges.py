"""Edge membership: posteriors of pairs, and ties."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.attacks.recovery import attack_edges, pair_odds, top_share


def ring(n: int) -> np.ndarray:
    truth = np.zeros((n, n), bool)
    truth[np.arange(n), (np.arange(n) + 1) % n] = True
    return truth | truth.T


def test_both_ends_add_up() -> None:
    odds = np.array([[0.0, 1.0, -1.0], [2.0, 0.0, 0.5], [0.25, -4.0, 0.0]])
    assert pair_odds(odds).tolist() == [3.0, -0.75, -3.5]


def test_an_attacker_who_knows_all_and_one_who_knows_nothing() -> None:
    truth = ring(8)
    assert attack_edges(np.where(truth, 9.0, -9.0), truth) == {
        "edge_precision": 1.0, "edge_recall": 1.0, "edge_top": 1.0, "prior_precision": 8 / 28, "prior_recall": 8 / 28,
    }  # fmt: skip
    nothing = attack_edges(np.zeros((8, 8)), truth)
    assert nothing["edge_precision"] is None and nothing["edge_recall"] == nothing["prior_recall"] == 0.0
    assert nothing["edge_top"] == pytest.approx(8 / 28)
    with pytest.raises(ValueError, match="0 of"):
        attack_edges(np.zeros((3, 3)), np.zeros((3, 3), bool))


def test_ties_are_drawn_at_random() -> None:
    odds, linked = np.array([3.0, 1.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False, True])
    assert top_share(odds, linked, 3) == pytest.approx((1 + 2 / 3) / 3)
