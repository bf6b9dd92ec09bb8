from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ldpsim.curator.reports.estimates import (
    estimate_features,
    estimate_labels,
    neighbourhood_mean,
)
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR, GRRFS

NOBODY = np.zeros((2, 0), np.int64)


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


def test_binary_estimates_are_unbiased_in_unequal_domains() -> None:
    """By enumeration of all reports; the p and q of another feature's domain would be seen."""
    mechanism, value = _grr_fs((2, 2, 3), 2), np.array([1, 0, 2])
    reports = np.array(list(product(range(2), range(2), range(3))))
    weight = np.exp([mechanism.log_probability(report, value) for report in reports])
    assert weight.sum() == pytest.approx(1)
    alone = neighbourhood_mean(len(reports), NOBODY)
    found = estimate_features(reports, np.ones(len(reports), np.bool_), mechanism, alone, 2)
    np.testing.assert_allclose(weight @ found[:, :2], value[:2], atol=1e-6)
    slope, intercept = mechanism.correction(3)
    wrong = weight @ (slope * reports[:, :2] + intercept)
    assert np.abs(wrong - value[:2]).max() > 0.1


def test_silent_people_count_as_nobody() -> None:
    mechanism, mean = _grr_fs((2, 3), 1), neighbourhood_mean(4, np.array([[0], [1]]))
    codes = np.array([[1, 2], [0, 0], [1, 1], [0, 0]])
    found = estimate_features(codes, np.array([True, False, True, False]), mechanism, mean, 1)
    own = estimate_features(codes, np.ones(4, np.bool_), mechanism, mean, 0)
    np.testing.assert_allclose(found[[0, 1]], own[[0, 0]], atol=1e-6)  # 1 is silent: both hear 0 alone
    np.testing.assert_allclose(found[2], own[2], atol=1e-6)  # isolated
    np.testing.assert_allclose(found[3], [1 / 2, 1 / 3, 1 / 3, 1 / 3])  # nobody within reach
