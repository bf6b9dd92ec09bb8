"""Honest and false reports of small populations, for tests of the defences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import Mechanism, RandomizedResponse
from ldpsim.devices.query import Ask


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
    n = len(rows)
    response = RandomizedResponse.from_epsilon(epsilon, n=n, reporting=reporting)  # type: ignore[arg-type]
    sparse = csr_array(rows.astype(np.bool_))
    everybody = np.ones(n, np.bool_)
    asks = {"adjacency": Ask("adjacency", (response, *more))}
    return Reports(PublicFacts(n, 1, 2), asks, {"adjacency": everybody}, everybody,
                   {"adjacency": sparse, **arrays})  # fmt: skip


def features_of(mechanism: Mechanism, features: object, n: int, d: int) -> Reports:
    """Reports of features alone."""
    everybody = np.ones(n, np.bool_)
    asks: Mapping[str, Ask] = {"features": Ask("features", (mechanism,))}
    return Reports(PublicFacts(n, d, 2), asks, {"features": everybody}, everybody, {"features": features})
