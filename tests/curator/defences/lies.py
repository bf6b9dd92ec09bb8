"""Honest and false reports of small populations, for tests of the defences."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import Mechanism, RandomizedResponse
from tests.curator import worlds


def a_graph(n: int, degree: float, seed: int) -> np.ndarray:
    """bool (n, n): a symmetric random graph."""
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < degree / n, 1)
    return np.asarray(upper | upper.T)


def honest_rows(graph: np.ndarray, flip: float, seed: int) -> np.ndarray:
    """bool (n, n): every entry but the diagonal flipped with this probability."""
    rows = graph ^ (np.random.default_rng(seed).random(graph.shape) < flip)
    np.fill_diagonal(rows, False)
    return np.asarray(rows)


def reports_of(rows: np.ndarray, epsilon: float, reporting: str = "both", more: tuple[Mechanism, ...] = (),
               **arrays: object) -> Reports:  # fmt: skip
    """Reports whose rows, bool (n, n), are given."""
    response = RandomizedResponse.from_epsilon(epsilon, n=len(rows), reporting=reporting)
    facts = PublicFacts(len(rows), 1, 2)
    return worlds.reports_of(facts, {"adjacency": (response, *more)}, adjacency=csr_array(rows), **arrays)


def features_of(mechanism: Mechanism, features: object, n: int, d: int) -> Reports:
    """Reports of features alone."""
    return worlds.reports_of(PublicFacts(n, d, 2), {"features": mechanism}, features=features)
