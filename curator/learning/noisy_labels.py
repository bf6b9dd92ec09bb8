"""Learning from reported labels: LPGNN's forward correction, "Drop", and its choice of an epoch.

Let Y' be the classes that the reports name (:mod:`ldpsim.curator.reports.labels`): one-hot under GRR, 0 without a
report. T has p on the diagonal and q elsewhere, the means of Y'. S = D^-1/2 A D^-1/2 without self-loops. The network
gives P(y | x'). Then

    E[Y' | x'] = P(y | x') T                                  forward correction
    y~ = argmax softmax(S^K Y')
    P(y~ | x') = softmax(S^K E[Y' | x'])
    loss = cross entropy of P(y~ | x') against y~, over the training nodes.

With K = 0 there is no smoothing: the loss is -ln of the report's probability, sum_y P(y | x') P(report | y). Under
GRR this is the cross-entropy of E[Y' | x'] against the reported label.

The choice of an epoch uses reports only. The first epoch is the first best one. A later epoch is better if the
validation loss, that of K = 0, is smaller and both shares of *reports* that name the predicted class are larger: on
the validation nodes, but at most p, and in the training pass, but at most 1.05 p. A perfect classifier reaches p; a
network above that repeats the noise.

Learning from the label proportions of clusters: L_llp of RGNN (Bhaila et al. 2024, Section 4.3).

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

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional

from ldpsim.curator.learning.networks import Network
from ldpsim.curator.learning.own_network import make_network
from ldpsim.curator.learning.training import NO_LABEL, TrainedNetwork, TrainingSettings, choose_device, fit
from ldpsim.curator.linear.propagation import adjacency_matrix, both_directions
from ldpsim.curator.linear.torch_matrix import Constant
from ldpsim.curator.reports.labels import LabelEvidence
from ldpsim.curator.setting_error import SettingError
from ldpsim.devices.array_types import IntArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldpsim.curator.graph import Graph

MORE_IN_TRAINING = 1.05
_TINY = 1e-20


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """Noise of the reported labels, and its removal.

    Args:
        labels: Evidence of them; p and q are its ``truth`` and ``lie``.
        matrix: S, float32 CSR (n, n).
        hops: K.
        by_loss: Choose the epoch of the smallest validation loss instead (labels in clear).
    """

    labels: LabelEvidence
    matrix: csr_array
    hops: int
    by_loss: bool = False


def denoised(labels: LabelEvidence, matrix: csr_array, hops: int) -> NDArray[np.int64]:
    """int64 (n,): argmax of S^hops Y', -1 where no report reaches; the labels themselves for no hops."""
    if hops == 0:
        return labels.labels.copy()
    spread = labels.everybody().astype(np.float32)
    for _ in range(hops):
        spread = matrix @ spread
    return np.where(spread.any(axis=1), spread.argmax(axis=1), -1).astype(np.int64)


def selu_network(graph: Graph, settings: TrainingSettings, classes: int, device: torch.device) -> Network:
    """Return the network of the settings with SELU, for features that are dense or a product (LPGNN, UPGNet)."""
    sizes = settings.sizes | {"activation": torch.selu}
    return make_network(settings.gnn, graph, classes=classes, device=device, late=True, **sizes)


def train_denoised(
    make: Callable[[torch.device], Network], graph: Graph, *, noise: LabelNoise, settings: TrainingSettings,
    classes: int, seed: int, device: str = "auto",
) -> TrainedNetwork:  # fmt: skip
    """Train a network with the loss above and return the weights of the chosen epoch.

    Args:
        make: Makes the network with fresh weights.
        graph: Features, edges, training and validation nodes.
        noise: Noise of the labels.
        settings: Optimiser and epochs.
        classes: Number of classes.
        seed: Seed of the initial weights and of dropout; torch's global state does not change.
        device: ``auto``, ``cpu`` or ``cuda``.

    Raises:
        ValueError: if no training node has a label, or if no label reaches one.
    """
    where = choose_device(device)
    drop = Drop(graph, noise, where)
    return fit(lambda: make(where), graph, drop.loss, drop.better, reads=None if noise.hops else graph.train,
               settings=settings, seed=seed, device=where)  # fmt: skip


class Drop:
    """Loss of LPGNN's "Drop" and its choice of an epoch.

    Args:
        graph: Training and validation nodes.
        noise: Noise of the labels.
        device: Device of the scores.

    Raises:
        ValueError: if no training node has a label, or if no label reaches one.
    """

    def __init__(self, graph: Graph, noise: LabelNoise, device: torch.device) -> None:
        self.noise, self.labels = noise, noise.labels
        self.spread = Constant(noise.matrix, device) if noise.hops else None
        target = denoised(noise.labels, noise.matrix, noise.hops)
        learn = graph.train[target[graph.train] >= 0]
        if not len(learn):
            if noise.hops and len(noise.labels.with_label(graph.train)):
                raise ValueError(f"no label reaches a training node over {noise.hops} hops without self-loops: nothing "
                                 "can be learned (0 hops take every node's own label)")  # fmt: skip
            raise ValueError(NO_LABEL)
        self.learn, self.target = (torch.from_numpy(array).to(device) for array in (learn, target[learn]))
        self.last = self.spread.rows(self.learn) if self.spread is not None else None
        self.train, self.val = (_Reports(noise.labels, nodes, device) for nodes in (graph.train, graph.val))
        self.in_training = -1.0  # share of the last training pass
        self.best = math.inf, -1.0, -1.0  # validation loss, and the shares of reports that name the prediction

    def loss(self, scores: Tensor) -> Tensor:
        """Cross-entropy of P(y~ | x') against y~; notes the pass's share of reports that name the prediction.

        Args:
            scores: float32 (n, classes) of all nodes; those of the training nodes for no hops.
        """
        if self.spread is None:
            self.in_training = self.train.share_named(scores)
            return self.train.loss(scores)
        self.in_training = self.train.share_named(scores.detach()[self.train.nodes])
        spread = self.labels.lie + (self.labels.truth - self.labels.lie) * torch.softmax(scores, dim=1)
        for _ in range(self.noise.hops - 1):
            spread = self.spread @ spread
        # only nodes to learn from are read after the last hop
        spread = (self.spread @ spread)[self.learn] if self.last is None else self.last @ spread
        return functional.nll_loss(torch.log_softmax(spread, dim=1), self.target)

    def better(self, scores: Tensor, accuracy: float, in_training: float) -> bool:
        """Return whether this epoch, of these scores of the validation nodes, is the best so far by the rule above."""
        (least, val, train), truth = self.best, self.labels.truth
        new = float(self.val.loss(scores)), self.val.share_named(scores), self.in_training
        better = new[0] < least
        if least < math.inf and not self.noise.by_loss:
            better = better and val < new[1] <= truth and train < new[2] <= MORE_IN_TRAINING * truth
        self.best = new if better else self.best
        return better


class _Reports:
    """Reports of some people with a label, as tensors."""

    def __init__(self, labels: LabelEvidence, nodes: NDArray[np.int64], device: torch.device) -> None:
        likelihood = labels.probabilities(nodes)
        least, most = likelihood.min(axis=1, keepdims=True), likelihood.max(axis=1, keepdims=True)
        weights = (likelihood - least) / np.where(most > least, most - least, 1)
        self.nodes = torch.from_numpy(nodes).to(device)
        self.least, self.span, self.weights, self.support = (torch.from_numpy(array).float().to(device) for array in
            (least, most - least, weights, labels.support(nodes)))  # fmt: skip

    def loss(self, scores: Tensor) -> Tensor:
        """Mean of -ln sum_y P(y | x') P(report | y), the probabilities of a report scaled to the sum 1.

        Args:
            scores: float32 (k, classes) of these people.
        """
        agreed = (torch.softmax(scores, dim=1) * self.weights).sum(dim=1, keepdim=True)
        return -torch.log(self.least + self.span * agreed + _TINY).mean()

    def share_named(self, scores: Tensor) -> float:
        """Return the share of the reports that name the predicted class; 0 for none."""
        predicted = scores.argmax(dim=1, keepdim=True)
        return float(self.support.gather(1, predicted).double().sum()) / max(1, len(self.nodes))


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


def make_bags(cluster: IntArray, labels: LabelEvidence, nodes: IntArray, again: IntArray | None = None) -> Bags:
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
