"""Null models of links against their definitions on a small graph."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from curator.nulls import links as module
from curator.nulls.known import NullEvidence
from curator.nulls.links import common_neighbours, features_of_links, pagerank_of_pairs
from curator.reports.labels import LabelEvidence
from devices.facts import Split

NOBODY = np.zeros(0, np.int64)
SPLIT = Split(NOBODY, NOBODY, NOBODY)
EDGES = np.array([[0, 0, 1, 2, 3], [1, 2, 2, 3, 4]])
PAIRS = np.array([[0, 1, 0, 0], [1, 3, 3, 5]])


def known(edges: np.ndarray | None = EDGES, features: object = None) -> NullEvidence:
    return NullEvidence(LabelEvidence(np.full(6, -1), 2), SPLIT, edges, features)


def test_common_neighbours_by_hand() -> None:
    found = common_neighbours(known(), PAIRS)
    assert found is not None and found.tolist() == [1, 1, 1, 0]
    assert common_neighbours(known(None), PAIRS) is None and common_neighbours(known(EDGES[:, :0]), PAIRS) is None


def test_pagerank_solves_its_equation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ENDS_AT_ONCE", 2)
    dense = np.zeros((6, 6))
    dense[tuple(EDGES)] = dense[tuple(EDGES[::-1])] = 1
    walk = dense / np.maximum(dense.sum(axis=1, keepdims=True), 1)
    visits = 0.1 * np.linalg.inv(np.eye(6) - 0.9 * walk)
    found = pagerank_of_pairs(known(), PAIRS)
    assert found == pytest.approx((visits + visits.T)[tuple(PAIRS)], abs=1e-4)
    assert pagerank_of_pairs(known(None), PAIRS) is None
    # By hand on the path 1 - 0 - 2, a step going to each neighbour alike: one step out of 0 goes to 1 in half of the
    # cases, one out of 1 always to 0. A walk that weighs by the roots of degrees has other sums.
    path = pagerank_of_pairs(known(np.array([[0, 0], [1, 2]])), np.array([[0, 1], [1, 2]]))
    to_end, back, across = 0.45 * 0.1 / 0.19, 0.9 * 0.1 / 0.19, 0.405 * 0.1 / 0.19
    assert path == pytest.approx([to_end + back, 2 * across], abs=1e-4)


def test_features_alone_is_the_cosine_without_edges() -> None:
    rows = np.array([[1, 0], [2, 0.0], [0, 1], [0, 3], [1, 1], [0, 0]], np.float32)
    found = features_of_links(known(None, csr_array(rows)), PAIRS, 2, seed=0)
    assert found is not None and found[0] > 0.99 and found[1] < 0.01 and found[3] == 0
    assert features_of_links(known(), PAIRS, 2, seed=0) is None


def test_the_better_one_on_validation_pairs_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = csr_array(np.eye(6, dtype=np.float32))  # nobody has a feature in common: the cosine ties all pairs
    learned = np.array([2.0, 1.0, 5.0, 4.0])
    for val_auc, taken in ((0.9, True), (0.5, False)):
        trained = module.train_links(rows, EDGES[:, :0], PAIRS, 2, settings=None, seed=0, device="cpu")  # type: ignore[arg-type]
        made = type(trained)(None, learned, 1, val_auc, 0.0)
        monkeypatch.setattr(module, "train_links", lambda *given, made=made, **more: made)
        found = features_of_links(known(EDGES, rows), PAIRS, 2, seed=0)
        assert found is not None and (found.tolist() == learned.tolist()) == taken
        monkeypatch.undo()
