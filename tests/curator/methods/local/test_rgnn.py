from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import RGNN, Budget
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge
from ldpsim.devices.mechanisms import GRRFS
from ldpsim.devices.query import Ask
from tests.curator.worlds import CLASSES, SPLIT, D, N, world


def _world(silent: tuple[int, ...] = ()) -> tuple[Reports, PublicKnowledge]:
    reports, public, labels = world(public=False, public_graph=True, private_labels=True, silent=silent)
    sampling = Ask("features", (GRRFS.from_epsilon(2.0, facts=public.facts, m=4),))
    codes = np.random.default_rng(5).random((N, D)) < 0.2 + 0.2 * labels[:, None]
    asks, everybody = {"features": sampling, **reports.asks}, np.ones(N, np.bool_)
    reports = replace(reports, asks=asks, recipients={"features": everybody, **reports.recipients})
    return reports.with_arrays(features=codes.astype(np.uint8) * reports.answered[:, None]), public


@pytest.mark.parametrize("how", ["raw", "twice"])
def test_bags_hold_the_training_nodes_alone(how: str) -> None:
    reports, public = _world()
    graph = RGNN(C=4, proportions=how).reconstruct(reports, public)
    assert np.array_equal(np.flatnonzero(graph.bags.mean.toarray().any(axis=0)), SPLIT.train)
    other = reports.labels.copy()
    other[SPLIT.val] = (other[SPLIT.val] + 1) % CLASSES
    # no hop: a validation node's report reaches no training node's label either
    one, two = (
        RGNN(C=4, Ky=0, proportions=how).reconstruct(reports.with_arrays(labels=labels), public)
        for labels in (reports.labels, other)
    )
    np.testing.assert_array_equal(one.bags.target, two.bags.target)


def test_silent_people_and_nobody_at_all() -> None:
    reports, public = _world(silent=(0, 1, 80))
    noisy = RGNN(C=4, labels="noisy").reconstruct(reports, public)
    assert 0 not in noisy.train and 80 not in noisy.val
    nobody, public = _world(silent=tuple(range(N)))
    graph = RGNN(C=4).reconstruct(nobody, public)
    assert not len(graph.train) and graph.bags is None
    with pytest.raises(ValueError, match="nothing can be learned"):
        RGNN(C=4).train(graph, settings=TrainingSettings(gnn="sage", epochs=2), classes=CLASSES, seed=0, device="cpu")


def test_public_labels_are_never_looked_at() -> None:
    reports, public = _world()
    tempting = PublicKnowledge(public.facts, public.split, np.zeros(N, np.int64), edges=public.edges)
    one, other = (RGNN(C=4).reconstruct(reports, known) for known in (public, tempting))
    assert np.array_equal(one.labels, other.labels)


def test_what_does_not_fit_is_refused() -> None:
    reports, public = _world()
    with pytest.raises(ValueError, match="needs the public graph"):
        RGNN().reconstruct(reports, PublicKnowledge(public.facts, public.split, public.labels))
    facts = public.facts
    for method, budget, message in (
        (RGNN(m=61), Budget(), r"--set m=61: of 60 features"),
        (RGNN(m=16, group=4), Budget(), r"--set m=16: of 15 features"),
        (RGNN(C=151), Budget(), "150 nodes cannot be cut into more clusters"),
    ):
        with pytest.raises(ValueError, match=message):
            method.questions(facts, SPLIT, budget, "c")
    for method in (RGNN(m=60), RGNN(m=15, group=4), RGNN(C=151, alpha=0.0)):
        assert method.questions(facts, SPLIT, Budget(), "c")
    with pytest.raises(ValueError, match="at least 2 categories"):
        RGNN().questions(PublicFacts(N, D, 1), SPLIT, Budget(), "c")
    with pytest.raises(ValueError, match="binary or categorical"):
        RGNN().questions(PublicFacts(N, D, 2, feature_low=-1.0), SPLIT, Budget(), "c")
    with pytest.raises(ValueError, match="--set group=2: only binary columns"):
        RGNN(m=1, group=2).questions(PublicFacts(N, 4, 2, domains=(2, 3)), SPLIT, Budget(), "c")


@pytest.mark.parametrize("eps_x, bit, claimed", [(1.0, 0.280811614, 8.332488380), (0.1, 0.019649252, 0.280811614)])
def test_what_is_claimed_and_what_holds_on_citeseer(eps_x: float, bit: float, claimed: float) -> None:
    facts = PublicFacts(N, 3703, 6)
    method, budget = RGNN(group=70), Budget(eps_features=eps_x, eps_labels=3.0)
    guarantee = method.guarantee(facts, method.questions(facts, SPLIT, budget, "c"), budget)
    assert guarantee.claimed.value == pytest.approx(claimed + 3, abs=1e-8)
    holds = guarantee.holds
    assert holds["vector"].value == pytest.approx(10 * eps_x)
    assert holds["bit_feature"].value == pytest.approx(bit, abs=1e-8)
    assert holds["label"].value == pytest.approx(3)
    assert holds["relationship"].status == holds["bit_adjacency"].status == "unprotected"
    for level in ("user", "node"):  # the list is in clear
        assert holds[level].status == "unprotected"
        assert f"feature vector and label alone: {10 * eps_x + 3:g}" in holds[level].detail
    assert any("Theorem 1" in reason for reason in guarantee.why_they_differ)
    again = method.guarantee(facts, method.questions(facts, SPLIT, budget, "c"), budget, collections=3)
    assert again.holds["vector"].value == pytest.approx(30 * eps_x)


def test_the_claimed_sum_is_rounded_up() -> None:
    facts, budget = PublicFacts(N, 12, CLASSES), Budget(eps_features=1.0, eps_labels=0.3)
    method = RGNN(m=4)
    (features, label), _ = (question.query.asks for question in method.questions(facts, SPLIT, budget, "c"))
    exact = features.mechanisms[0].claimed_loss() + label.mechanisms[0].loss().vector  # type: ignore[attr-defined]
    claimed = method.guarantee(facts, method.questions(facts, SPLIT, budget, "c"), budget).claimed.value
    assert claimed == 3.237364012 and exact < claimed < exact + 1e-9


SETTINGS = TrainingSettings(gnn="sage", epochs=5, weight_decay=0.0, gnn_dropout=0.0)


@pytest.mark.parametrize("loss", ["softmax", "logits"])
def test_the_loss_is_lines_11_to_13_literally(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The objective that reaches the training loop, against Algorithm 1 written out."""
    reports, public = _world()
    method = RGNN(C=4, alpha=0.7, loss=loss)
    graph = method.reconstruct(reports, public)
    seen = {}
    monkeypatch.setattr("ldpsim.curator.learning.training.train", lambda graph, **given: seen.update(given))
    method.train(graph, settings=SETTINGS, classes=CLASSES, seed=0, device="cpu")
    scores = torch.randn(N, CLASSES, generator=torch.Generator().manual_seed(0))
    predicted = torch.softmax(scores, dim=1).double().numpy()
    shown = np.exp(predicted) / np.exp(predicted).sum(axis=1, keepdims=True) if loss == "softmax" else predicted
    expected = -np.mean([np.log(shown[v, graph.labels[v]]) for v in graph.train])
    means = graph.bags.mean.toarray().astype(float) @ predicted
    divergences = [
        sum(b * np.log(b / found) for b, found in zip(row, mean, strict=True) if b > 0)
        for row, mean in zip(graph.bags.target, means, strict=True)
    ]
    expected += 0.7 * np.mean(divergences)
    assert seen["loss"](scores[graph.train]).item() == pytest.approx(expected, abs=1e-5)
    assert seen["clip_norm"] == 5.0
