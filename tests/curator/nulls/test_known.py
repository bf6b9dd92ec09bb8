"""Knowledge of a null model: what is public or reported, and never a test label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from ldpsim.curator.learning.ridge import ridge
from ldpsim.curator.linear.tfidf import weighted_rows
from ldpsim.curator.nulls.known import known_from_graph, known_from_reports
from ldpsim.curator.nulls.models import features_alone, graph_alone
from ldpsim.curator.owned import OwnedGraph
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import (
    GRR,
    GRRFS,
    Laplace,
    Mechanism,
    MultiBit,
    OneBit,
    RandomizedResponse,
    SubsetSelection,
)
from ldpsim.devices.query import Ask

N, D = 6, 40
FACTS = PublicFacts(N, D, 3)
SPLIT = Split(np.array([0, 1]), np.array([2, 3]), np.array([4]))  # 5 is in no part
LABELS = np.array([0, 1, 2, 0, 1, 2])
EDGES = np.array([[0, 1], [2, 3]])
NOBODY = np.full(N, -1)


def _reports(
    attribute: str = "", mechanism: Mechanism | None = None, silent: int | None = None, **given: Any
) -> Reports:
    answered = np.arange(N) != silent
    asks = {} if mechanism is None else {attribute: Ask(attribute, (mechanism,))}
    return Reports(FACTS, asks, {name: np.ones(N, np.bool_) for name in asks}, answered, **given)


def test_public_knowledge_is_used_as_it_is() -> None:
    features = csr_array(np.eye(N, D, dtype=np.float32))
    known = known_from_reports(_reports(), PublicKnowledge(FACTS, SPLIT, LABELS, features, EDGES))
    assert known.edges is EDGES and known.features is features and known.labels.classes == 3
    assert known.labels.labels.tolist() == [0, 1, 2, 0, -1, -1]
    assert not known.reported
    nothing = known_from_reports(_reports(), PublicKnowledge(FACTS, SPLIT, NOBODY))
    assert nothing.edges is None and nothing.features is None
    assert nothing.labels.labels.tolist() == [-1] * N and not len(nothing.labels.known(SPLIT.train))


def test_reported_labels_of_test_nodes_are_dropped() -> None:
    # reports of an earlier run may have been split in another way
    reported = np.array([2, -1, 1, 0, 1, 2])
    reports = _reports("label", GRR.from_epsilon(1.0, categories=3), labels=reported)
    known = known_from_reports(reports, PublicKnowledge(FACTS, SPLIT, NOBODY))
    assert known.labels.labels.tolist() == [2, -1, 1, 0, -1, -1]
    assert known.labels.known(SPLIT.train).tolist() == [0] and known.reported == {"label"}
    assert reports.labels is not None and reports.labels.tolist() == reported.tolist()


def test_null_models_learn_from_every_class_that_a_report_names() -> None:
    """Each set holds the class: one of its two, taken as the label, is wrong in half of the cases."""
    rng = np.random.default_rng(3)
    n, classes = 200, 3
    truth = np.arange(n) % classes
    onehot = np.eye(classes, dtype=np.bool_)
    named = onehot[truth] | onehot[(truth + rng.choice([1, 2], n)) % 3]
    chosen = SubsetSelection(1 << 62, 2, classes)
    everybody, facts = np.ones(n, np.bool_), PublicFacts(n, classes, classes)
    asks = {"label": Ask("label", (chosen,))}
    reports = Reports(facts, asks, {"label": everybody}, everybody, labels=named)
    split = Split(np.arange(20), np.arange(20, 40), np.arange(40, n))
    features = (np.eye(classes)[truth] + rng.normal(0, 0.6, (n, classes))).astype(np.float32)
    same = np.array([(i, j) for i in range(n) for j in range(i) if truth[i] == truth[j] and rng.random() < 0.05]).T
    known = known_from_reports(reports, PublicKnowledge(facts, split, np.full(n, -1), features, same))
    assert known.labels.rows is not None and (known.labels.labels[split.test] == -1).all()
    by_label = replace(known, labels=replace(known.labels, rows=None))
    alone = replace(known, split=Split(split.train, split.val[:0], split.test))
    scores = ridge(weighted_rows(features), split.train, named[split.train].astype(float), classes).scores
    spread = features_alone(alone, seed=0)
    assert spread is not None and np.array_equal(spread[split.test], scores.argmax(axis=1)[split.test])
    for null in (graph_alone, lambda given: features_alone(given, seed=0)):
        found, one_class = null(known), null(by_label)
        assert found is not None and one_class is not None and not np.array_equal(found, one_class)
    one = known_from_reports(
        _reports("label", GRR.from_epsilon(1.0, categories=3), labels=LABELS), PublicKnowledge(FACTS, SPLIT, NOBODY)
    )
    assert one.labels.rows is None


def test_a_report_that_is_no_row_of_features_is_taken_by_its_own_estimate() -> None:
    """A mechanism of another package may report one number about all features; silent people have 0."""

    class Count(Laplace):
        def estimate(self, report: Any) -> Any:
            return 2 * report

    mechanism = Count.from_epsilon(1.0, d=D)
    counts = np.arange(1.0, N + 1)[:, None]
    reports = _reports("features", mechanism, silent=2, features=counts)
    known = known_from_reports(reports, PublicKnowledge(FACTS, SPLIT, LABELS))
    assert known.features.ravel().tolist() == [2, 4, 0, 8, 10, 12]


def test_reported_pairs_are_those_with_two_ones_each_once() -> None:
    ones = np.zeros((N, N), np.bool_)
    ones[[0, 1, 2, 4, 3], [1, 0, 3, 2, 5]] = True
    reports = _reports("adjacency", RandomizedResponse.from_epsilon(2, n=N), silent=5, adjacency=csr_array(ones))
    known = known_from_reports(reports, PublicKnowledge(FACTS, SPLIT, LABELS))
    assert known.edges is not None
    assert sorted(map(tuple, known.edges.T.tolist())) == [(0, 1), (3, 5)]  # 5 is silent: the word of 3 stands
    assert known.reported == {"adjacency"}
    public = known_from_reports(reports, PublicKnowledge(FACTS, SPLIT, LABELS, edges=EDGES))
    assert public.edges is EDGES and not public.reported


def test_reported_features_are_the_mechanisms_own_estimates() -> None:
    rng = np.random.Generator(np.random.PCG64(0))
    bits = rng.integers(0, 2, (N, D)).astype(np.uint8)
    one_bit = OneBit.from_epsilon(1.0, d=D)
    known = known_from_reports(
        _reports("features", one_bit, silent=2, features=np.packbits(bits, axis=1)),
        PublicKnowledge(FACTS, SPLIT, NOBODY),
    )
    expected = one_bit.estimate(bits)
    expected[2] = 0.5
    np.testing.assert_allclose(known.features, expected, rtol=1e-6)
    assert known.reported == {"features"}


def test_sparse_reports_stay_sparse_and_miss_the_middle_only() -> None:
    multi_bit = MultiBit.from_epsilon(1.0, d=D)
    signs = np.zeros((N, D), np.int8)
    signs[np.arange(N), 3 * np.arange(N)] = [1, -1, 1, -1, 1, 1]
    reports = _reports("features", multi_bit, features=csr_array(signs))
    known = known_from_reports(reports, PublicKnowledge(FACTS, SPLIT, NOBODY))
    assert issparse(known.features)
    np.testing.assert_allclose(known.features.toarray() + 0.5, multi_bit.estimate(signs), rtol=1e-6)


def test_categories_are_estimated_for_everybody_alone() -> None:
    mechanism = GRRFS.from_epsilon(3.0, facts=FACTS, m=4)
    codes = np.random.Generator(np.random.PCG64(1)).integers(0, 2, (N, D)).astype(np.uint8)
    reports = _reports("features", mechanism, silent=1, features=codes)
    known = known_from_reports(reports, PublicKnowledge(FACTS, SPLIT, NOBODY, edges=EDGES))
    expected = np.array([mechanism.estimate(row)[:, 1] for row in codes])
    expected[1] = 0.5
    np.testing.assert_allclose(known.features, expected, rtol=1e-5)


@pytest.mark.parametrize("reads", [(), ("label",), ("adjacency", "features"), ("adjacency", "features", "label")])
def test_an_owner_knows_what_it_reads(reads: tuple[str, ...]) -> None:
    owned = OwnedGraph(FACTS, SPLIT, csr_array(np.eye(N, D, dtype=np.float32)), EDGES, LABELS)
    known = known_from_graph(owned, reads)
    assert (known.edges is EDGES) == ("adjacency" in reads)
    assert (known.features is owned.features) == ("features" in reads)
    assert known.labels.labels.tolist() == ([0, 1, 2, 0, -1, -1] if "label" in reads else [-1] * N)
