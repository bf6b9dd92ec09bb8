from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import MLP, Budget, FeatFree, OneHotDegree, RandomFeatures, Raw
from ldpsim.curator.methods.base import questions_asked
from ldpsim.curator.owned import OwnedGraph
from ldpsim.devices.facts import PublicFacts, Split

SPLIT = Split(np.array([0, 1]), np.array([2]), np.array([3]))
FACTS = PublicFacts(4, 2, 2)
OWNED = OwnedGraph(
    FACTS, SPLIT, csr_array(np.array([[1, 3], [0, 1], [0, 0], [2, 0]], np.float32)), np.array([[0, 1], [1, 2]]),
    np.array([0, 1, 1, 0]),
)  # fmt: skip


def test_raw_is_the_graph_as_it_is_and_test_labels_stay_out() -> None:
    graph = Raw(scaling="row-normalised").from_owned(OWNED)
    assert graph.edge_index.tolist() == [[0, 1, 1, 2], [1, 2, 0, 1]]
    assert graph.labels.tolist() == [0, 1, 1, -1]
    np.testing.assert_allclose(graph.features.toarray()[0], [0.25, 0.75])
    assert graph.train.tolist() == [0, 1] and graph.val.tolist() == [2]


def test_references_ask_nobody_and_guarantee_nothing() -> None:
    assert questions_asked(Raw(), FACTS, SPLIT, Budget(), "c") == ()
    guarantee = Raw().guarantee(FACTS, (), Budget())
    assert guarantee.trust == "none" and guarantee.holds["relationship"].status == "unprotected"
    assert MLP().guarantee(FACTS, (), Budget()).holds["relationship"].status == "not asked"


def test_trust_and_scaling_are_checked() -> None:
    with pytest.raises(ValueError, match="trust"):
        OwnedGraph(FACTS, SPLIT, None, OWNED.edges, OWNED.labels, trust="untrusted curator")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="scaling=x"):
        Raw(scaling="x")


DEGREES = replace(OWNED, facts=PublicFacts(4, 3, 2), edges=np.array([[0, 1, 1], [1, 2, 3]]))


def test_degrees_are_one_hot_and_the_last_column_takes_the_rest() -> None:
    graph = OneHotDegree().from_owned(DEGREES)
    assert graph.features.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0]]  # degrees 1, 3, 1, 1
    assert graph.edge_index.shape == (2, 6) and graph.labels.tolist() == [0, 1, 1, -1]
    holds = OneHotDegree().guarantee(FACTS, (), Budget()).holds
    assert holds["relationship"].status == "unprotected" and holds["vector"].status == "not asked"


def test_random_features_are_those_of_the_seed() -> None:
    first, again, other = (RandomFeatures(feature_seed=s).from_owned(DEGREES).features for s in (0, 0, 1))
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert first.shape == (4, 3) and first.dtype == np.float32


def test_featfree_asks_nobody_and_reads_no_feature() -> None:
    unseen = replace(DEGREES, features=None)
    method = FeatFree()
    assert questions_asked(method, FACTS, SPLIT, Budget(), "c") == () and "features" not in method.spec.reads
    graph = method.from_owned(unseen)
    assert graph.features.shape == (4, 3) and graph.features.nnz == 0
    assert FeatFree(width=5).from_owned(unseen).features.shape == (4, 5)
    nothing = replace(unseen, facts=PublicFacts(4, 0, 2))
    assert FeatFree().from_owned(nothing).features.shape == (4, 1600)
    holds = method.guarantee(FACTS, (), Budget()).holds
    assert {holds[name].status for name in ("bit_feature", "vector")} == {"not asked"}
    assert {holds[name].status for name in ("bit_adjacency", "relationship", "label")} == {"unprotected"}


@pytest.mark.parametrize("features", ["identity", "random"])
@pytest.mark.parametrize("gnn", ["gcn", "sage", "gat"])
def test_featfree_gives_the_same_figure_for_equal_seeds(features: str, gnn: str) -> None:
    rng = np.random.default_rng(2)
    label = np.arange(60) % 2
    left, right = np.nonzero(np.triu(rng.random((60, 60)) < np.where(label[:, None] == label, 0.2, 0.02), 1))
    split = Split(np.arange(30), np.arange(30, 45), np.arange(45, 60))
    owned = OwnedGraph(PublicFacts(60, 3, 2), split, None, np.stack([left, right]), label)
    method = FeatFree(features=features, hops=2, patience=30)
    settings = TrainingSettings(gnn=gnn, epochs=60, **{
        name: value for name, value in method.spec.training_defaults.items() if name != "epochs"
    })  # fmt: skip

    def predicted(seed: int) -> np.ndarray:
        found = method.train(method.from_owned(owned), settings=settings, classes=2, seed=seed, device="cpu")
        return np.asarray(found.log_probability)

    one, two, other = predicted(3), predicted(3), predicted(4)
    assert np.array_equal(one, two) and not np.array_equal(one, other)
    assert np.mean(one.argmax(axis=1)[split.test] == label[split.test]) > 0.7
