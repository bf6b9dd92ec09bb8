"""Claimed and held losses of every method with a question, by level: one table.

Levels of a row: bit of the list, relationship, bit of the features, vector, label, user, node. A number is a bound,
"open" is unprotected.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods import Budget, find
from ldpsim.devices.facts import PublicFacts, Split

LEVELS = ("bit_adjacency", "relationship", "bit_feature", "vector", "label", "user", "node")
N = 6
FACTS = PublicFacts(N, 10, 3)
SPLIT = Split(np.array([0, 1]), np.array([2]), np.array([3, 4, 5]))
OPEN = "open"
PUBLIC = Budget(epsilon=2.0, public_features=True)
BOTH = Budget(eps_features=1.0, eps_labels=2.0)
CLEAR = Budget(eps_features=math.inf, eps_labels=math.inf)

TABLE: list[tuple[str, dict[str, Any], Budget, float | None, tuple[float | str, ...]]] = [
    # a list of five entries, both ends report: an edge counts twice; ten features of epsilon 0.5 each
    ("hogs", {}, Budget(eps_adjacency=3.0, eps_features=0.5), 3.5, (3, 6, 0.5, 5, OPEN, 20, 35)),
    ("hogs", {"topology": "blink", "degree_share": 0.2}, Budget(epsilon=10, feature_share=0.2), 10,
     (8, 16, 2, 20, OPEN, 60, 100)),
    ("rr", {}, PUBLIC, 2, (2, 4, OPEN, OPEN, OPEN, OPEN, OPEN)),
    ("symrr", {}, PUBLIC, 2, (2, 2, OPEN, OPEN, OPEN, OPEN, OPEN)),
    ("dprr", {"degree_share": 0.25}, PUBLIC, 2, (2, 4, OPEN, OPEN, OPEN, OPEN, OPEN)),
    ("ldpgcn", {}, PUBLIC, 2, (2, 4, OPEN, OPEN, OPEN, OPEN, OPEN)),
    ("blink", {}, PUBLIC, 2, (2, 4, OPEN, OPEN, OPEN, OPEN, OPEN)),
    ("ldpgen", {"groups": 3}, PUBLIC, 2, (2, 4, OPEN, OPEN, OPEN, OPEN, OPEN)),
    ("fp-ldpgen", {"groups": 3}, Budget(epsilon=2, feature_share=0.25), 2, (1.5, 3, 0.5, 5, OPEN, 12.5, 20)),
    ("solitude", {}, Budget(eps_adjacency=3.0, eps_features=1.0), 4, (3, 6, 1, 1, OPEN, 16, 31)),
    ("fp-solitude", {}, Budget(eps_adjacency=3.0, eps_features=1.0), 4, (3, 6, 1, 10, OPEN, 25, 40)),
    ("lpgnn", {}, BOTH, 3, (OPEN, OPEN, 1, 1, 2, OPEN, OPEN)),
    ("lpgnn", {"mechanism": "one_bit_full"}, BOTH, 3, (OPEN, OPEN, 0.1, 1, 2, OPEN, OPEN)),
    ("lpgnn", {"mechanism": "laplace"}, BOTH, 3, (OPEN, OPEN, 0.1, 1, 2, OPEN, OPEN)),
    ("lpgnn", {}, CLEAR, None, (OPEN, OPEN, OPEN, OPEN, OPEN, OPEN, OPEN)),
    ("lpgnn", {"version": "text"}, Budget(eps_features=1.0), 1, (OPEN, OPEN, 1, 1, OPEN, OPEN, OPEN)),
    # the papers claim a loss of features and labels alone
    ("lpgnn", {"adjacency": "private"}, Budget(eps_features=1.0, eps_labels=2.0, eps_adjacency=4.0), 3,
     (4, 8, 1, 1, 2, 23, 43)),
    ("upgnet", {}, Budget(epsilon=5.0), 5, (OPEN, OPEN, 2.5, 5, OPEN, OPEN, OPEN)),
    ("upgnet", {"mechanism": "mpm"}, Budget(epsilon=5.0), 5, (OPEN, OPEN, 2.5, 5, OPEN, OPEN, OPEN)),
    ("upgnet", {}, Budget(eps_features=math.inf), None, (OPEN, OPEN, OPEN, OPEN, OPEN, OPEN, OPEN)),
    ("privge", {}, Budget(epsilon=3.0), 3, (OPEN, OPEN, 3, 3, OPEN, OPEN, OPEN)),
    ("privge", {"m": 3}, Budget(epsilon=3.0), 3, (OPEN, OPEN, 1, 3, OPEN, OPEN, OPEN)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "settings", "budget", "claimed", "levels"), TABLE)
def test_what_is_claimed_and_what_holds(
    name: str, settings: dict[str, Any], budget: Budget, claimed: float | None, levels: tuple[float | str, ...]
) -> None:
    method = find(name)(**settings)
    guarantee = method.guarantee(FACTS, method.questions(FACTS, SPLIT, budget, "c"), budget)  # type: ignore[attr-defined]
    assert guarantee.claimed.value == (None if claimed is None else pytest.approx(claimed))
    for level, expected in zip(LEVELS, levels, strict=True):
        held = guarantee.holds[level]
        assert (held.status == "unprotected") == (expected == OPEN), level
        assert expected == OPEN or held.value == pytest.approx(expected), level
