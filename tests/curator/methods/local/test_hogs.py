"""HoGS and its ablation."""

from __future__ import annotations

import dataclasses
from types import ModuleType

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from ldpsim.curator.device_bundle import BundleParts
from ldpsim.curator.linear.factored import Factored
from ldpsim.curator.methods import Blink, Budget, Graph, HoGS
from ldpsim.curator.methods.local import hogs
from ldpsim.curator.methods.local.blink import link_posterior
from ldpsim.curator.methods.local.hogs import split_budget
from ldpsim.curator.nulls.models import known_from_reports
from ldpsim.curator.reports import estimates
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import OneBit, RandomizedResponse
from ldpsim.devices.query import Ask

N, D, CLASSES = 60, 90, 3


def _world(
    seed: int = 0, *, silent: tuple[int, ...] = (), reporting: str = "both", public: bool = False, real: bool = False
) -> tuple[Reports, PublicKnowledge, dict[str, np.ndarray]]:
    """Return reports of a small population with groups of near-identical people, and their dense form."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, N)
    groups = rng.random((CLASSES, D)) < 0.4
    features = (groups[labels] ^ (rng.random((N, D)) < 0.05)).astype(float)
    if real:
        features *= rng.random((N, D))
    same = labels[:, None] == labels[None, :]
    truth = np.triu(rng.random((N, N)) < np.where(same, 0.2, 0.01), 1)
    response = RandomizedResponse.from_epsilon(2.5, n=N, reporting=reporting)  # type: ignore[arg-type]
    one_bit = OneBit.from_epsilon(2.0, d=D)
    noisy = (truth | truth.T) ^ (rng.random((N, N)) < response.flip_probability)
    np.fill_diagonal(noisy, False)
    if reporting == "one-end":
        noisy = np.tril(noisy)
    bits = (features > 0) ^ (rng.random((N, D)) < one_bit.flip_probability)
    answered = np.ones(N, np.bool_)
    answered[list(silent)] = False
    noisy[~answered] = False
    bits[~answered] = False
    facts = PublicFacts(N, D, CLASSES)
    split = Split(np.arange(30), np.arange(30, 45), np.arange(45, N))
    known = np.where(np.arange(N) < 45, labels, -1)
    asks = {"adjacency": Ask("adjacency", (response,))}
    if not public:
        asks["features"] = Ask("features", (one_bit,))
    everybody = np.ones(N, np.bool_)
    arrays = {"adjacency": csr_array(noisy)} | ({} if public else {"features": np.packbits(bits, axis=1)})
    reports = Reports(facts, asks, dict.fromkeys(asks, everybody), answered, arrays)
    knowledge = PublicKnowledge(facts, split, known, csr_array(features.astype(np.float32)) if public else None)
    return (
        reports,
        knowledge,
        {"noisy": noisy, "features": features.astype(np.float32) if public else bits.astype(float)},
    )


def _edges(graph: Graph) -> np.ndarray:
    dense = np.zeros((N, N), np.bool_)
    dense[graph.edge_index[1], graph.edge_index[0]] = True
    return dense


@pytest.mark.parametrize("tau", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("times", [0, 1, 2])
@pytest.mark.parametrize(
    "world",
    [
        {},
        {"silent": (3, 17)},
        {"reporting": "one-end"},
        {"public": True},
        {"public": True, "real": True, "silent": (5,)},
    ],
    ids=str,
)
def test_it_is_the_textbook_algorithm(tau: float, times: int, world: dict, dense_hogs: ModuleType) -> None:
    reports, public, dense = _world(**world)
    graph = HoGS(tau=tau, l=times, scaling="literal").reconstruct(reports, public)
    flip = reports.source("adjacency")
    probability = dense_hogs.link_probability(
        dense["noisy"], reports.answered, dense["features"], flip.flip_odds, flip.reporting == "one-end"
    )
    wanted = dense_hogs.edges(probability, tau)
    assert np.array_equal(_edges(graph), wanted)
    assert graph.edge_index.shape[1] == wanted.sum() and wanted.any()
    got = graph.features.toarray() if issparse(graph.features) else graph.features
    np.testing.assert_allclose(got, dense_hogs.reconstruct(probability, dense["features"], times), atol=1e-5)
    assert got.dtype == np.float32


def test_scalings_of_private_features() -> None:
    reports, public, _ = _world(silent=(4,))
    literal, debiased, standard = (
        HoGS(scaling=name).reconstruct(reports, public).features for name in ("literal", "debiased", "standardised")
    )
    heard = reports.answered
    q = reports.source("features").flip_probability
    np.testing.assert_allclose(debiased[heard], (literal[heard] - q) / (1 - 2 * q), atol=1e-5)
    expected = (literal[heard] - literal[heard].mean(axis=0)) / literal[heard].std(axis=0)
    np.testing.assert_allclose(standard[heard], expected, atol=2e-4)
    for features in (literal, debiased, standard):
        assert not features[4].any()  # a silent device has no vector and no neighbours


def test_topologies_of_the_ablation() -> None:
    reports, public, dense = _world()
    noisy = dense["noisy"]
    expected = {"and": noisy & noisy.T, "or": noisy | noisy.T, "noisy": noisy}
    for name, wanted in expected.items():
        graph = HoGS(topology=name).reconstruct(reports, public)
        assert np.array_equal(_edges(graph), wanted), name
        assert graph.notes["edges"] == np.triu(wanted | wanted.T).sum()
        literal = HoGS(topology=name, scaling="literal").reconstruct(reports, public).features
        own_units = graph.features * graph.notes["feature_scale"] + graph.notes["feature_centre"]
        np.testing.assert_allclose(own_units, literal, atol=1e-5)
        assert graph.features.shape == (N, D)


def test_budgets() -> None:
    assert split_budget(Budget(epsilon=8, feature_share=0.25)) == (6, 2)
    assert split_budget(Budget(epsilon=8, eps_adjacency=3)) == (3, pytest.approx(0.8))
    assert split_budget(Budget(epsilon=8, eps_features=3)) == (pytest.approx(7.2), 3)
    assert split_budget(Budget(epsilon=8, public_features=True)) == (8, None)
    assert split_budget(Budget(epsilon=8, feature_share=0.0)) == (8, None)
    assert split_budget(Budget(epsilon=8, feature_share=0.0, eps_features=3)) == (8, 3)


def test_blinks_topology_of_the_ablation() -> None:
    """The same reports as Blink gets, Blink's hard edges, and Algorithm 3 with Blink's P."""
    facts, split = PublicFacts(N, D, CLASSES), Split(np.arange(30), np.arange(30, 45), np.arange(45, N))
    method = HoGS(topology="blink", degree_share=0.2, scaling="literal", l=1)
    (question,) = method.questions(facts, split, Budget(epsilon=10, feature_share=0.2), "c")
    row, degree = question.query.asks[0].mechanisms
    assert row.loss().bit == pytest.approx(6.4) and degree.loss().bit == pytest.approx(1.6)
    reports, public, dense = _world()
    asks = {**reports.asks, "adjacency": Ask("adjacency", (reports.asks["adjacency"].mechanisms[0], degree))}
    degrees = np.asarray(dense["noisy"].sum(axis=1), np.int64)
    reports = dataclasses.replace(reports, asks=asks).with_arrays(degrees=degrees)
    graph, blink = method.reconstruct(reports, public), Blink(public_scaling="literal")
    assert np.array_equal(graph.edge_index, blink.links(reports)[0])
    posterior, _ = link_posterior(reports)
    pairs = posterior.above(1.0)
    weights = np.eye(N)
    weights[pairs.left, pairs.right] = weights[pairs.right, pairs.left] = pairs.probability
    expected = weights @ dense["features"] / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(graph.features, expected, atol=1e-5)
    with pytest.raises(ValueError, match="topology=blink fits whole degrees"):
        method.questions(facts, split, Budget(reporting="one-end"), "c")


@pytest.mark.parametrize("silent", [(), (2, 7)])
def test_packed_estimates_say_the_same_to_null_models_and_to_the_bundle(
    silent: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ldpsim.curator.learning.node_evidence import fit_perceptron

    reports, public, _ = _world(silent=silent)
    dense = known_from_reports(reports, public)
    monkeypatch.setattr(estimates, "LARGE", N * D - 1)
    packed = known_from_reports(reports, public)
    assert isinstance(packed.features, Factored)
    np.testing.assert_allclose(np.asarray(packed.features), dense.features, atol=1e-5)
    np.testing.assert_allclose(packed.features.rows(np.array([2, 5])), dense.features[[2, 5]], atol=1e-5)
    train, val = public.split.train, public.split.val
    said = [fit_perceptron(known.features, known.labels, train, val, seed=0) for known in (dense, packed)]
    np.testing.assert_allclose(*said, atol=0.05)
    np.testing.assert_allclose(packed.ridge.scores, dense.ridge.scores, atol=1e-5)
    models = [BundleParts(known, public.facts, 0.8, 0.8).features for known in (dense, packed)]
    weights = [model.model.weights.ravel() for model in models if model is not None]
    assert np.corrcoef(*weights)[0, 1] > 0.9  # columns are scaled by everybody, or by labelled people


@pytest.mark.parametrize("silent", [(), (2, 7)])
def test_packed_features_are_the_dense_ones_and_train_the_same_network(
    silent: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ldpsim.curator.learning.training import TrainingSettings

    reports, public, _ = _world(silent=silent)
    dense = HoGS().reconstruct(reports, public)
    monkeypatch.setattr(hogs, "LARGE", N * D - 1)
    packed = HoGS().reconstruct(reports, public)
    assert isinstance(dense.features, np.ndarray) and isinstance(packed.features, Factored)
    np.testing.assert_allclose(np.asarray(packed.features), dense.features, atol=1e-4)
    for name in ("feature_centre", "feature_scale"):
        np.testing.assert_allclose(packed.notes[name], dense.notes[name], atol=1e-5)
    settings = TrainingSettings(epochs=20, gnn_dropout=0.0)
    first, second = (
        HoGS().train(graph, settings=settings, classes=CLASSES, seed=0, device="cpu") for graph in (dense, packed)
    )
    assert np.array_equal(first.predictions, second.predictions)
