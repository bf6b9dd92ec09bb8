"""Learning from the label proportions of clusters: L_llp of RGNN (Bhaila et al. 2024, Section 4.3).

METIS cuts the public graph into C clusters. In cluster r the reported labels of the training
nodes have shares b'_r, and b~_r = P^-1 b'_r estimates the true shares. b^_r is the mean of the
network's predictions over the same nodes. Training adds

    L_llp = mean over clusters of KL(b~_r || b^_r).

The paper and its code differ in two points, and leave one open:

- Algorithm 1 prints KL(b^ || b~), which is infinite if b~ has a zero. The published code
  computes KL(b~ || b^), which is finite for every softmax. So does this module.
- The paper does not say how b~ becomes a distribution; it usually has negative entries (for 7
  classes, eps_y = 1 and 20 labels an entry has a standard deviation of .4). Here it is
  projected to the nearest distribution. The published code clips at 1e-5 and rescales.
- The paper takes the shares of the raw reports (``raw``). The published code takes labels that
  are already reconstructed, and applies P^-1 to them again (``twice``).

A cluster without a labelled node has no share and is left out of the mean.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor

from ldpsim.curator.linear.propagation import adjacency_matrix, both_directions
from ldpsim.curator.linear.torch_matrix import Constant
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.array_types import IntArray

_LEAST = 1e-5  # lower bound of a share in the published code
_METIS_SEED = 0  # the partition is a function of the public graph


@dataclass(frozen=True, eq=False)
class Bags:
    """Clusters with labelled nodes.

    Args:
        mean: float32 CSR (bags, n): the mean over a bag's labelled training nodes.
        target: float64 (bags, classes), b~, each row a distribution.
    """

    mean: csr_array = field(repr=False)
    target: NDArray[np.float64] = field(repr=False)


def metis_clusters(n: int, edges: IntArray, clusters: int) -> IntArray:
    """Partition a graph, METIS's k-way scheme (Karypis and Kumar 1998).

    Args:
        n: Number of nodes.
        edges: int64 (2, m), each undirected edge once.
        clusters: C; some may come out empty.

    Returns:
        int64 (n,), each node's cluster, 0 .. clusters - 1.

    Raises:
        ValueError: for less than one cluster, or more clusters than nodes.
    """
    if not 1 <= clusters <= n:
        raise SettingError(f"C={clusters}", f"{n} nodes can be cut into 1..{n} clusters")
    if clusters == 1:
        return np.zeros(n, np.int64)
    import pymetis

    graph = adjacency_matrix(n, both_directions(edges))
    rows = pymetis.CSRAdjacency(graph.indptr.astype(np.int32), graph.indices.astype(np.int32))
    partition = pymetis.part_graph(clusters, rows, recursive=False, options=pymetis.Options(seed=_METIS_SEED))
    return np.array(partition.vertex_part, np.int64)


def project_to_simplex(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return the nearest distribution (Euclidean) to each row (Held, Wolfe and Crowder 1974).

    >>> project_to_simplex(np.array([[0.9, 0.5, -0.4]]))
    array([[0.7, 0.3, 0. ]])
    """
    falling = -np.sort(-np.asarray(rows, np.float64), axis=1)
    excess = (np.cumsum(falling, axis=1) - 1) / np.arange(1, falling.shape[1] + 1)
    count = np.count_nonzero(falling > excess, axis=1)
    threshold = np.take_along_axis(excess, count[:, None] - 1, axis=1)
    return np.maximum(rows - threshold, 0)


def make_bags(cluster: IntArray, labels: ObservedLabels, nodes: IntArray, again: IntArray | None = None) -> Bags:
    """Estimate the label proportions of each cluster.

    Args:
        cluster: int64 (n,), each node's cluster.
        labels: The label reports.
        nodes: The training nodes; those without a label are left out.
        again: int64 (n,), -1 for none: reconstructed labels for ``twice``, which also clips and rescales, as
            published. None for ``raw``, which projects to the simplex.
    """
    nodes = labels.with_label(nodes) if again is None else nodes[again[nodes] >= 0]
    rows = labels.support(nodes) if again is None else np.eye(labels.classes)[again[nodes]]
    present, bag = np.unique(cluster[nodes], return_inverse=True)
    size = np.bincount(bag, minlength=len(present))
    entries = ((1 / size[bag]).astype(np.float32), (bag, nodes))
    mean = csr_array(entries, shape=(len(present), len(cluster)))
    shares = np.zeros((len(present), labels.classes))
    np.add.at(shares, bag, rows / size[bag][:, None])
    estimate = labels.unbiased(shares)
    if again is None:
        return Bags(mean, project_to_simplex(estimate))
    clipped = np.maximum(estimate, _LEAST)
    return Bags(mean, clipped / clipped.sum(axis=1, keepdims=True))


class ProportionLoss:
    """L_llp as a function of the predicted distributions of the training nodes.

    Args:
        bags: The clusters.
        nodes: int64 (k,), the training nodes.
        device: Device of the network.
    """

    def __init__(self, bags: Bags, nodes: IntArray, device: torch.device) -> None:
        self.mean = Constant(bags.mean, device)
        self.nodes = torch.from_numpy(nodes).to(device)
        self.target = torch.from_numpy(bags.target).float().to(device)

    def __call__(self, predicted: Tensor) -> Tensor:
        """Mean over the bags of KL(b~ || b^), of ``predicted`` float32 (k, classes), rows of sum 1."""
        everywhere = predicted.new_zeros(self.mean.shape[1], predicted.shape[1]).index_copy(0, self.nodes, predicted)
        shares = (self.mean @ everywhere).clamp_min(torch.finfo(torch.float32).tiny)
        divergence = torch.xlogy(self.target, self.target) - self.target * shares.log()
        return divergence.sum(dim=1).mean()
