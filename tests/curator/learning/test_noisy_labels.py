"""LPGNN's labels from noisy neighbours, its networks, and RGNN's proportions of clusters."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from ldpsim.curator.learning.label_proportions import Bags, ProportionLoss, make_bags, metis_clusters
from ldpsim.curator.learning.noisy_labels import Drop, LabelNoise, denoised
from ldpsim.curator.linear.propagation import adjacency_matrix, kprop_matrix
from ldpsim.curator.methods.base import Graph
from ldpsim.curator.reports.labels import ObservedLabels
from tests.curator.reports.kinds import one_category
from tests.curator.worlds import labelled_graph

CPU = torch.device("cpu")


N, CLASSES = 40, 3


def _graph(seed: int = 0) -> Graph:
    return labelled_graph(N, CLASSES, inside=0.3, outside=0.03, seed=seed)[0]


def test_denoised_labels_by_hand() -> None:
    # a star: centre 0 reported 1, its three leaves 0, 0, 1; node 4 is alone and says 1
    star = np.zeros((5, 5), np.float32)
    star[0, 1:4] = star[1:4, 0] = 1
    matrix = kprop_matrix(csr_array(star))
    labels = np.array([1, 0, 0, 1, 1])
    assert denoised(ObservedLabels(labels, 2), matrix, 1).tolist() == [0, 1, 1, 1, -1]
    assert denoised(ObservedLabels(labels, 2), matrix, 0).tolist() == labels.tolist()
    # one without a report adds nothing
    assert denoised(ObservedLabels(np.array([1, -1, 0, 1, 1]), 2), matrix, 1).tolist() == [0, 1, 1, 1, -1]
    assert denoised(ObservedLabels(np.array([-1, 0, 0, 1, -1]), 2), matrix, 1).tolist() == [0, -1, -1, -1, -1]


@pytest.mark.parametrize("hops", [0, 1, 3])
@pytest.mark.parametrize("truth", [0.4, 1.0])
def test_the_loss_is_the_papers(hops: int, truth: float) -> None:
    graph = _graph()
    matrix = kprop_matrix(adjacency_matrix(N, graph.edge_index))
    drop = Drop(graph, LabelNoise(one_category(graph.labels, CLASSES, truth), matrix, hops), CPU)
    scores = torch.randn(N, CLASSES, generator=torch.Generator().manual_seed(1))
    transition = np.full((CLASSES, CLASSES), (1 - truth) / (CLASSES - 1))
    np.fill_diagonal(transition, truth)
    posterior = np.exp(scores.numpy().astype(float))
    posterior /= posterior.sum(axis=1, keepdims=True)
    spread = posterior @ transition
    onehot = np.zeros((N, CLASSES))
    for node in range(N):
        if graph.labels[node] >= 0:
            onehot[node, graph.labels[node]] = 1
    dense = np.zeros((N, N))
    for source, end in graph.edge_index.T:
        dense[end, source] = 1
    degree = dense.sum(axis=1)
    for i in range(N):
        for j in range(N):
            dense[i, j] = dense[i, j] / np.sqrt(degree[i] * degree[j]) if dense[i, j] else 0
    for _ in range(hops):
        spread, onehot = dense @ spread, dense @ onehot
    if hops:
        spread = np.exp(spread) / np.exp(spread).sum(axis=1, keepdims=True)
    wanted = -np.mean([np.log(spread[i, onehot[i].argmax()]) for i in graph.train])
    read = scores if hops else scores[graph.train]
    assert float(drop.loss(read)) == pytest.approx(wanted, rel=1e-4)


EPOCHS = [  # right of ten reports, certainty, share in training; whether the rule accepts it, or the loss alone
    (4, 1.0, 0.3, True, True), (5, 0.5, 0.4, True, True), (6, 1.0, 0.2, False, True),  # less in training
    (4, 2.0, 0.5, False, False), (7, 1.0, 0.4, False, True), (5, 4.0, 0.5, False, False),  # a tie in training; the loss
    (9, 1.0, 0.5, False, True), (7, 1.5, 0.85, False, False), (8, 2.0, 0.84, True, True),  # above p, above 1.05 p
]  # fmt: skip


@pytest.mark.parametrize("by_loss", [False, True])
def test_the_epoch_is_chosen_on_reported_labels_of_validation_nodes(by_loss: bool) -> None:
    graph = _graph(1)
    matrix = kprop_matrix(adjacency_matrix(N, graph.edge_index))
    drop = Drop(graph, LabelNoise(one_category(graph.labels, CLASSES, 0.8), matrix, 0, by_loss=by_loss), CPU)
    for hits, sure, in_training, by_rule, by_the_loss in EPOCHS:
        said = (graph.labels[graph.val] + (np.arange(10) >= hits)) % CLASSES
        drop.in_training = in_training
        scores = torch.from_numpy(sure * np.eye(CLASSES)[said]).float()
        assert drop.better(scores, 0.0, 0.0) == (by_the_loss if by_loss else by_rule), (hits, sure, in_training)


def test_clusters_at_the_edges_of_what_there_is() -> None:
    assert not metis_clusters(5, np.zeros((2, 0), np.int64), 1).any()
    nobody = metis_clusters(5, np.zeros((2, 0), np.int64), 3)  # only isolated nodes
    assert nobody.shape == (5,) and set(nobody) <= {0, 1, 2}
    assert set(metis_clusters(4, np.array([[0], [1]]), 4)) <= set(range(4))
    for clusters in (0, 6):
        with pytest.raises(ValueError, match=r"5 nodes can be cut into 1\.\.5 clusters"):
            metis_clusters(5, np.array([[0], [1]]), clusters)


def test_bags_worked_by_hand() -> None:
    cluster = np.array([0, 0, 0, 0, 1, 1, 2, 2])
    labels = np.array([0, 0, 1, -1, 1, 1, -1, 0])
    told = one_category(labels, 2, 3 / 4)  # q = 1/4: b~ = 2 b' - 1/2
    bags = make_bags(cluster, told, np.array([0, 1, 2, 3, 4, 5, 6]))
    # cluster 2's labelled node does not train, so that cluster has no share; node 3 said nothing
    np.testing.assert_allclose(bags.mean.toarray(), [[1 / 3] * 3 + [0] * 5, [0] * 4 + [0.5] * 2 + [0] * 2], atol=1e-7)
    np.testing.assert_allclose(bags.target, [[2 * 2 / 3 - 0.5, 2 / 3 - 0.5], [0, 1]], atol=1e-12)
    published = make_bags(cluster, told, np.arange(6), labels)
    np.testing.assert_allclose(published.target[1], np.array([1e-5, 1.5]) / 1.50001)


def test_the_loss_worked_by_hand() -> None:
    from scipy.sparse import csr_array

    bags = Bags(csr_array(np.array([[0.5, 0.5, 0], [0, 0, 1]], np.float32)), np.array([[1.0, 0], [0.5, 0.5]]))
    predicted = torch.tensor([[0.9, 0.1], [0.3, 0.7], [0.25, 0.75]], requires_grad=True)
    everybody = np.arange(3)
    loss = ProportionLoss(bags, everybody, CPU)(predicted)
    second = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    assert loss.item() == pytest.approx((math.log(1 / 0.6) + second) / 2, abs=1e-6)
    loss.backward()  # type: ignore[no-untyped-call]
    assert predicted.grad is not None and torch.isfinite(predicted.grad).all()
    perfect = torch.tensor([[1.0, 0], [1.0, 0], [0.5, 0.5]])  # a zero in b^ where b~ has one
    assert ProportionLoss(bags, everybody, CPU)(perfect).item() == pytest.approx(0, abs=1e-6)
