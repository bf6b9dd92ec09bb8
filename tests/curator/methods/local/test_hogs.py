"""HoGS and Blink, their features under noise and the topologies of the ablation, beside the dense textbook versions."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from ldpsim.curator.device_model import DeviceModelInputs, device_model_inputs
from ldpsim.curator.friend_affinity import FriendAffinity
from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.linear.factored import Factored
from ldpsim.curator.methods import Blink, Budget, FPBlink, Graph, HoGS
from ldpsim.curator.methods.local import hogs
from ldpsim.curator.methods.local.blink import usable_degrees
from ldpsim.curator.methods.local.feature_questions import split_budget
from ldpsim.curator.nulls import inputs as null_inputs
from ldpsim.curator.nulls.inputs import known_from_reports
from ldpsim.curator.reports import estimates
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge
from tests.curator import dense_hogs
from tests.curator.worlds import CLASSES, SPLIT, D, N, world

BITS: dict[str, Any] = {"public": False, "bits": True, "epsilon": 2.5}


def dense_of(graph: Graph) -> np.ndarray:
    dense = np.zeros((N, N))
    dense[graph.edge_index[1], graph.edge_index[0]] = 1 if graph.edge_weight is None else graph.edge_weight
    return dense


def features_of(reports: Reports, public: PublicKnowledge) -> np.ndarray:
    if public.features is not None:
        return public.features.toarray()
    return np.unpackbits(reports.features, axis=1, count=D).astype(float)


@pytest.mark.parametrize("tau", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("times", [0, 1, 2])
@pytest.mark.parametrize("given", [
    BITS, {**BITS, "silent": (3, 17)}, {**BITS, "reporting": "one-end"}, {"epsilon": 2.5},
    {"epsilon": 2.5, "real": True, "silent": (5,)},
], ids=str)  # fmt: skip
def test_it_is_the_textbook_algorithm(tau: float, times: int, given: dict[str, Any]) -> None:
    reports, public, _ = world(**{name: value for name, value in given.items() if name != "real"})
    if given.get("real"):
        values = public.features.toarray() * np.random.default_rng(1).random((N, D))
        public = dataclasses.replace(public, features=csr_array(values.astype(np.float32)))
    noisy, features, flip = reports.adjacency.toarray(), features_of(reports, public), reports.source("adjacency")
    graph = HoGS(tau=tau, l=times, scaling="literal").reconstruct(reports, public)
    probability = dense_hogs.link_probability(
        noisy, reports.answered, features, flip.flip_odds, flip.reporting == "one-end"
    )
    wanted = dense_hogs.edges(probability, tau)
    assert np.array_equal(dense_of(graph), wanted)
    assert graph.edge_index.shape[1] == wanted.sum() and wanted.any()
    potential = np.triu(probability >= 0.5, 1).sum()
    assert graph.notes.get("potential_links") == (potential if times else None)
    got = graph.features.toarray() if issparse(graph.features) else graph.features
    np.testing.assert_allclose(got, dense_hogs.reconstruct(probability, features, times), atol=1e-5)
    assert got.dtype == np.float32


def test_scalings_of_private_features() -> None:
    reports, public, _ = world(**BITS, silent=(4,))
    literal, debiased, standard = (
        HoGS(scaling=name).reconstruct(reports, public).features for name in ("literal", "debiased", "standardised")
    )
    heard = reports.answered
    q = reports.source("features").flip_probability
    np.testing.assert_allclose(debiased[heard], (literal[heard] - q) / (1 - 2 * q), atol=1e-4)
    expected = (literal[heard] - literal[heard].mean(axis=0)) / literal[heard].std(axis=0)
    np.testing.assert_allclose(standard[heard], expected, atol=1e-3)
    for features in (literal, debiased, standard):
        assert not features[4].any()  # a silent device has no vector and no neighbours


def test_topologies_of_the_ablation() -> None:
    reports, public, _ = world(**BITS)
    noisy = reports.adjacency.toarray()
    for name, wanted in {"and": noisy & noisy.T, "or": noisy | noisy.T, "noisy": noisy}.items():
        graph = HoGS(topology=name).reconstruct(reports, public)
        assert np.array_equal(dense_of(graph), wanted), name
        assert graph.notes["edges"] == np.triu(wanted | wanted.T).sum()
        literal = HoGS(topology=name, scaling="literal").reconstruct(reports, public).features
        own_units = graph.features * graph.notes["feature_scale"] + graph.notes["feature_centre"]
        np.testing.assert_allclose(own_units, literal, atol=1e-5)


def test_budgets() -> None:
    assert split_budget(Budget(epsilon=8, feature_share=0.25)) == (6, 2)
    assert split_budget(Budget(epsilon=8, eps_adjacency=3)) == (3, pytest.approx(0.8))
    assert split_budget(Budget(epsilon=8, eps_features=3)) == (pytest.approx(7.2), 3)
    assert split_budget(Budget(epsilon=8, public_features=True)) == (8, None)
    assert split_budget(Budget(epsilon=8, feature_share=0.0)) == (8, None)
    assert split_budget(Budget(epsilon=8, feature_share=0.0, eps_features=3)) == (8, 3)


@pytest.mark.parametrize("silent", [(), (2, 7)])
def test_packed_estimates_say_the_same_to_null_models_and_to_the_device_model(
    silent: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ldpsim.curator.features.features_alone import fit_perceptron

    reports, public, _ = world(**BITS, silent=silent)
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
    shares = np.ones(public.facts.classes)
    friends = FriendAffinity.of_homophily(0.8, shares, "assumed")
    models = [DeviceModelInputs(known, public.facts, shares, friends, friends).features for known in (dense, packed)]
    weights = [model.model.weights.ravel() for model in models if model is not None]
    assert np.corrcoef(*weights)[0, 1] > 0.9  # columns are scaled by everybody, or by labelled people


@pytest.mark.parametrize("packed", [False, True])
def test_a_sample_of_very_many_people_teaches_the_device_model_with_null_models_and_without(
    packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimates, "LARGE", 0 if packed else 1 << 25)
    reports, public, _ = world(**BITS, silent=(2,))
    monkeypatch.setattr(null_inputs, "LARGEST_SAMPLE", 4)
    dense, few = (known_from_reports(reports, public, nulls=nulls) for nulls in (True, False))
    parts = [device_model_inputs(reports, public, known) for known in (dense, few)]
    assert few.features is None and parts[1].features is not None
    people = null_inputs.sampled_people(dense)
    assert 2 <= len(people) <= 4
    for part in parts:
        np.testing.assert_array_equal(part.sample.features, np.asarray(dense.features)[people])
        assert part.sample.labels.labels.tolist() == public.labels[people].tolist()


@pytest.mark.parametrize("silent", [(), (2, 7)])
def test_packed_features_are_the_dense_ones_and_train_the_same_network(
    silent: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    reports, public, _ = world(**BITS, silent=silent)
    dense = HoGS().reconstruct(reports, public)
    monkeypatch.setattr(hogs, "LARGE", N * D - 1)
    packed = HoGS().reconstruct(reports, public)
    assert isinstance(dense.features, np.ndarray) and isinstance(packed.features, Factored)
    np.testing.assert_allclose(np.asarray(packed.features), dense.features, atol=2e-4)
    for name in ("feature_centre", "feature_scale"):
        np.testing.assert_allclose(packed.notes[name], dense.notes[name], atol=1e-5)
    settings = TrainingSettings(epochs=20, gnn_dropout=0.0)
    first, second = (
        HoGS().train(graph, settings=settings, classes=CLASSES, seed=0, device="cpu") for graph in (dense, packed)
    )
    assert np.array_equal(first.predictions, second.predictions)


def blink_of(reports: Reports) -> np.ndarray:
    """Blink on n x n arrays: clip, 200 steps of the beta-model, Bayes with both bits."""
    degrees = usable_degrees(reports.arrays["degrees"], reports.answered).astype(float)
    beta, noisy, heard = np.zeros(N), reports.adjacency.toarray(), reports.answered
    for _ in range(200):
        terms = 1 / (np.exp(-beta)[None, :] + np.exp(beta)[:, None])
        np.fill_diagonal(terms, 0)
        beta = np.log(degrees) - np.log(terms.sum(axis=1))
    prior = 1 / (1 + np.exp(-(beta[:, None] + beta[None, :])))
    p = reports.source("adjacency").flip_probability
    if_edge, if_none = np.ones((N, N)), np.ones((N, N))
    for said, who in ((noisy, heard[:, None]), (noisy.T, heard[None, :])):
        if_edge *= np.where(who, np.where(said, 1 - p, p), 1)
        if_none *= np.where(who, np.where(said, p, 1 - p), 1)
    dense = if_edge * prior / (if_edge * prior + if_none * (1 - prior))
    np.fill_diagonal(dense, 0)
    dense[~heard[:, None] & ~heard[None, :]] = 0
    return dense


@pytest.mark.parametrize("silent", [(), (3, 17, 50)])
@pytest.mark.parametrize("epsilon", [0.5, 2.5, 5.0])
def test_blink_is_the_papers_formula(silent: tuple[int, ...], epsilon: float) -> None:
    reports, public, _ = world(silent=silent, epsilon=epsilon, degrees=0.5)
    literal = blink_of(reports)
    hard = Blink().reconstruct(reports, public)
    assert hard.edge_weight is None
    assert np.array_equal(dense_of(hard) > 0, literal > 0.5)
    soft = Blink(variant="soft").reconstruct(reports, public)
    np.testing.assert_allclose(dense_of(soft), np.where(literal >= 0.02, literal, 0), rtol=1e-5)
    full = Blink(variant="soft", floor=0.0).reconstruct(reports, public)
    np.testing.assert_allclose(dense_of(full), literal, rtol=1e-5)
    assert full.notes["kept_share"] == pytest.approx(1)
    hybrid = Blink(variant="hybrid").reconstruct(reports, public)
    wanted = math.floor(literal.sum() / 2)
    assert hybrid.notes["edges"] == wanted > 0 and hybrid.edge_index.shape[1] == 2 * wanted
    kept = np.sort(literal[np.triu_indices(N, 1)])[::-1][:wanted]
    np.testing.assert_allclose(np.sort(hybrid.edge_weight)[::-2], kept, rtol=1e-5)
    assert soft.notes["expected_edges"] == pytest.approx(literal.sum() / 2)
    assert soft.notes["kept_share"] == pytest.approx(literal[literal >= 0.02].sum() / literal.sum())


def test_degrees_are_clipped_and_a_silent_device_has_the_mean() -> None:
    degrees, heard = np.array([-3, 0, 2, 9, 4, 0]), np.array([1, 1, 1, 1, 1, 0], bool)
    assert usable_degrees(degrees, heard).tolist() == [1, 1, 2, 4, 4, 2]
    assert usable_degrees(degrees, np.zeros(6, bool)).tolist() == [1] * 6


@pytest.mark.parametrize("times", [0, 1, 2])
def test_blinks_posterior_weighs_the_features_of_fp_blink_and_of_the_ablation(times: int) -> None:
    """The same reports as Blink gets, Blink's hard edges, and Algorithm 3 with Blink's P."""
    reports, public, _ = world(**BITS, silent=(3, 17), degrees=0.5)
    literal = blink_of(reports)
    weights = np.where(literal >= 0.5, literal, 0) + np.eye(N)
    expected = features_of(reports, public)
    for _ in range(times):
        expected = weights @ expected / weights.sum(axis=1, keepdims=True)
    for method in (FPBlink(l=times, scaling="literal"), HoGS(topology="blink", scaling="literal", l=times)):
        graph = method.reconstruct(reports, public)
        assert np.array_equal(dense_of(graph) > 0, literal > 0.5)
        np.testing.assert_allclose(graph.features, expected, atol=1e-5)
        assert isinstance(method, HoGS) or graph.notes["potential_links"] == np.count_nonzero(literal >= 0.5) / 2


def test_the_questions_of_blinks_topology() -> None:
    facts, method = PublicFacts(N, D, CLASSES), HoGS(topology="blink", degree_share=0.2)
    (question,) = method.questions(facts, SPLIT, Budget(epsilon=10, feature_share=0.2), "c")
    row, degree = question.query.asks[0].mechanisms
    assert row.loss().bit == pytest.approx(6.4) and degree.loss().bit == pytest.approx(1.6)
    with pytest.raises(ValueError, match="topology=blink fits whole degrees"):
        method.questions(facts, SPLIT, Budget(reporting="one-end"), "c")
