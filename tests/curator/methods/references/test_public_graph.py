from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.methods import Budget, OneHotDegree, RandomFeatures
from ldpsim.curator.owned import OwnedGraph
from ldpsim.devices.facts import PublicFacts, Split

SPLIT = Split(np.array([0, 1]), np.array([2]), np.array([3]))
FACTS = PublicFacts(4, 3, 2)
OWNED = OwnedGraph(
    FACTS, SPLIT, csr_array(np.ones((4, 3), np.float32)), np.array([[0, 1, 1], [1, 2, 3]]), np.array([0, 1, 1, 0])
)


def test_degrees_are_one_hot_and_the_last_column_takes_the_rest() -> None:
    graph = OneHotDegree().from_owned(OWNED)
    assert graph.features.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0]]  # degrees 1, 3, 1, 1
    assert graph.edge_index.shape == (2, 6) and graph.labels.tolist() == [0, 1, 1, -1]


def test_random_features_are_those_of_the_seed() -> None:
    first, again, other = (RandomFeatures(feature_seed=s).from_owned(OWNED).features for s in (0, 0, 1))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert first.shape == (4, 3) and first.dtype == np.float32


def test_the_graph_is_unprotected_and_features_are_not_asked() -> None:
    for method in (RandomFeatures(), OneHotDegree()):
        holds = method.guarantee(FACTS, (), Budget()).holds
        assert holds["relationship"].status == "unprotected" and holds["vector"].status == "not asked"
