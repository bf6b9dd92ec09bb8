from __future__ import annotations

import math

import numpy as np
import pymetis
import pytest
import torch

from ldpsim.curator.learning.noisy_labels import Bags, ProportionLoss, make_bags, metis_clusters, project_to_simplex
from tests.curator.reports.kinds import one_category

CPU = torch.device("cpu")


def _cliques(size: int, count: int) -> np.ndarray:
    """Complete graphs, neighbouring ones joined by one edge."""
    pairs = [(c * size + i, c * size + j) for c in range(count) for i in range(size) for j in range(i + 1, size)]
    pairs += [(c * size - 1, c * size) for c in range(1, count)]
    return np.array(pairs).T


def test_metis_finds_cliques_and_is_a_function_of_the_graph() -> None:
    edges = _cliques(8, 3)
    found = metis_clusters(24, edges, 3)
    assert [len(set(found[start : start + 8])) for start in (0, 8, 16)] == [1, 1, 1]
    assert len(set(found)) == 3
    assert np.array_equal(found, metis_clusters(24, edges, 3))


def test_the_partition_is_that_of_seed_0() -> None:
    """A graph without clusters, which METIS cuts differently for each seed: stored results rest on this one."""
    n = 200
    left, right = np.nonzero(np.triu(np.random.default_rng(0).random((n, n)) < 0.05, 1))
    near = [sorted(np.r_[left[right == node], right[left == node]].tolist()) for node in range(n)]

    def cut(seed: int) -> list[int]:
        return list(pymetis.part_graph(4, near, recursive=False, options=pymetis.Options(seed=seed)).vertex_part)

    found = metis_clusters(n, np.stack([left, right]), 4).tolist()
    assert found == cut(0) and found not in [cut(seed) for seed in (2, 3)]


def test_clusters_at_the_edges_of_what_there_is() -> None:
    assert not metis_clusters(5, np.zeros((2, 0), np.int64), 1).any()
    nobody = metis_clusters(5, np.zeros((2, 0), np.int64), 3)  # only isolated nodes
    assert nobody.shape == (5,) and set(nobody) <= {0, 1, 2}
    assert set(metis_clusters(4, np.array([[0], [1]]), 4)) <= set(range(4))
    for clusters in (0, 6):
        with pytest.raises(ValueError, match=r"5 nodes can be cut into 1\.\.5 clusters"):
            metis_clusters(5, np.array([[0], [1]]), clusters)


def test_projection_is_the_nearest_distribution() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(0.2, 0.5, (40, 7))
    found = project_to_simplex(rows)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    assert (found >= 0).all()
    for row, nearest in zip(rows, found, strict=True):  # the same by bisection of the threshold
        low, high = row.min() - 1, row.max()
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if np.maximum(row - middle, 0).sum() > 1 else (low, middle)
        np.testing.assert_allclose(nearest, np.maximum(row - low, 0), atol=1e-9)
    np.testing.assert_allclose(project_to_simplex(np.array([[0.2, 0.3, 0.5]])), [[0.2, 0.3, 0.5]])
    np.testing.assert_allclose(project_to_simplex(np.array([[2.0, -1.0, 0.0]])), [[1, 0, 0]])


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
