"""PrivGE: its entries, PageRank on them, what holds, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import Budget, PrivGE
from ldpsim.curator.methods.local.public_graph import deviation_of
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import ClearFeatures, Mechanism, Window
from ldpsim.devices.query import Ask

FACTS = PublicFacts(4, 6, 2, -1.0, 3.0)
SPLIT = Split(np.array([0]), np.array([1]), np.array([2, 3]))
PUBLIC = PublicKnowledge(FACTS, SPLIT, np.array([1, 0, -1, -1]), None, np.array([[0, 1], [1, 2]]))
WINDOW = Window.from_epsilon(1.0, d=6, kind="sw", low=-1.0, high=3.0)
ROWS = np.array([[0, 9, 0, 0, 0, 0], [4096, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 2000], [1, 0, 0, 0, 0, 0]], np.int32)


def reports_of(mechanism: Mechanism, rows: np.ndarray) -> Reports:
    everybody = np.ones(4, np.bool_)
    asks = {"features": Ask("features", (mechanism,))}
    return Reports(FACTS, asks, {"features": everybody}, everybody, {"features": csr_array(rows)})


def pagerank_of(entries: np.ndarray, alpha: float, r: float) -> np.ndarray:
    """The plain sum on a path of three and a node alone."""
    walk = np.zeros((4, 4))
    degrees = np.array([1.0, 2.0, 1.0])
    for i, j in ((0, 1), (1, 0), (1, 2), (2, 1)):
        walk[i, j] = degrees[i] ** (r - 1) * degrees[j] ** -r
    return sum(alpha * (1 - alpha) ** k * np.linalg.matrix_power(walk, k) for k in range(400)) @ entries


def test_features_are_pagerank_of_the_published_entries() -> None:
    b = (math.e - math.e + 1) / (math.e * (math.e - 2))
    output = (1 + b) * ((2 * ROWS - 1) / 4096 - 1)  # the middle of each number's cell of [-1 - b, 1 + b]
    entries = np.where(ROWS > 0, -1 + 4 * (output + 1) / 2, 0)
    graph = PrivGE(debias=False, alpha=0.2, r=0.3).reconstruct(reports_of(WINDOW, ROWS), PUBLIC)
    np.testing.assert_allclose(graph.features, pagerank_of(entries, 0.2, 0.3), atol=2e-3)
    assert graph.features.dtype == np.float32


def test_debiased_entries_are_the_estimates_over_their_deviation() -> None:
    entries = np.stack([WINDOW.estimate(row) for row in ROWS]) / deviation_of(WINDOW)
    graph = PrivGE().reconstruct(reports_of(WINDOW, ROWS), PUBLIC)
    np.testing.assert_allclose(graph.features, pagerank_of(entries, 0.1, 0.1), atol=1e-3)


@pytest.mark.parametrize("debias", [False, True])
def test_features_in_clear_are_propagated_as_they_are(debias: bool) -> None:
    rows = np.random.default_rng(0).random((4, 6)).astype(np.float32)
    graph = PrivGE(debias=debias).reconstruct(reports_of(ClearFeatures(6, -1.0, 3.0), rows), PUBLIC)
    np.testing.assert_allclose(graph.features, pagerank_of(rows, 0.1, 0.1), atol=1e-4)


@pytest.mark.parametrize("m", [1, 3])
def test_a_window_of_m_features_is_asked(m: int) -> None:
    (question,) = PrivGE(m=m).questions(FACTS, SPLIT, Budget(epsilon=3.0), "c")
    (mechanism,) = question.query.asks[0].mechanisms
    assert isinstance(mechanism, Window) and (mechanism.kind, mechanism.m) == ("sw", m)


def test_it_trains_a_perceptron_only() -> None:
    graph = PrivGE().reconstruct(reports_of(WINDOW, ROWS), PUBLIC)
    with pytest.raises(ValueError, match="--gnn gcn: privge trains a perceptron"):
        PrivGE().train(graph, settings=TrainingSettings(gnn="gcn"), classes=2, seed=0, device="cpu")
