"""LDPGen and FP-LDPGen."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.methods import FPLDPGen, LDPGen
from ldpsim.curator.methods.base import Budget, Method
from ldpsim.curator.methods.local import ldpgen as module
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GroupDegrees, OneBit
from ldpsim.devices.query import Ask

N = 6
FACTS = PublicFacts(N, 3, 2)
SPLIT = Split(np.array([0, 1]), np.array([2]), np.array([3, 4, 5]))
FEATURES = csr_array(np.array([[1, 3, 0], [0, 1, 0], [0, 0, 0], [2, 0, 2], [1, 1, 1], [0, 0, 1]], np.float32))
PUBLIC = PublicKnowledge(FACTS, SPLIT, np.array([0, 1, 1, -1, -1, -1]), FEATURES)
SPEND = Budget(epsilon=2, public_features=True)
EVERYBODY = np.ones(N, np.bool_)
# a triangle 0-1-2 and a path 3-4-5
GROUPING = np.array([0, 0, 0, 1, 1, 1])
COUNTS = np.array([[2, 0], [2, 0], [2, 0], [0, 1], [0, 2], [0, 1]])


def _reports(counts: np.ndarray = COUNTS, **given: Any) -> Reports:
    second = GroupDegrees.from_epsilon(1.0, n=N, groups=counts.shape[1])
    given = {"answered": EVERYBODY, "grouping": GROUPING, **given}
    asks = {"adjacency": Ask("adjacency", (second,))}
    asked = {"adjacency": EVERYBODY}
    if given.get("features") is not None:
        bits = OneBit.from_epsilon(1.0, d=3, low=0.0, high=1.0)
        asks["features"], asked["features"] = Ask("features", (bits,)), EVERYBODY
    answered, grouping = given.pop("answered"), given.pop("grouping")
    return Reports(FACTS, asks, asked, answered, {"group_degrees": counts, **given}, grouping=grouping)


@pytest.mark.parametrize("method", [LDPGen(groups=3), FPLDPGen(groups=3)], ids=lambda m: m.spec.name)
def test_the_plan_has_two_stages_that_share_the_budget(method: Method) -> None:
    budget = SPEND if method.spec.name == "ldpgen" else Budget(epsilon=2, feature_share=0.25)
    (question,) = method.questions(FACTS, SPLIT, budget, "c")
    first, second = question.query.plan
    eps_a = 2.0 if method.spec.name == "ldpgen" else 1.5
    zero, one = first[0].mechanisms[0], second[0].mechanisms[0]
    assert (zero.groups, zero.seed, one.groups, one.seed) == (2, 0, 3, -1)
    assert zero.loss().bit == one.loss().bit == pytest.approx(eps_a / 2)


def test_a_silent_person_is_like_the_mean() -> None:
    counts = np.array([[9, 0], [8, 0], [0, 7], [1, 8], [0, 8], [0, 0]])
    answered = np.array([True, True, False, True, True, True])
    vectors = module._vectors(_reports(counts, answered=answered))
    np.testing.assert_allclose(vectors[2], [18 / 5, 16 / 5])
    assert np.array_equal(vectors[[0, 1, 3, 4, 5]], counts[[0, 1, 3, 4, 5]])


def test_without_noise_edges_stay_inside_their_groups() -> None:
    """Triangle and path: 3 and 2 expected edges, none between; nothing else can be drawn."""
    graph = LDPGen().reconstruct(_reports(), PUBLIC)
    assert np.array_equal(GROUPING[graph.edge_index[0]], GROUPING[graph.edge_index[1]])
    assert graph.notes["expected_edges"] == 3 + 2 and graph.edge_weight is None


def test_a_one_sided_link_is_from_its_reporter_and_regards_nothing_of_the_other_but_the_group() -> None:
    """Everybody reports nobody but for the last, who reports all: links there are, and all leave that one."""
    counts = np.zeros((N, 2), np.int64)
    counts[5] = [0, N - 1]
    method = LDPGen(graph="one-sided")
    graph = method.reconstruct(_reports(counts), PUBLIC)
    assert set(graph.edge_index[0]) == {5} and graph.edge_weight is None
    assert graph.notes["edges"] == graph.edge_index.shape[1] and graph.notes["groups"] == 2
    assert np.array_equal(graph.edge_index, method.reconstruct(_reports(counts), PUBLIC).edge_index)


def test_fp_averages_over_drawn_neighbours() -> None:
    bits = np.packbits(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0]], np.uint8), axis=1)
    reports = _reports(features=bits)
    graph = FPLDPGen(l=1, scaling="literal").reconstruct(reports, PUBLIC)
    truth = np.unpackbits(bits, axis=1)[:, :3].astype(float)
    for i in range(N):
        near = np.r_[i, graph.edge_index[0][graph.edge_index[1] == i]]
        np.testing.assert_allclose(graph.features[i], truth[near].mean(axis=0), atol=1e-6)
    left = FPLDPGen(l=0, scaling="literal").reconstruct(reports, PUBLIC)
    np.testing.assert_allclose(left.features, truth)


def test_reports_of_both_stages_are_read_and_kept(tmp_path: Any) -> None:
    (question,) = LDPGen(groups=2).questions(FACTS, SPLIT, SPEND, "c")
    second = dataclasses.replace(question, query=question.query.at_stage(1, tuple(GROUPING.tolist())))
    mechanism = second.query.asks[0].mechanisms[0]
    answers = {i: {"adjacency": (mechanism.encode(COUNTS[i]),)} for i in range(N)}
    reports = Reports.from_bytes(FACTS, (second,), answers)
    assert np.array_equal(reports.arrays["group_degrees"], COUNTS) and np.array_equal(reports.grouping, GROUPING)
    assert reports.asks["adjacency"].mechanisms == (mechanism,) and reports.plan == question.query.plan
    reports.save(tmp_path)
    read = Reports.load(tmp_path)
    assert np.array_equal(read.arrays["group_degrees"], COUNTS) and np.array_equal(read.grouping, GROUPING)
    assert read.query() == reports.query() and read.plan == question.query.plan
    claimed = LDPGen().guarantee(FACTS, (dataclasses.replace(question, query=read.query()),), SPEND)
    assert claimed.holds["relationship"].value == pytest.approx(4)  # of both stages
    other = dataclasses.replace(second, query=question.query.at_stage(1, (0,) * N), devices=np.array([0]))
    with pytest.raises(ValueError, match="group people differently"):
        Reports.from_bytes(FACTS, (second, other), answers)
