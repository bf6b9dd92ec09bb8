"""UPGNet: NFR and HOA written out, the code's reading of both, and what holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.linear.propagation import adjacency_matrix
from ldpsim.curator.methods import Budget, UPGNet
from ldpsim.curator.methods.local.public_graph import deviation_of, shrunk_mean, soft_threshold
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import Mechanism, MultiBit, Window
from ldpsim.devices.query import Ask

FACTS = PublicFacts(6, 10, 3)
SPLIT = Split(np.array([0, 1]), np.array([2]), np.array([3, 4, 5]))
EDGES = np.array([[0, 0, 0, 1, 2], [1, 2, 3, 2, 4]])  # a paw with a tail; node 5 is alone
PUBLIC = PublicKnowledge(FACTS, SPLIT, np.array([1, 2, 0, -1, -1, -1]), None, EDGES)
PATH = adjacency_matrix(3, np.array([[0, 1, 1, 2], [1, 0, 2, 1]]))


def reports_of(mechanism: Mechanism, rows: np.ndarray) -> Reports:
    everybody = np.ones(6, np.bool_)
    asks = {"features": Ask("features", (mechanism,))}
    return Reports(FACTS, asks, {"features": everybody}, everybody, {"features": csr_array(rows)})


def of_kind(kind: str) -> tuple[Reports, np.ndarray]:
    """Reports of one feature each, and their estimates."""
    rng = np.random.default_rng(0)
    mechanism = MultiBit.from_epsilon(1.0, d=10) if kind == "mbm" else Window.from_epsilon(1.0, d=10)
    rows = np.zeros((6, 10), np.int8 if kind == "mbm" else np.int32)
    rows[np.arange(6), rng.integers(0, 10, 6)] = rng.choice([-1, 1] if kind == "mbm" else [5, 4000], 6)
    return reports_of(mechanism, rows), np.stack([mechanism.estimate(row) for row in rows])


@pytest.mark.parametrize("kind", ["mbm", "mpm"])
@pytest.mark.parametrize("settings", [
    {"nfr": "off"}, {"nfr": "sd"}, {"nfr": "1"}, {"nfr": "sd", "scale": "unit"}, {"hops": "as-printed"}, {"K": 1},
], ids=str)  # fmt: skip
def test_features_are_nfr_and_hoa_written_out(kind: str, settings: dict[str, Any]) -> None:
    method = UPGNet(**{"mechanism": kind, "K": 3, "nfr": "off", "scale": "raw", **settings})
    reports, estimate = of_kind(kind)
    adjacency = np.zeros((6, 6))
    adjacency[EDGES[0], EDGES[1]] = adjacency[EDGES[1], EDGES[0]] = 1
    degrees = np.maximum(adjacency.sum(axis=1), 1)
    mean = adjacency / degrees[:, None] @ estimate
    deviation = deviation_of(reports.source("features"))
    if method.nfr == "sd":
        mu = deviation / np.sqrt(degrees)[:, None]
        mean = np.sign(mean) * np.maximum(np.abs(mean) - mu, 0)
    elif method.nfr == "1":
        mean = np.where(np.abs(mean) <= 2, 0, np.sign(mean) * (np.abs(mean) - 1))
    hop = adjacency / np.sqrt(np.outer(degrees, degrees))
    if method.hops == "as-printed":
        hop = hop / degrees[:, None]
    wanted = sum(np.linalg.matrix_power(hop, k) for k in range(1, method.K + 1)) @ mean / method.K
    if method.scale == "unit":
        wanted = wanted / deviation
    graph = method.reconstruct(reports, PUBLIC)
    np.testing.assert_allclose(np.asarray(graph.features), wanted, rtol=1e-4, atol=1e-5)
    assert graph.labels.tolist() == [1, 2, 0, -1, -1, -1] and graph.edge_index.shape == (2, 10)


def test_the_constant_of_multi_bit_is_shrunk_too() -> None:
    rows = csr_array((np.array([4.0, -4.0], np.float32), ([0, 2], [0, 1])), shape=(3, 3))
    found = np.asarray(shrunk_mean(PATH, rows, 0.5, soft_threshold, np.full(3, 0.2, np.float32)))
    # means: the ends (.5, .5, .5), the middle (2.5, -1.5, .5)
    np.testing.assert_allclose(found, [[0.3, 0.3, 0.3], [2.3, -1.3, 0.3], [0.3, 0.3, 0.3]], rtol=1e-6)


def test_m_follows_the_published_rules() -> None:
    facts = PublicFacts(6, 50, 3)
    asked = {e: UPGNet().mechanism_for(e, facts).m for e in (1.0, 2.17, 2.18, 4.35, 4.36)}  # type: ignore[attr-defined]
    assert asked == {1.0: 1, 2.17: 1, 2.18: 1, 4.35: 1, 4.36: 2}
    mpm = UPGNet(mechanism="mpm")
    assert [mpm.mechanism_for(e, facts).m for e in (2.49, 2.5, 5.0)] == [1, 1, 2]  # type: ignore[attr-defined]


@pytest.mark.parametrize(("facts", "budget", "message"), [
    (replace(FACTS, d=0), Budget(), "asks for features, and these people have none"),
    (FACTS, Budget(public_features=True), "--public-features: upgnet asks for them"),
    (FACTS, Budget(eps_adjacency=1.0), "--eps-adjacency: upgnet's graph is public"),
    (FACTS, Budget(eps_features=1e4), "--eps-features 10000: epsilon"),
])  # fmt: skip
def test_budgets_that_do_not_fit_are_refused(facts: PublicFacts, budget: Budget, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        UPGNet().questions(facts, SPLIT, budget, "c")


@pytest.mark.parametrize(("chosen_by", "by_loss"), [("loss", True), ("as-printed", False)])
def test_labels_in_clear_are_learned_by_the_chosen_rule(
    chosen_by: str, by_loss: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, Any] = {}
    monkeypatch.setattr(
        "ldpsim.curator.learning.noisy_labels.train_denoised", lambda make, graph, **more: told.update(more)
    )
    method = UPGNet(chosen_by=chosen_by)
    graph = method.reconstruct(of_kind("mbm")[0], PUBLIC)
    method.train(graph, settings=TrainingSettings(gnn="sage"), classes=3, seed=5, device="cpu")
    assert (told["noise"].told.truth, told["noise"].hops, told["noise"].by_loss) == (1.0, 0, by_loss)
