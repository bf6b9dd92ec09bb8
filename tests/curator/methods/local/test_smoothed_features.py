"""LPGNN, UPGNet, PrivGE and Solitude: smoothed features written out, labels under noise, budgets and refusals."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.linear.propagation import adjacency_matrix
from ldpsim.curator.methods import LPGNN, Budget, PrivGE, Solitude, UPGNet
from ldpsim.curator.methods.base import BOTH_ENDS, ONE_END
from ldpsim.curator.methods.local.public_graph import deviation_of
from ldpsim.curator.methods.local.upgnet import shrunk_mean, soft_threshold
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets import load
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRR, ClearFeatures, Mechanism, MultiBit, RandomizedResponse, Window
from ldpsim.devices.query import Ask
from ldpsim.strategies import RunOptions
from ldpsim.strategies.runs.repeat import public_knowledge

N, D, CLASSES = 6, 10, 3
FACTS = PublicFacts(N, D, CLASSES)
SPLIT = Split(np.array([0, 1]), np.array([2]), np.array([3, 4, 5]))
EDGES = np.array([[0, 0, 0, 1, 2], [1, 2, 3, 2, 4]])  # a paw with a tail; node 5 is alone
ADJACENCY = adjacency_matrix(N, np.concatenate([EDGES, EDGES[::-1]], axis=1)).toarray()
PUBLIC = PublicKnowledge(FACTS, SPLIT, np.array([1, 2, 0, -1, -1, -1]), None, EDGES)
LISTS = [[1, 2], [0], [0, 1, 4], [2], [], [0, 2]]  # whom each one reported; 4 reported nobody
BOTH = Budget(eps_features=1.0, eps_labels=2.0)
CHANNEL = GRR.from_epsilon(2.0, categories=CLASSES)
TRAINER = "ldpsim.curator.learning.noisy_labels.train_denoised"


def sampled(mechanism: Mechanism) -> np.ndarray:
    """One entry of each person as multi-bit or a window reports it."""
    rng, bits = np.random.default_rng(0), isinstance(mechanism, MultiBit)
    rows = np.zeros((N, D), np.int8 if bits else np.int32)
    rows[np.arange(N), rng.integers(0, D, N)] = rng.choice([-1, 1] if bits else [5, 4000], N)
    return rows


def reports_of(
    mechanism: Mechanism, rows: np.ndarray | None = None, *, labels: bool = False, lists: bool = False,
    silent: Sequence[int] = (),
) -> tuple[Reports, np.ndarray]:  # fmt: skip
    """Reports of features, perhaps of labels and of :data:`LISTS`; and the estimates of the features."""
    answered = np.isin(np.arange(N), silent, invert=True)
    rows = sampled(mechanism) if rows is None else rows
    rows = rows * answered[:, None]
    asks, arrays = {"features": Ask("features", (mechanism,))}, {"features": csr_array(rows)}
    asked = {"features": np.ones(N, np.bool_)}
    if lists:
        ones = np.array([[j in near for j in range(N)] for near in LISTS]) & answered[:, None]
        asks["adjacency"] = Ask("adjacency", (RandomizedResponse.from_epsilon(3.0, n=N),))
        asked["adjacency"], arrays["adjacency"] = asked["features"], csr_array(ones)
    if labels:
        asks["label"], asked["label"] = Ask("label", (CHANNEL,)), np.arange(N) < 3
        arrays["labels"] = np.where(answered, PUBLIC.labels, -1)
    estimates = np.stack([mechanism.estimate(row) for row in rows.astype(float)])
    return Reports(FACTS, asks, asked, answered, arrays), estimates


MBM, MPM = MultiBit.from_epsilon(1.0, d=D), Window.from_epsilon(1.0, d=D)


@pytest.mark.parametrize("hops", [0, 1, 2, 5])
@pytest.mark.parametrize("loops", [False, True])
def test_features_of_lpgnn_are_kprop_written_out(hops: int, loops: bool) -> None:
    reports, wanted = reports_of(MBM, labels=True)
    public = dataclasses.replace(PUBLIC, labels=np.array([2, 2, 2, -1, -1, -1]))
    graph = LPGNN(k_x=hops, self_loops=loops).reconstruct(reports, public)
    dense = ADJACENCY + np.eye(N) * loops
    degrees = np.maximum(dense.sum(axis=1), 1)
    wanted = np.linalg.matrix_power(dense / np.sqrt(np.outer(degrees, degrees)), hops) @ wanted
    np.testing.assert_allclose(graph.features, wanted, rtol=1e-4, atol=1e-4)
    assert graph.edge_index.shape == (2, 10) and graph.features.dtype == np.float32
    assert graph.labels.tolist() == [1, 2, 0, -1, -1, -1]  # the reported ones, never the public ones
    assert graph.notes["edges"] == 10
    assert graph.notes["label_truth"] == pytest.approx(math.exp(2) / (math.exp(2) + 2))


def test_a_silent_device_has_no_label_and_the_middle_of_the_range() -> None:
    reports, _ = reports_of(MBM, labels=True, silent=(1, 2))
    graph = LPGNN(k_x=0).reconstruct(reports, PUBLIC)
    assert (graph.features[[1, 2]] == 0.5).all()
    assert graph.train.tolist() == [0] and not len(graph.val)


def test_a_private_graph_is_directed_and_the_public_one_is_not_read() -> None:
    reports, _ = reports_of(MBM, labels=True, lists=True)
    method = LPGNN(adjacency="private")
    assert not method.effective_spec().public_graph and LPGNN().effective_spec().public_graph
    graph = method.reconstruct(reports, PUBLIC)
    dense = np.zeros((N, N), np.bool_)
    dense[graph.edge_index[1], graph.edge_index[0]] = True  # row i: whom i takes from
    assert np.array_equal(dense, reports.adjacency.toarray())


def test_labels_are_asked_of_labelled_people_alone() -> None:
    labelled, others = LPGNN().questions(FACTS, SPLIT, BOTH, "c")
    assert labelled.devices.tolist() == [0, 1, 2] and others.devices.tolist() == [3, 4, 5]
    assert labelled.query.attributes == ("features", "label") and others.query.attributes == ("features",)


@pytest.mark.parametrize(("reporting", "ends", "edge"), [("both", BOTH_ENDS, 8.0), ("one-end", ONE_END, 4.0)])
def test_the_reasons_about_a_private_list_are_those_of_its_figures(reporting: Any, ends: str, edge: float) -> None:
    method, budget = LPGNN(adjacency="private"), dataclasses.replace(BOTH, eps_adjacency=4.0, reporting=reporting)
    guarantee = method.guarantee(FACTS, method.questions(FACTS, SPLIT, budget, "c"), budget)
    assert guarantee.holds["relationship"].value == pytest.approx(edge)
    assert {ends} == {BOTH_ENDS, ONE_END} & {*guarantee.why_they_differ}
    on_top = "the list is not part of what is claimed: each bit of it loses eps_adjacency more"
    assert guarantee.claimed.value == 3 and on_top in guarantee.why_they_differ
    assert on_top not in LPGNN().claim(BOTH).reasons


def test_how_many_features_are_sampled() -> None:
    budget = Budget(eps_features=4.0, eps_labels=1.0)
    for m, given in ((2, {}), (1, {"m": "floor"}), (7, {"m": "7"}), (10, {"mechanism": "one_bit_full"})):
        assert LPGNN(**given).questions(FACTS, SPLIT, budget, "c")[0].query.asks[0].mechanisms[0].m == m
    facts = PublicFacts(6, 50, 3)
    asked = {e: UPGNet().mechanism_for(e, facts).m for e in (1.0, 2.17, 2.18, 4.35, 4.36)}
    assert asked == {1.0: 1, 2.17: 1, 2.18: 1, 4.35: 1, 4.36: 2}
    assert [UPGNet(mechanism="mpm").mechanism_for(e, facts).m for e in (2.49, 2.5, 5.0)] == [1, 1, 2]
    for m in (1, 3):
        (question,) = PrivGE(m=m).questions(FACTS, SPLIT, Budget(epsilon=3.0), "c")
        (mechanism,) = question.query.asks[0].mechanisms
        assert (mechanism.kind, mechanism.m) == ("sw", m)


def test_budgets() -> None:
    assert LPGNN().budgets(Budget(epsilon=4, feature_share=0.25)) == (1, 3)
    assert LPGNN().budgets(BOTH) == (1, 2)
    assert LPGNN(version="text").budgets(Budget(epsilon=4)) == (4, None)
    assert Solitude().claim(Budget(epsilon=3.0, public_features=True)).value == 3


def test_the_guarantee_has_what_the_list_in_clear_leaves_and_the_delta_of_gaussian_noise() -> None:
    holds = LPGNN().guarantee(FACTS, LPGNN().questions(FACTS, SPLIT, BOTH, "c"), BOTH).holds
    assert "alone: 3" in holds["user"].detail
    gaussian = LPGNN(mechanism="gaussian")
    holds = gaussian.guarantee(FACTS, gaussian.questions(FACTS, SPLIT, BOTH, "c"), BOTH).holds
    assert holds["vector"].delta == 1e-10 and holds["vector"].value == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize(("method", "hops", "by_loss"), [
    (LPGNN(k_y=3), 3, False), (LPGNN(version="text", k_y=3), 0, True),
    (UPGNet(chosen_by="loss"), 0, True), (UPGNet(chosen_by="as-printed"), 0, False),
])  # fmt: skip
def test_the_training_gets_what_it_was_told_and_the_label_noise(
    method: Any, hops: int, by_loss: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, Any] = {}
    monkeypatch.setattr(TRAINER, lambda make, graph, **more: told.update(more))
    given = {"settings": TrainingSettings(gnn="sage"), "classes": 3, "seed": 5, "device": "cuda"}
    noisy = isinstance(method, LPGNN)
    method.train(method.reconstruct(reports_of(MBM, labels=noisy)[0], PUBLIC), **given)
    noise = told.pop("noise")
    assert told == given
    truth = CHANNEL.truth_probability if noisy else 1.0
    assert (noise.labels.truth, noise.hops, noise.by_loss) == (pytest.approx(truth), hops, by_loss)


@pytest.mark.parametrize(("method", "facts", "budget", "message"), [
    (LPGNN(), PublicFacts(6, 10, 1), BOTH, "--eps-labels 2.*at least 2 categories"),
    (LPGNN(version="text"), FACTS, BOTH, "version=text: takes labels as public"),
    (LPGNN(), FACTS, Budget(eps_adjacency=1.0), "--eps-adjacency: lpgnn's graph is public"),
    (LPGNN(adjacency="private"), FACTS, BOTH, "needs --eps-adjacency"),
    (LPGNN(m="11"), FACTS, BOTH, "^--set m=11: of 10 features 1..10 can be sampled"),
    (UPGNet(), FACTS, Budget(public_features=True), "--public-features: upgnet asks for them"),
    (UPGNet(), FACTS, Budget(eps_features=1e4), "--eps-features 10000: epsilon"),
])  # fmt: skip
def test_budgets_that_do_not_fit_are_refused_before_anybody_is_asked(
    method: Any, facts: PublicFacts, budget: Budget, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        method.questions(facts, SPLIT, budget, "c")


def test_only_what_the_setting_takes_as_public_is_handed_over() -> None:
    people = load("generated", clients=60)
    split = make_split("random", people, 0)
    ccs, text, private = (
        public_knowledge(people, split, RunOptions(method="lpgnn"), method)
        for method in (LPGNN(), LPGNN(version="text"), LPGNN(adjacency="private"))
    )
    assert ccs.edges is not None and text.edges is not None and private.edges is None
    assert (ccs.labels == -1).all() and (text.labels[split.labelled] >= 0).all()
    assert (text.labels[split.test] == -1).all()


@pytest.mark.parametrize("kind", ["mbm", "mpm"])
@pytest.mark.parametrize("settings", [
    {"nfr": "off"}, {"nfr": "sd"}, {"nfr": "1"}, {"nfr": "sd", "scale": "unit"}, {"hops": "as-printed"}, {"K": 1},
], ids=str)  # fmt: skip
def test_features_of_upgnet_are_nfr_and_hoa_written_out(kind: str, settings: dict[str, Any]) -> None:
    method = UPGNet(**{"mechanism": kind, "K": 3, "nfr": "off", "scale": "raw", **settings})
    reports, estimate = reports_of(MBM if kind == "mbm" else MPM)
    degrees = np.maximum(ADJACENCY.sum(axis=1), 1)
    mean = ADJACENCY / degrees[:, None] @ estimate
    deviation = deviation_of(reports.source("features"))
    if method.nfr == "sd":
        mu = deviation / np.sqrt(degrees)[:, None]
        mean = np.sign(mean) * np.maximum(np.abs(mean) - mu, 0)
    elif method.nfr == "1":
        mean = np.where(np.abs(mean) <= 2, 0, np.sign(mean) * (np.abs(mean) - 1))
    hop = ADJACENCY / np.sqrt(np.outer(degrees, degrees))
    if method.hops == "as-printed":
        hop = hop / degrees[:, None]
    wanted = sum(np.linalg.matrix_power(hop, k) for k in range(1, method.K + 1)) @ mean / method.K
    wanted = wanted / (deviation if method.scale == "unit" else 1)
    graph = method.reconstruct(reports, PUBLIC)
    np.testing.assert_allclose(np.asarray(graph.features), wanted, rtol=1e-4, atol=1e-5)
    assert graph.labels.tolist() == [1, 2, 0, -1, -1, -1] and graph.edge_index.shape == (2, 10)


def test_the_constant_of_multi_bit_is_shrunk_too() -> None:
    path = adjacency_matrix(3, np.array([[0, 1, 1, 2], [1, 0, 2, 1]]))
    rows = csr_array((np.array([4.0, -4.0], np.float32), ([0, 2], [0, 1])), shape=(3, 3))
    found = np.asarray(shrunk_mean(path, rows, 0.5, soft_threshold, np.full(3, 0.2, np.float32)))
    # means: the ends (.5, .5, .5), the middle (2.5, -1.5, .5)
    np.testing.assert_allclose(found, [[0.3, 0.3, 0.3], [2.3, -1.3, 0.3], [0.3, 0.3, 0.3]], rtol=1e-6)


RANGE = {"low": -1.0, "high": 3.0}
WINDOW = Window.from_epsilon(1.0, d=D, kind="sw", **RANGE)


def pagerank_of(entries: np.ndarray, alpha: float, r: float) -> np.ndarray:
    """The plain sum."""
    degrees = np.maximum(ADJACENCY.sum(axis=1), 1)
    walk = ADJACENCY * degrees[:, None] ** (r - 1) * degrees**-r
    return sum(alpha * (1 - alpha) ** k * np.linalg.matrix_power(walk, k) for k in range(400)) @ entries


def test_features_of_privge_are_pagerank_of_the_published_entries() -> None:
    b = (math.e - math.e + 1) / (math.e * (math.e - 2))
    reports, estimates = reports_of(WINDOW)
    output = (1 + b) * ((2 * sampled(WINDOW) - 1) / 4096 - 1)  # the middle of each number's cell of [-1 - b, 1 + b]
    entries = np.where(sampled(WINDOW) > 0, -1 + 4 * (output + 1) / 2, 0)
    graph = PrivGE(debias=False, alpha=0.2, r=0.3).reconstruct(reports, PUBLIC)
    np.testing.assert_allclose(graph.features, pagerank_of(entries, 0.2, 0.3), atol=2e-3)
    assert graph.features.dtype == np.float32
    debiased = PrivGE().reconstruct(reports, PUBLIC)
    wanted = pagerank_of(estimates / deviation_of(WINDOW), 0.1, 0.1)
    np.testing.assert_allclose(debiased.features, wanted, atol=2e-3)
    rows = np.random.default_rng(0).random((N, D)).astype(np.float32)
    for debias in (False, True):  # in clear they are propagated as they are
        graph = PrivGE(debias=debias).reconstruct(reports_of(ClearFeatures(D, **RANGE), rows)[0], PUBLIC)
        np.testing.assert_allclose(graph.features, pagerank_of(rows, 0.1, 0.1), atol=1e-4)


@pytest.mark.parametrize("hops", [0, 1, 3])
@pytest.mark.parametrize("smoothing", ["mean", "symmetric", "printed"])
def test_features_of_solitude_are_eq_11_written_out(hops: int, smoothing: str) -> None:
    reports, wanted = reports_of(MBM, lists=True)
    graph = Solitude(l_x=hops, smoothing=smoothing, features="literal").reconstruct(reports, PUBLIC)
    for _ in range(hops):
        after = np.zeros_like(wanted)
        for i, row in enumerate(LISTS):
            for j in row:
                size, other = len(LISTS[i]), len(LISTS[j])
                divisor = {"mean": size, "symmetric": math.sqrt(size * other), "printed": size * other}[smoothing]
                after[i] += wanted[j] / divisor if divisor else 0
        wanted = after
    np.testing.assert_allclose(graph.features, wanted, rtol=1e-4, atol=1e-4)


def test_edges_of_solitude_run_from_the_reported_to_the_one_who_reports() -> None:
    reports, _ = reports_of(MBM, lists=True)
    graph = Solitude().reconstruct(reports, PUBLIC)
    got = {(int(target), int(source)) for source, target in graph.edge_index.T}
    assert got == {(node, other) for node, row in enumerate(LISTS) for other in row}
    both = Solitude(topology="and").reconstruct(reports, PUBLIC).edge_index
    assert {frozenset(pair) for pair in both.T.tolist()} == {frozenset((0, 1)), frozenset((0, 2))}
    assert Solitude(topology="or").reconstruct(reports, PUBLIC).edge_index.shape[1] == 2 * 7


def test_standardised_columns_can_be_taken_back() -> None:
    reports, _ = reports_of(MBM, lists=True, silent=(3,))
    literal = Solitude(features="literal", l_x=1).reconstruct(reports, PUBLIC)
    standard = Solitude(l_x=1).reconstruct(reports, PUBLIC)
    back = standard.features * standard.notes["feature_scale"] + standard.notes["feature_centre"]
    heard = reports.answered
    np.testing.assert_allclose(back[heard], literal.features[heard], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(standard.features[heard].mean(axis=0), 0, atol=1e-5)
