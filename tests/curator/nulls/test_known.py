"""Knowledge of a null model: what is public or reported, and never a test label."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.nulls.models import known_from_graph, known_from_reports
from ldpsim.curator.owned import OwnedGraph
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRR, Mechanism, OneBit, RandomizedResponse
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
    return Reports(FACTS, asks, {name: np.ones(N, np.bool_) for name in asks}, answered, given)


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


def test_reported_pairs_are_those_with_two_ones_each_once() -> None:
    ones = np.zeros((N, N), np.bool_)
    ones[[0, 1, 2, 4, 3], [1, 0, 3, 2, 5]] = True
    reports = _reports("adjacency", RandomizedResponse.from_epsilon(2, n=N), silent=5, adjacency=csr_array(ones))
    known = known_from_reports(reports, PublicKnowledge(FACTS, SPLIT, LABELS))
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


@pytest.mark.parametrize("reads", [(), ("label",), ("adjacency", "features"), ("adjacency", "features", "label")])
def test_an_owner_knows_what_it_reads(reads: tuple[str, ...]) -> None:
    owned = OwnedGraph(FACTS, SPLIT, csr_array(np.eye(N, D, dtype=np.float32)), EDGES, LABELS)
    known = known_from_graph(owned, reads)
    assert (known.edges is EDGES) == ("adjacency" in reads)
    assert (known.features is owned.features) == ("features" in reads)
    assert known.labels.labels.tolist() == ([0, 1, 2, 0, -1, -1] if "label" in reads else [-1] * N)
