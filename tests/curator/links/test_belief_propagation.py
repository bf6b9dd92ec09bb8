from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import log_softmax, logsumexp

from ldpsim.curator.links.belief_propagation import Beliefs, Pairs, propagate_beliefs

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


def test_loops_settle_and_the_same_input_gives_the_same_bytes() -> None:
    edges = np.array([[0, 0, 1, 2, 3], [1, 2, 2, 3, 4]])
    pairs, evidence, affinity = model(7, edges, n=5)
    one, other = (run(pairs, evidence, np.zeros((5, CLASSES)), affinity, tolerance=1e-6) for _ in range(2))
    assert one.steps < 200 and one.change <= 1e-6
    assert one.total.tobytes() == other.total.tobytes()
