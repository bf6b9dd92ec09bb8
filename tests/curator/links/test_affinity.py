from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.links.belief_propagation import (
    ClassCounts,
    believed_counts,
    edge_probability,
    labelled_counts,
    normalised,
    shrunk,
)
from ldpsim.curator.links.edge_prior import LinkEvidence
from tests.curator.links.test_belief_propagation import CLASSES, TREE, exact, model, run
from tests.curator.links.test_moments import EDGES, N, outcomes

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


def test_exposure_is_the_expected_number_without_classes() -> None:
    _, evidence = next(outcomes((True,) * N, False))
    activity = np.array([1.0, 2.0, 0.5, 1.0])
    counts = labelled_counts(evidence, np.eye(2)[LABELS], activity, 0.25)
    np.testing.assert_allclose(counts.expected, 0.25 * np.array([[2.0, 5.0], [5.0, 2.0]]))


def test_believed_counts_and_edges_are_those_of_the_exact_posterior() -> None:
    pairs, people, affinity = model(11)
    own = np.zeros((6, CLASSES))
    own[2] = [-np.inf, 0, -np.inf]
    own[5] = [0, -1, -2]
    _, joint = exact(pairs, people, own, affinity)
    beliefs = run(pairs, people, own, affinity)
    evidence = LinkEvidence(*TREE, np.ones(6, np.bool_), one_end=False, flip=0.1)
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


def test_exact_rates_stay_and_noise_goes_to_the_mean() -> None:
    edges = np.array([[900.0, 10, 10], [10, 400, 10], [10, 10, 100]])
    expected = np.full((3, 3), 100.0)
    sure = shrunk(ClassCounts(edges, np.zeros((3, 3)), expected))
    np.testing.assert_allclose(sure, edges / 100, rtol=0.05)
    unsure = shrunk(ClassCounts(edges, np.full((3, 3), 1e8), expected))
    np.testing.assert_allclose(np.diag(unsure), 1400 / 300, rtol=0.05)
    assert shrunk(ClassCounts(-edges, edges, expected)).min() > 0


def test_a_random_pair_has_the_affinity_one() -> None:
    share = np.array([0.2, 0.3, 0.5])
    om = normalised(np.diag([5.0, 3, 2]) + 0.1, share)
    assert share @ om @ share == pytest.approx(1)
