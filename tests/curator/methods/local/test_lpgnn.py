from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import LPGNN, Budget
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets import load
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import (
    GRR,
    Mechanism,
    MultiBit,
    RandomizedResponse,
)
from ldpsim.devices.query import Ask
from ldpsim.strategies import RunOptions
from ldpsim.strategies.runs.run import public_knowledge

FACTS = PublicFacts(6, 10, 3)
SPLIT = Split(np.array([0, 1]), np.array([2]), np.array([3, 4, 5]))
EDGES = np.array([[0, 0, 0, 1, 2], [1, 2, 3, 2, 4]])  # a paw with a tail; node 5 is alone
BOTH = Budget(eps_features=1.0, eps_labels=2.0)


def _reports(*, private: bool = False, silent: tuple[int, ...] = ()) -> tuple[Reports, PublicKnowledge, np.ndarray]:
    rng = np.random.default_rng(0)
    mechanism, label = MultiBit.from_epsilon(1.0, d=10), GRR.from_epsilon(2.0, categories=3)
    signs = np.zeros((6, 10), np.int8)
    signs[np.arange(6), rng.integers(0, 10, 6)] = rng.choice([-1, 1], 6)
    asks = {"features": Ask("features", (mechanism,)), "label": Ask("label", (label,))}
    everybody, labelled = np.ones(6, np.bool_), np.arange(6) < 3
    asked = {"features": everybody, "label": labelled}
    labels = np.array([1, 2, 0, -1, -1, -1])
    arrays: dict[str, Any] = {}
    if private:
        flip = RandomizedResponse.from_epsilon(4.0, n=6)
        asks, asked = {"adjacency": Ask("adjacency", (flip,)), **asks}, {"adjacency": everybody, **asked}
        arrays["adjacency"] = csr_array(rng.random((6, 6)) < 0.3)
    answered = np.ones(6, np.bool_)
    answered[list(silent)] = False
    signs[list(silent)] = 0
    labels[list(silent)] = -1
    reports = Reports(FACTS, asks, asked, answered, {**arrays, "features": csr_array(signs), "labels": labels})
    public = PublicKnowledge(FACTS, SPLIT, np.array([2, 2, 2, -1, -1, -1]), None, None if private else EDGES)
    return reports, public, np.asarray(mechanism.estimate(signs.astype(float)))


@pytest.mark.parametrize("hops", [0, 1, 2, 5])
@pytest.mark.parametrize("loops", [False, True])
def test_features_are_kprop_written_out(hops: int, loops: bool) -> None:
    reports, public, estimate = _reports()
    graph = LPGNN(k_x=hops, self_loops=loops).reconstruct(reports, public)
    neighbours: list[list[int]] = [[1, 2, 3], [0, 2], [0, 1, 4], [0], [2], []]
    if loops:
        neighbours = [[*near, node] for node, near in enumerate(neighbours)]
    wanted = estimate
    for _ in range(hops):
        after = np.zeros_like(wanted)
        for node, near in enumerate(neighbours):
            for other in near:
                after[node] += wanted[other] / math.sqrt(len(near) * len(neighbours[other]))
        wanted = after
    np.testing.assert_allclose(graph.features, wanted, rtol=1e-4, atol=1e-4)
    assert graph.edge_index.shape == (2, 10) and graph.features.dtype == np.float32
    assert graph.labels.tolist() == [1, 2, 0, -1, -1, -1]  # the reported ones, never the public ones
    assert graph.notes["edges"] == 10
    assert graph.notes["label_truth"] == pytest.approx(math.exp(2) / (math.exp(2) + 2))


def test_a_silent_device_has_no_label_and_the_middle_of_the_range() -> None:
    reports, public, _ = _reports(silent=(1, 2))
    graph = LPGNN(k_x=0).reconstruct(reports, public)
    assert (graph.features[[1, 2]] == 0.5).all()
    assert graph.train.tolist() == [0] and not len(graph.val)


def test_a_private_graph_is_directed_and_the_public_one_is_not_read() -> None:
    reports, public, _ = _reports(private=True)
    method = LPGNN(adjacency="private")
    assert not method.in_force().public_graph and LPGNN().in_force().public_graph
    graph = method.reconstruct(reports, dataclasses.replace(public, edges=EDGES))
    assert reports.adjacency is not None
    dense = np.zeros((6, 6), np.bool_)
    dense[graph.edge_index[1], graph.edge_index[0]] = True  # row i: whom i takes from
    assert np.array_equal(dense, reports.adjacency.toarray())


def test_labels_are_asked_of_labelled_people_alone() -> None:
    labelled, others = LPGNN().questions(FACTS, SPLIT, BOTH, "c")
    assert labelled.devices is not None and labelled.devices.tolist() == [0, 1, 2]
    assert others.devices is not None and others.devices.tolist() == [3, 4, 5]
    assert labelled.query.attributes == ("features", "label") and others.query.attributes == ("features",)


def test_how_many_features_are_sampled() -> None:
    def sampled(**values: str) -> int:
        budget = Budget(eps_features=4.0, eps_labels=1.0)
        first, _ = LPGNN(**values).questions(FACTS, SPLIT, budget, "c")  # type: ignore[arg-type]
        mechanism: Mechanism = first.query.asks[0].mechanisms[0]
        assert isinstance(mechanism, MultiBit)
        return mechanism.m

    assert [sampled(), sampled(m="floor"), sampled(m="7"), sampled(mechanism="one_bit_full")] == [2, 1, 7, 10]


def test_budgets() -> None:
    assert LPGNN().budgets(Budget(epsilon=4, feature_share=0.25)) == (1, 3)
    assert LPGNN().budgets(BOTH) == (1, 2)
    assert LPGNN(version="text").budgets(Budget(epsilon=4)) == (4, None)


def test_the_guarantee_has_what_the_list_in_clear_leaves_and_the_delta_of_gaussian_noise() -> None:
    holds = LPGNN().guarantee(FACTS, LPGNN().questions(FACTS, SPLIT, BOTH, "c"), BOTH).holds
    assert "alone: 3" in holds["user"].detail
    gaussian = LPGNN(mechanism="gaussian")
    holds = gaussian.guarantee(FACTS, gaussian.questions(FACTS, SPLIT, BOTH, "c"), BOTH).holds
    assert holds["vector"].delta == 1e-10 and holds["vector"].value == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("version", ["ccs", "text"])
def test_the_training_gets_what_it_was_told_and_the_label_noise(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, Any] = {}
    monkeypatch.setattr(
        "ldpsim.curator.learning.noisy_labels.train_denoised", lambda make, graph, **more: told.update(more)
    )
    reports, public, _ = _reports()
    method = LPGNN(version=version, k_y=3)
    given = {"settings": TrainingSettings(), "classes": 3, "seed": 5, "device": "cuda"}
    graph = method.reconstruct(reports, public)
    method.train(graph, **given)  # type: ignore[arg-type]
    noise = told.pop("noise")
    assert told == given
    ccs = version == "ccs"
    assert (noise.told.truth, noise.hops, noise.by_loss) == (graph.notes["label_truth"], 3 if ccs else 0, not ccs)


@pytest.mark.parametrize(
    ("method", "facts", "budget", "message"),
    [
        (LPGNN(), PublicFacts(6, 10, 1), BOTH, "--eps-labels 2.*at least 2 categories"),
        (LPGNN(version="text"), FACTS, BOTH, "version=text: takes labels as public"),
        (LPGNN(), FACTS, Budget(eps_adjacency=1.0), "--eps-adjacency: lpgnn's graph is public"),
        (LPGNN(adjacency="private"), FACTS, BOTH, "needs --eps-adjacency"),
        (LPGNN(m="11"), FACTS, BOTH, "^--set m=11: of 10 features 1..10 can be sampled"),
    ],
)
def test_budgets_that_do_not_fit_are_refused_before_anybody_is_asked(
    method: LPGNN, facts: PublicFacts, budget: Budget, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        method.questions(facts, SPLIT, budget, "c")


def test_only_what_the_setting_takes_as_public_is_handed_over() -> None:
    people = load("generated", clients=60)
    split = make_split("random", people, 0)
    options = RunOptions(method="lpgnn")
    ccs, text, private = (
        public_knowledge(people, split, options, method)
        for method in (LPGNN(), LPGNN(version="text"), LPGNN(adjacency="private"))
    )
    assert ccs.edges is not None and text.edges is not None and private.edges is None
    assert (ccs.labels == -1).all() and (text.labels[split.labelled] >= 0).all()
    assert (text.labels[split.test] == -1).all()
