"""Link methods: randomised response, its thinned and symmetric forms, L-DPGCN, label propagation and LDPGen."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import DPRR, Budget, FPLDPGen, LDPGen, LPAnd, Method
from ldpsim.curator.methods.local import ldpgen
from ldpsim.curator.methods.local.dprr import survival
from ldpsim.curator.methods.local.label_questions import with_labels
from ldpsim.curator.methods.local.ldpgcn import largest_pairs
from ldpsim.curator.nulls.inputs import known_from_reports
from ldpsim.curator.nulls.models import graph_alone
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRR, Degree, GroupDegrees, OneBit, RandomizedResponse
from ldpsim.devices.query import Ask
from tests.curator.worlds import reports_of

N = 5
FACTS = PublicFacts(N, 2, 2)
SPLIT = Split(np.array([0, 1]), np.array([2]), np.array([3, 4]))
FEATURES = csr_array(np.array([[1, 3], [0, 1], [0, 0], [2, 0], [1, 1]], np.float32))
PUBLIC = PublicKnowledge(FACTS, SPLIT, np.array([0, 1, 1, -1, -1]), FEATURES)
ROWS = np.array(
    [[0, 1, 0, 0, 1], [1, 0, 1, 0, 0], [1, 0, 0, 1, 0], [0, 0, 1, 0, 1], [0, 1, 0, 1, 0]], np.bool_
)  # fmt: skip
SPEND = Budget(epsilon=2, public_features=True)


def _reports(rows: np.ndarray | None = ROWS, *mechanisms: Any, **given: Any) -> Reports:
    mechanisms = mechanisms or (RandomizedResponse.from_epsilon(2, n=N),)
    adjacency = {} if rows is None else {"adjacency": csr_array(rows)}
    return reports_of(FACTS, {"adjacency": mechanisms}, **adjacency, **given)


def _directed(edge_index: np.ndarray) -> np.ndarray:
    dense = np.zeros((N, N), np.bool_)
    dense[edge_index[1], edge_index[0]] = True
    return dense


def test_survival_leaves_the_degree_on_average() -> None:
    # d p + (n - 1 - d)(1 - p) ones are expected of a row of d neighbours; q times that is d
    flip, d, n = 0.1, np.array([1, 4, 50]), 101
    ones = d * (1 - flip) + (n - 1 - d) * flip
    np.testing.assert_allclose(survival(d, np.full(3, n - 1), flip) * ones, d)
    assert survival(np.array([-4, 0]), np.full(2, 100), flip).tolist() == [0, 0]
    assert survival(np.array([900]), np.full(1, 100), flip)[0] == pytest.approx(100 / 90, rel=1e-12)  # kept whole
    assert survival(np.array([3]), np.array([0]), flip).tolist() == [0]  # the first device of one-end reporting
    for n in (129, 200, 1000):  # memory that was used before shows nowhere
        assert not survival(np.full(n, 3), np.zeros(n, np.int64), flip).any()


def test_dprr_thins_rows_and_one_set_of_reports_gives_one_graph() -> None:
    n = 400
    facts = PublicFacts(n, 1, 2)
    rng = np.random.default_rng(0)
    mechanisms = (RandomizedResponse.from_epsilon(1.0, n=n), Degree.from_epsilon(1.0, n=n))
    noisy = rng.random((n, n)) < mechanisms[0].flip_probability
    np.fill_diagonal(noisy, False)
    reports = reports_of(facts, {"adjacency": mechanisms}, adjacency=csr_array(noisy), degrees=np.full(n, 20))
    (edges, weights, notes), (again, _, _) = DPRR().links(reports), DPRR().links(reports)
    assert np.array_equal(edges, again) and weights is None
    assert noisy[edges[0], edges[1]].all()
    incoming, both = (DPRR(direction=way).links(reports)[0] for way in ("incoming", "both"))
    assert np.array_equal(incoming, edges[::-1])
    found = {tuple(sorted(edge)) for edge in edges.T.tolist()}
    assert {tuple(edge) for edge in both.T.tolist()} == found | {edge[::-1] for edge in found}
    assert both.shape[1] == 2 * len(found)
    # nobody has a neighbour: of ~ 399 * .269 ones a share q = 20 / (20 * .462 + 399 * .269) stays
    expected = noisy.sum() * survival(np.array([20]), np.array([399]), mechanisms[0].flip_probability)[0]
    assert abs(notes["survived"] - expected) < 5 * np.sqrt(expected)  # false alarm below 1e-6
    other = reports.with_arrays(degrees=np.r_[21, np.full(n - 1, 20)])
    assert not np.array_equal(DPRR().links(other)[0], edges)


def test_largest_entries_and_pairs_by_hand() -> None:
    rows = np.array([[0, 5, 9], [7, 0, 2], [1, 8, 0]], np.int32)
    everybody = np.ones(3, np.bool_)
    left, right = largest_pairs(rows, everybody, 2)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == [(0, 1), (0, 2)]  # 12, and 10 before its equal
    silent = np.array([True, False, True])
    left, right = largest_pairs(rows * silent[:, None], silent, 1)
    assert (left[0], right[0]) == (1, 2)  # the one report about it says 8, the mean of 9 and 1 is 5
    left, right = largest_pairs(np.zeros((3, 3), np.int32), np.zeros(3, np.bool_), 2)
    assert not len(left)


def test_lp_and_spreads_labels_over_agreed_pairs() -> None:
    graph = LPAnd().reconstruct(_reports(), PUBLIC)
    both = ROWS & ROWS.T
    assert np.array_equal(_directed(graph.edge_index), both)  # 0-1, 2-3 and 3-4
    assert graph.features.shape == (N, 0)
    trained = LPAnd().train(graph, settings=TrainingSettings(), classes=2, seed=0, device="cpu")
    assert trained.predictions.tolist()[:2] == [0, 1]
    assert trained.val_accuracy in (0.0, 1.0) and trained.best_epoch == 1
    assert not trained.model.state_dict()
    nobody = dataclasses.replace(graph, train=np.zeros(0, np.int64))
    with pytest.raises(ValueError, match="no training node has a label"):
        LPAnd().train(nobody, settings=TrainingSettings(), classes=2, seed=0, device="cpu")


def test_label_propagation_starts_at_training_nodes_alone() -> None:
    """A line 0 - 2 - 3 and a pair 1 - 4: node 3 has its label from node 0, whatever validation node 2 is said to be."""
    rows = np.zeros((N, N), np.bool_)
    for left, right in ((0, 2), (2, 3), (1, 4)):
        rows[left, right] = rows[right, left] = True
    for said in (0, 1):
        public = dataclasses.replace(PUBLIC, labels=np.array([0, 1, said, -1, -1]))
        spread = graph_alone(known_from_reports(_reports(rows), public))
        assert spread is not None and spread.tolist() == [0, 1, 0, 0, 1]
        graph = LPAnd().reconstruct(_reports(rows), public)
        trained = LPAnd().train(graph, settings=TrainingSettings(), classes=2, seed=0, device="cpu")
        assert trained.predictions.tolist() == [0, 1, 0, 0, 1]
        assert trained.val_accuracy == float(said == 0)  # by the label that the curator has


def test_the_questions_of_a_method_with_stages_and_labels() -> None:
    bits, degree = RandomizedResponse.from_epsilon(2, n=N), Degree.from_epsilon(1, n=N)
    first = (Ask("adjacency", (bits,)),)
    later = (Ask("adjacency", (degree,)),)
    (plain,) = with_labels(first, FACTS, SPLIT, Budget(), "c", "own", later=((degree,),))
    assert plain.query.plan == (first, later) and plain.devices is None
    spent = Budget(private_labels=True, eps_labels=1.5)
    labelled, others = with_labels(first, FACTS, SPLIT, spent, "c", "own", later=((degree,),))
    truth = Ask("label", (GRR.from_epsilon(1.5, categories=2),))
    assert labelled.query.plan == ((*first, truth), later) and others.query.plan == (first, later)
    assert labelled.devices is not None and labelled.devices.tolist() == SPLIT.labelled.tolist()
    assert others.devices is not None and {*others.devices, *labelled.devices} == set(range(N))
    everybody = dataclasses.replace(SPLIT, train=np.arange(N), val=SPLIT.val[:0], test=SPLIT.test[:0])
    assert len(with_labels(first, FACTS, everybody, spent, "c", "own")) == 1
    with pytest.raises(ValueError, match="--eps-labels is needed: labels are private, and own's"):
        with_labels(first, FACTS, SPLIT, Budget(private_labels=True), "c", "own")


# --- LDPGen: a triangle 0-1-2 and a path 3-4-5 ----------------------------------------------

SIX = PublicFacts(6, 3, 2)
SPLIT_OF_SIX = Split(np.array([0, 1]), np.array([2]), np.array([3, 4, 5]))
OF_SIX = PublicKnowledge(SIX, SPLIT_OF_SIX, np.array([0, 1, 1, -1, -1, -1]), csr_array(np.eye(6, 3, dtype=np.float32)))
GROUPING = np.array([0, 0, 0, 1, 1, 1])
COUNTS = np.array([[2, 0], [2, 0], [2, 0], [0, 1], [0, 2], [0, 1]])


def counted(counts: np.ndarray = COUNTS, **given: Any) -> Reports:
    bits = {"features": OneBit.from_epsilon(1.0, d=3)} if "features" in given else {}
    groups = GroupDegrees.from_epsilon(1.0, n=6, groups=counts.shape[1])
    reports = reports_of(SIX, {"adjacency": groups, **bits}, group_degrees=counts, **given)
    return dataclasses.replace(reports, grouping=GROUPING)


@pytest.mark.parametrize("method", [LDPGen(groups=3), FPLDPGen(groups=3)], ids=lambda m: m.spec.name)
def test_the_plan_has_two_stages_that_share_the_budget(method: Method) -> None:
    budget = SPEND if method.spec.name == "ldpgen" else Budget(epsilon=2, feature_share=0.25)
    (question,) = method.questions(SIX, SPLIT_OF_SIX, budget, "c")
    first, second = question.query.plan
    eps_a = 2.0 if method.spec.name == "ldpgen" else 1.5
    zero, one = first[0].mechanisms[0], second[0].mechanisms[0]
    assert (zero.groups, zero.seed, one.groups, one.seed) == (2, 0, 3, -1)
    assert zero.loss().bit == one.loss().bit == pytest.approx(eps_a / 2)


def test_a_silent_person_is_like_the_mean() -> None:
    counts = np.array([[9, 0], [8, 0], [0, 7], [1, 8], [0, 8], [0, 0]])
    answered = np.array([True, True, False, True, True, True])
    vectors = ldpgen._vectors(counted(counts, answered=answered))
    np.testing.assert_allclose(vectors[2], [18 / 5, 16 / 5])
    assert np.array_equal(vectors[[0, 1, 3, 4, 5]], counts[[0, 1, 3, 4, 5]])


def test_without_noise_edges_stay_inside_their_groups() -> None:
    """Triangle and path: 3 and 2 expected edges, none between; nothing else can be drawn."""
    graph = LDPGen().reconstruct(counted(), OF_SIX)
    assert np.array_equal(GROUPING[graph.edge_index[0]], GROUPING[graph.edge_index[1]])
    assert graph.notes["expected_edges"] == 3 + 2 and graph.edge_weight is None


def test_a_one_sided_link_is_from_its_reporter_and_regards_nothing_of_the_other_but_the_group() -> None:
    """Everybody reports nobody but for the last, who reports all: links there are, and all leave that one."""
    counts = np.zeros((6, 2), np.int64)
    counts[5] = [0, 6 - 1]
    method = LDPGen(graph="one-sided")
    graph = method.reconstruct(counted(counts), OF_SIX)
    assert set(graph.edge_index[0]) == {5} and graph.edge_weight is None
    assert graph.notes["edges"] == graph.edge_index.shape[1] and graph.notes["groups"] == 2
    assert np.array_equal(graph.edge_index, method.reconstruct(counted(counts), OF_SIX).edge_index)


def test_fp_averages_over_drawn_neighbours() -> None:
    bits = np.packbits(np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0]], np.uint8), axis=1)
    reports = counted(features=bits)
    graph = FPLDPGen(l=1, scaling="literal").reconstruct(reports, OF_SIX)
    truth = np.unpackbits(bits, axis=1)[:, :3].astype(float)
    for i in range(6):
        near = np.r_[i, graph.edge_index[0][graph.edge_index[1] == i]]
        np.testing.assert_allclose(graph.features[i], truth[near].mean(axis=0), atol=1e-6)
    left = FPLDPGen(l=0, scaling="literal").reconstruct(reports, OF_SIX)
    np.testing.assert_allclose(left.features, truth)


def test_reports_of_both_stages_are_read_and_kept(tmp_path: Any) -> None:
    (question,) = LDPGen(groups=2).questions(SIX, SPLIT_OF_SIX, SPEND, "c")
    second = dataclasses.replace(question, query=question.query.at_stage(1, tuple(GROUPING.tolist())))
    mechanism = second.query.asks[0].mechanisms[0]
    rows = mechanism.encode(COUNTS, np.arange(6))
    answers = {i: {"adjacency": (row,)} for i, row in enumerate(rows)}
    reports = Reports.from_bytes(SIX, (second,), answers)
    assert np.array_equal(reports.arrays["group_degrees"], COUNTS) and np.array_equal(reports.grouping, GROUPING)
    assert reports.asks["adjacency"].mechanisms == (mechanism,) and reports.plan == question.query.plan
    reports.save(tmp_path)
    read = Reports.load(tmp_path)
    assert np.array_equal(read.arrays["group_degrees"], COUNTS) and np.array_equal(read.grouping, GROUPING)
    assert read.query() == reports.query() and read.plan == question.query.plan
    claimed = LDPGen().guarantee(SIX, (dataclasses.replace(question, query=read.query()),), SPEND)
    assert claimed.holds["relationship"].value == pytest.approx(4)  # of both stages
    other = dataclasses.replace(second, query=question.query.at_stage(1, (0,) * 6), devices=np.array([0]))
    with pytest.raises(ValueError, match="group people differently"):
        Reports.from_bytes(SIX, (second, other), answers)
