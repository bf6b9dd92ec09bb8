from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import MLP, Budget, FeatFree, Raw, find, names
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


GRAPH_SUFFICES = {
    "blink", "dprr", "featfree", "ldpgcn", "ldpgen", "lp-and", "ohd", "raw", "rnd", "rr", "sbp", "symrr", "vote",
}  # fmt: skip


def test_people_without_features_have_one_free_row_each_and_other_methods_refuse_them() -> None:
    """A network without any input gave one class to everybody, and was shown as the reference without noise."""
    rows = {d: csr_array(np.eye(4, d, dtype=np.float32)) for d in (0, 4)}
    graphs = [Raw().from_owned(replace(OWNED, facts=PublicFacts(4, d, 2), features=rows[d])) for d in rows]
    settings = TrainingSettings(epochs=9)
    none, free = (Raw().train(graph, settings=settings, classes=2, seed=0, device="cpu") for graph in graphs)
    np.testing.assert_array_equal(none.log_probability, free.log_probability)
    for name in names():
        refused = pytest.raises(ValueError, match=f"{name} needs features, and these people have none")
        with nullcontext() if name in GRAPH_SUFFICES else refused:
            find(name)().check_people(PublicFacts(4, 0, 2))
        with pytest.raises(ValueError, match=f"{name} needs two classes or more, not 1"):
            find(name)().check_people(PublicFacts(4, 2, 1))


DEGREES = replace(OWNED, facts=PublicFacts(4, 3, 2), edges=np.array([[0, 1, 1], [1, 2, 3]]))


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
