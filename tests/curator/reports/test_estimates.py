"""Estimates from reports are the mechanisms' own; RGNN's are Algorithms 2 and 3 literally."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.reports.estimates import estimated_strips, smoothed
from ldpsim.curator.reports.frequency_estimation import estimate_features, estimate_labels, neighbourhood_mean
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR, GRRFS, ClearFeatures, Laplace, Mechanism, MultiBit, OneBit
from tests.curator.worlds import reports_of

N, D = 5, 300


def _reports(mechanism: Mechanism, features: object, silent: tuple[int, ...] = ()) -> Reports:
    answered = np.isin(np.arange(N), silent, invert=True)
    return reports_of(PublicFacts(N, D, 2), {"features": mechanism}, answered=answered, features=features)


@pytest.mark.parametrize("kind", ["multi_bit", "one_bit", "laplace", "clear"])
def test_strips_are_the_mechanisms_own_estimates(kind: str) -> None:
    rng = np.random.default_rng(0)
    mechanism: Mechanism
    if kind == "multi_bit":
        mechanism = MultiBit.from_epsilon(1.0, d=D)
        dense = rng.choice([-1, 0, 1], (N, D)).astype(np.int8)
        given: object = csr_array(dense)
    elif kind == "one_bit":
        mechanism = OneBit.from_epsilon(1.0, d=D)
        dense = rng.integers(0, 2, (N, D)).astype(np.uint8)
        given = np.packbits(dense, axis=1)
    elif kind == "laplace":
        mechanism = Laplace.from_epsilon(1.0, d=D)
        dense = given = rng.integers(-900, 900, (N, D)).astype(np.int32)
    else:
        mechanism = ClearFeatures(D)
        dense = rng.random((N, D)).astype(np.float32)
        given = csr_array(dense)
    wanted = np.asarray(mechanism.estimate(dense.astype(np.float32)))
    wanted[2] = 0.5  # silent: the middle of the range
    got = np.concatenate([strip for _, strip in estimated_strips(_reports(mechanism, given, silent=(2,)))], axis=1)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
    matrix = csr_array(rng.random((N, N)).astype(np.float32))
    twice = smoothed(_reports(mechanism, given, silent=(2,)), matrix, 2)
    np.testing.assert_allclose(twice, matrix.toarray() @ matrix.toarray() @ wanted, rtol=1e-4, atol=1e-2)


def test_features_in_clear_stay_sparse_without_a_hop() -> None:
    given = csr_array(np.eye(N, D, dtype=np.float32))
    assert smoothed(_reports(ClearFeatures(D), given), csr_array((N, N)), 0) is given


def _grr_fs(domains: tuple[int, ...], m: int, eps: float = 1.0) -> GRRFS:
    columns = sum(1 if g == 2 else g for g in domains)
    return GRRFS.from_epsilon(eps, facts=PublicFacts(4, columns, 2, domains=domains), m=m)


def _literal_features(codes, mechanism, edges, hops):  # type: ignore[no-untyped-def]
    """Algorithm 2, a node and a category at a time; eq. 2 as printed."""
    n, d = codes.shape
    near = [{v} | {int(a) for a, b in edges.T if b == v} | {int(b) for a, b in edges.T if a == v} for v in range(n)]
    columns = []
    for i, g in enumerate(mechanism.domains):
        p, q = mechanism.truth_and_other(g)
        share = [[float(codes[v, i] == j) for j in range(g)] for v in range(n)]
        for _ in range(hops):
            share = [[sum(share[u][j] for u in near[v]) / len(near[v]) for j in range(g)] for v in range(n)]
        m = mechanism.m
        pi = [[d * x / (m * (p - q)) + (m - d - m * g * q) / (m * g * (p - q)) for x in row] for row in share]
        if g == 2:
            columns.append([[row[1]] for row in pi])
        else:
            columns.append([[float(row.index(max(row)) == j) for j in range(g)] for row in pi])
    return np.concatenate(columns, axis=1)


@pytest.mark.parametrize("hops", [0, 1, 3])
def test_features_are_algorithm_2_literally(hops: int) -> None:
    rng = np.random.default_rng(1)
    mechanism = _grr_fs((2, 2, 3, 5), 2)
    codes = np.stack([rng.integers(0, g, 12) for g in mechanism.domains], axis=1)
    edges = np.array([(i, j) for i, j in product(range(11), repeat=2) if i < j and rng.random() < 0.3]).T
    found = estimate_features(codes, np.ones(12, np.bool_), mechanism, neighbourhood_mean(12, edges), hops)
    np.testing.assert_allclose(found, _literal_features(codes, mechanism, edges, hops), atol=1e-5)


@pytest.mark.parametrize("hops", [0, 1, 3])
def test_labels_are_algorithm_3_literally(hops: int) -> None:
    rng = np.random.default_rng(2)
    n, truth = 20, GRR.from_epsilon(1.0, categories=4)
    labels = np.where(rng.random(n) < 0.6, rng.integers(0, 4, n), -1)
    edges = np.array([(i, j) for i, j in product(range(n), repeat=2) if i < j and rng.random() < 0.15]).T
    near = [{v} | {int(a) for a, b in edges.T if b == v} | {int(b) for a, b in edges.T if a == v} for v in range(n)]
    share = share_of_own = np.array([[float(label == j) for j in range(4)] for label in labels])
    for _ in range(hops):
        share = np.array([sum(share[u] for u in near[v]) / len(near[v]) for v in range(n)])
    p, q = truth.truth_probability, truth.other_probability
    transition = np.full((4, 4), q) + np.eye(4) * (p - q)
    pi = share @ np.linalg.inv(transition)
    found = estimate_labels(share_of_own, neighbourhood_mean(n, edges), hops)
    reached = share.sum(axis=1) > 0
    assert np.all(found[~reached] == -1)
    chosen = pi[reached, found[reached]]
    np.testing.assert_allclose(chosen, pi[reached].max(axis=1), atol=1e-5)


def test_silent_people_count_as_nobody() -> None:
    mechanism, mean = _grr_fs((2, 3), 1), neighbourhood_mean(4, np.array([[0], [1]]))
    codes = np.array([[1, 2], [0, 0], [1, 1], [0, 0]])
    found = estimate_features(codes, np.array([True, False, True, False]), mechanism, mean, 1)
    own = estimate_features(codes, np.ones(4, np.bool_), mechanism, mean, 0)
    np.testing.assert_allclose(found[[0, 1]], own[[0, 0]], atol=1e-6)  # 1 is silent: both hear 0 alone
    np.testing.assert_allclose(found[2], own[2], atol=1e-6)  # isolated
    np.testing.assert_allclose(found[3], [1 / 2, 1 / 3, 1 / 3, 1 / 3])  # nobody within reach
