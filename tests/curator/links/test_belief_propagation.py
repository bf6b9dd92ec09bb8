"""Beliefs on a tree are exact; counts of edges between classes are unbiased over all noise."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from ldpsim.curator.links.belief_propagation import Beliefs, Pairs, propagate_beliefs
from ldpsim.curator.links.class_affinity import believed_counts, edge_probability, labelled_counts
from ldpsim.curator.links.degree_estimates import moments
from ldpsim.curator.links.link_likelihood import LinkLikelihood

CLASSES = 3


TREE = np.array([[0, 1, 1, 3, 3], [1, 2, 3, 4, 5]])


EXACT = {"cap": 1.0, "steps": 200, "tolerance": 1e-9}


def model(seed: int, edges: np.ndarray = TREE, n: int = 6) -> tuple[Pairs, np.ndarray, np.ndarray]:
    """Return random pairs, evidence and affinity; no probability of an edge is above 1."""
    rng = np.random.default_rng(seed)
    m = edges.shape[1]
    affinity = rng.uniform(0.1, 3, (CLASSES, CLASSES))
    pairs = Pairs(n, edges[0], edges[1], rng.uniform(0.05, 0.15, m), rng.uniform(0.5, 4, m))
    return pairs, rng.normal(size=(n, CLASSES)), (affinity + affinity.T) / 2


def exact(pairs: Pairs, evidence: np.ndarray, own: np.ndarray, affinity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities over all labels and all graphs: each person's class without its own label, and the edges'
    joint classes, float64 (m, classes, classes), of pairs that are edges."""
    n, m = pairs.n, len(pairs.left)
    without = np.full((n, CLASSES), -np.inf)
    joint, everything = np.zeros((m, CLASSES, CLASSES)), 0.0
    graphs = np.array(list(product([0, 1], repeat=m)))
    for labels in product(range(CLASSES), repeat=n):
        c = np.array(labels)
        own_part = own[np.arange(n), c]
        prior = pairs.base * affinity[c[pairs.left], c[pairs.right]]
        chance = np.where(graphs, prior * np.exp(pairs.strength), 1 - prior).prod(axis=1)
        score = evidence[np.arange(n), c].sum() + np.log(chance.sum())
        for i in range(n):
            without[i, c[i]] = np.logaddexp(without[i, c[i]], score + np.delete(own_part, i).sum())
        weight = np.exp(evidence[np.arange(n), c].sum() + own_part.sum()) * chance
        everything += weight.sum()
        joint[np.arange(m), c[pairs.left], c[pairs.right]] += weight @ graphs
    return without - logsumexp(without, axis=1, keepdims=True), joint / everything


def run(pairs: Pairs, evidence: np.ndarray, own: np.ndarray, affinity: np.ndarray, **more: float) -> Beliefs:
    return propagate_beliefs(pairs, evidence, own, affinity, np.zeros(pairs.n), **(EXACT | more))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_exact_on_a_tree(seed: int) -> None:
    pairs, evidence, affinity = model(seed)
    own = np.zeros((6, CLASSES))
    own[0] = [0, -np.inf, -np.inf]  # a source
    own[4] = [-2, 0, -1]  # a noisy label
    wanted, _ = exact(pairs, evidence, own, affinity)
    found = run(pairs, evidence, own, affinity)
    np.testing.assert_allclose(log_softmax(found.total, axis=1), wanted, atol=2e-5)
    assert found.change <= 1e-9 or found.steps == 200


def test_no_own_label_comes_back_on_a_tree() -> None:
    pairs, evidence, affinity = model(2)
    totals = []
    for label in range(CLASSES):
        own = np.zeros((6, CLASSES))
        own[1] = np.where(np.arange(CLASSES) == label, 0, -np.inf)
        totals.append(run(pairs, evidence, own, affinity).total)
    for total in totals[1:]:  # up to the rounding of single precision
        np.testing.assert_allclose(total[1], totals[0][1], atol=1e-5)
        assert np.abs(total[0] - totals[0][0]).max() > 1e-2  # power: the neighbours hear it


def test_the_field_is_what_absent_pairs_say() -> None:
    """Nobody has a pair in S: the factors 1 - D_j Om / n of absent partners, up to second order in the density."""
    n, partners = 400, 2.0
    rng = np.random.default_rng(5)
    none = np.zeros(0, np.int64)
    affinity = model(6)[2]
    labels = rng.integers(0, CLASSES, n)
    own = np.where(np.arange(CLASSES) == labels[:, None], 0.0, -np.inf)
    own[0] = 0
    evidence = np.zeros((n, CLASSES))
    found = propagate_beliefs(
        Pairs(n, none, none, np.zeros(0), np.zeros(0)), evidence, own, affinity, np.full(n, partners), **EXACT
    )
    exact_field = np.log1p(-partners / n * affinity[:, labels[1:]]).sum(axis=1)
    np.testing.assert_allclose(log_softmax(found.total[0]), log_softmax(exact_field), atol=0.05 * np.ptp(exact_field))


N = 4


PAIRS = np.array(list(combinations(range(N), 2))).T


EDGES = {(0, 1), (1, 2), (1, 3)}


REPORTED = {"all": (True,) * N, "one silent": (True, True, True, False)}


def outcomes(reported: tuple[bool, ...], one_end: bool, flip: float = 0.3) -> Iterator[tuple[float, LinkLikelihood]]:
    """Yield every S that the noise can make, with its probability."""
    empty = LinkLikelihood(PAIRS[0], PAIRS[1], np.array(reported), one_end=one_end, flip=flip)
    reports = empty.count(*PAIRS)
    edge = np.array([(i, j) in EDGES for i, j in PAIRS.T])
    chance = np.where(edge, empty.hit[reports], empty.false_hit[reports])
    for inside in product([False, True], repeat=PAIRS.shape[1]):
        found = np.array(inside)
        probability = float(np.prod(np.where(found, chance, 1 - chance)))
        if probability > 0:
            yield probability, LinkLikelihood(*PAIRS[:, found], np.array(reported), one_end=one_end, flip=flip)


@pytest.mark.parametrize("one_end", [False, True])
def test_edges_and_degrees_are_unbiased_over_all_noise(one_end: bool) -> None:
    edges, degree, second = 0.0, np.zeros(N), np.zeros(N)
    for probability, evidence in outcomes(REPORTED["all"], one_end):
        found = moments(evidence)
        # the first person has no list of its own with one end, but all others report about it
        edges += probability * found.edges
        degree += probability * found.degree
        second += probability * found.degree**2
    assert edges == pytest.approx(3)
    np.testing.assert_allclose(degree, [1, 3, 1, 1])
    reports = 1 if one_end else 2
    hit, false_hit = 0.7**reports, 0.3**reports
    d = np.array([1, 3, 1, 1])
    wanted = (d * hit * (1 - hit) + (N - 1 - d) * false_hit * (1 - false_hit)) / 0.4**2
    np.testing.assert_allclose(second - degree**2, wanted)


LABELS = np.array([0, 1, 1, 0])


@pytest.mark.parametrize("one_end", [False, True])
@pytest.mark.parametrize("reported", [(True,) * N, (True, True, True, False)])
def test_labelled_counts_are_unbiased_over_all_noise(reported: tuple[bool, ...], one_end: bool) -> None:
    onehot = np.eye(2)[LABELS]
    onehot[2] = 0  # nobody knows this label
    found = sum(
        probability * labelled_counts(evidence, onehot, np.ones(N), 0.5).edges
        for probability, evidence in outcomes(reported, one_end)
    )
    wanted = np.zeros((2, 2))
    for i, j in EDGES:
        heard = reported[j] or (reported[i] and not one_end)
        if heard and 2 not in (i, j):
            wanted[LABELS[i], LABELS[j]] += 1
            wanted[LABELS[j], LABELS[i]] += 1
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_believed_counts_and_edges_are_those_of_the_exact_posterior() -> None:
    pairs, people, affinity = model(11)
    own = np.zeros((6, CLASSES))
    own[2] = [-np.inf, 0, -np.inf]
    own[5] = [0, -1, -2]
    _, joint = exact(pairs, people, own, affinity)
    beliefs = run(pairs, people, own, affinity)
    evidence = LinkLikelihood(*TREE, np.ones(6, np.bool_), one_end=False, flip=0.1)
    found = believed_counts(evidence, pairs, beliefs, own, affinity, np.ones(6), 0.1)
    total = joint.sum(axis=0) / 0.9**2
    np.testing.assert_allclose(found.edges, total + total.T, rtol=1e-4)
    np.testing.assert_allclose(edge_probability(pairs, beliefs, own, affinity), joint.sum(axis=(1, 2)), rtol=1e-4)


def test_an_edge_s_probability_does_not_hear_the_own_labels_of_its_ends() -> None:
    pairs, people, affinity = model(12, np.array([[0], [1]]), n=2)
    found = []
    for label in range(CLASSES):
        own = np.zeros((2, CLASSES))
        own[0] = np.where(np.arange(CLASSES) == label, 0, -np.inf)
        beliefs = run(pairs, people, own, affinity)
        found.append(edge_probability(pairs, beliefs, None, affinity)[0])
    np.testing.assert_allclose(found, found[0], rtol=1e-5)
