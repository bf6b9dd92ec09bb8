"""Blink and FP-Blink."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.methods import Blink, FPBlink, Graph
from ldpsim.curator.methods.local.blink import usable_degrees
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import Degree, OneBit, RandomizedResponse
from ldpsim.devices.query import Ask

N, D, CLASSES = 60, 30, 3
FACTS = PublicFacts(N, D, CLASSES)
SPLIT = Split(np.arange(30), np.arange(30, 45), np.arange(45, N))


def _world(
    seed: int = 0, *, silent: tuple[int, ...] = (), eps_a: float = 2.5, eps_d: float = 0.5
) -> tuple[Reports, PublicKnowledge, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = np.triu(rng.random((N, N)) < 0.08, 1)
    truth |= truth.T
    response, degree = RandomizedResponse.from_epsilon(eps_a, n=N), Degree.from_epsilon(eps_d, n=N)
    noisy = truth ^ (rng.random((N, N)) < response.flip_probability)
    np.fill_diagonal(noisy, False)
    degrees = truth.sum(axis=1) + np.rint(rng.laplace(0, 1 / eps_d, N)).astype(np.int64)
    features = rng.random((N, D)) < 0.3
    answered = np.ones(N, np.bool_)
    answered[list(silent)] = False
    noisy[~answered] = False
    degrees[~answered] = 0
    bits = features & answered[:, None]
    asks = {
        "adjacency": Ask("adjacency", (response, degree)),
        "features": Ask("features", (OneBit.from_epsilon(3.0, d=D),)),
    }
    reports = Reports(
        FACTS, asks, dict.fromkeys(asks, np.ones(N, np.bool_)), answered,
        {"adjacency": csr_array(noisy), "features": np.packbits(bits, axis=1), "degrees": degrees},
    )  # fmt: skip
    labels = np.where(np.arange(N) < 45, rng.integers(0, CLASSES, N), -1)
    public = PublicKnowledge(FACTS, SPLIT, labels, csr_array(features.astype(np.float32)))
    return reports, public, noisy


def _literal(reports: Reports, noisy: np.ndarray) -> np.ndarray:
    """Blink on n x n arrays: clip, 200 steps of the beta-model, Bayes with both bits."""
    degrees = usable_degrees(reports.arrays["degrees"], reports.answered).astype(float)  # type: ignore[arg-type]
    beta = np.zeros(N)
    for _ in range(200):
        terms = 1 / (np.exp(-beta)[None, :] + np.exp(beta)[:, None])
        np.fill_diagonal(terms, 0)
        beta = np.log(degrees) - np.log(terms.sum(axis=1))
    prior = 1 / (1 + np.exp(-(beta[:, None] + beta[None, :])))
    p = reports.source("adjacency").flip_probability
    heard = reports.answered
    if_edge, if_none = np.ones((N, N)), np.ones((N, N))
    for said, who in ((noisy, heard[:, None]), (noisy.T, heard[None, :])):
        if_edge *= np.where(who, np.where(said, 1 - p, p), 1)
        if_none *= np.where(who, np.where(said, p, 1 - p), 1)
    dense = if_edge * prior / (if_edge * prior + if_none * (1 - prior))
    np.fill_diagonal(dense, 0)
    dense[~heard[:, None] & ~heard[None, :]] = 0
    return dense


def _matrix(graph: Graph) -> np.ndarray:
    dense = np.zeros((N, N))
    dense[graph.edge_index[1], graph.edge_index[0]] = 1 if graph.edge_weight is None else graph.edge_weight
    return dense


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("silent", [(), (3, 17, 50)])
@pytest.mark.parametrize("eps_a", [0.5, 2.5, 5.0])
def test_it_is_the_papers_formula(seed: int, silent: tuple[int, ...], eps_a: float) -> None:
    reports, public, noisy = _world(seed, silent=silent, eps_a=eps_a)
    literal = _literal(reports, noisy)
    hard = Blink().reconstruct(reports, public)
    assert hard.edge_weight is None
    assert np.array_equal(_matrix(hard) > 0, literal > 0.5)
    soft = Blink(variant="soft").reconstruct(reports, public)
    np.testing.assert_allclose(_matrix(soft), np.where(literal >= 0.02, literal, 0), rtol=1e-5)
    full = Blink(variant="soft", floor=0.0).reconstruct(reports, public)
    np.testing.assert_allclose(_matrix(full), literal, rtol=1e-5)
    assert full.notes["kept_share"] == pytest.approx(1)
    hybrid = Blink(variant="hybrid").reconstruct(reports, public)
    wanted = math.floor(literal.sum() / 2)
    assert hybrid.notes["edges"] == wanted and hybrid.edge_index.shape[1] == 2 * wanted
    if wanted:
        kept = np.sort(literal[np.triu_indices(N, 1)])[::-1][:wanted]
        np.testing.assert_allclose(np.sort(hybrid.edge_weight)[::-2], kept, rtol=1e-5)
    assert soft.notes["expected_edges"] == pytest.approx(literal.sum() / 2)
    assert soft.notes["kept_share"] == pytest.approx(literal[literal >= 0.02].sum() / literal.sum())


def test_degrees_are_clipped_and_a_silent_device_has_the_mean() -> None:
    degrees, heard = np.array([-3, 0, 2, 9, 4, 0]), np.array([1, 1, 1, 1, 1, 0], bool)
    assert usable_degrees(degrees, heard).tolist() == [1, 1, 2, 4, 4, 2]
    assert usable_degrees(degrees, np.zeros(6, bool)).tolist() == [1] * 6


@pytest.mark.parametrize("times", [0, 1, 2])
def test_fp_blink_averages_features_by_blinks_posterior(times: int) -> None:
    reports, public, noisy = _world(silent=(3, 17))
    literal = _literal(reports, noisy)
    graph = FPBlink(l=times, scaling="literal").reconstruct(reports, public)
    assert np.array_equal(_matrix(graph) > 0, literal > 0.5)
    assert graph.notes["potential_links"] == np.count_nonzero(literal >= 0.5) / 2
    weights = np.where(literal >= 0.5, literal, 0) + np.eye(N)
    expected = np.unpackbits(reports.features, axis=1, count=D).astype(float)
    for _ in range(times):
        expected = weights @ expected / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(graph.features, expected, atol=1e-5)
