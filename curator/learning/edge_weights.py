"""Training of a network together with its edge weights: eqs. 12 to 14 of Solitude (Lin, Li and Wang 2022).

    min over theta, A^c of  L_GNN(A^c, X^c, theta) + lambda_1 ||A~ - A^c||_F^2 + lambda_2 ||A^c||_1    (14)

A^c has one weight w_e in [0, 1] for each reported edge e, so that the penalties are
lambda_1 sum_e (1 - w_e)^2 + lambda_2 sum_e w_e. Elsewhere A^c is 0: A~ is 0 there, and a weight
would have to gain more than lambda_2 in L_GNN to leave 0. This keeps the matrix sparse.

One backward pass gives the gradients of theta and w. Theta takes a step of Adam. w takes a step
of Adam on L_GNN with rate eta, then the exact proximal step of the two penalties,

    w <- clip((w + 2 eta lambda_1 - eta lambda_2) / (1 + 2 eta lambda_1), 0, 1).

L_GNN is the mean cross-entropy of the labelled nodes; eq. 13 is their sum. Adam's steps do not
depend on that factor, except through theta's weight decay.

Eq. 12 smooths the posteriors in the loss. The classifier is argmax p(y | x~), without smoothing,
as the paper defines it.

Posteriors are held as logarithms. So the loss is exact, and a person whose own class has a probability that float32
cannot hold still has a gradient.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array
from torch import Tensor, nn
from torch.nn import functional

from ldpsim.curator.learning.loop import Adam
from ldpsim.curator.learning.networks import Network
from ldpsim.curator.learning.noisy_labels import Drop, LabelNoise
from ldpsim.curator.learning.own_network import make_network
from ldpsim.curator.learning.training import (
    BestEpoch,
    LossFunction,
    TrainedNetwork,
    TrainingSettings,
    bounded_logs,
    choose_device,
    fit,
    labelled,
)
from ldpsim.curator.reports.labels import ObservedLabels

if TYPE_CHECKING:
    from ldpsim.curator.graph import Graph


@dataclass(frozen=True, eq=False)
class Structure:
    """Penalties of the edge weights (eq. 14) and label smoothing (eq. 12).

    Args:
        lambda_1, lambda_2: Weights of the two penalties.
        rate: eta, the rate of the weights' steps; 0 leaves every weight at 1.
        smoother: float32 CSR (n, n), the matrix of one smoothing hop.
        label_hops: l_y, the number of hops.
        smoothed_targets: Whether the target is the likeliest class of labels that are smoothed as the posteriors are.
            The loss is then that of the published code (:class:`ldpsim.curator.learning.noisy_labels.Drop`).
        floor: Added to a probability before its logarithm is taken; the published code has 1e-20.
    """

    lambda_1: float
    lambda_2: float
    rate: float
    smoother: csr_array
    label_hops: int
    smoothed_targets: bool = False
    floor: float = 0.0


def proximal(weights: Tensor, *, rate: float, lambda_1: float, lambda_2: float) -> Tensor:
    """argmin over v in [0, 1] of (v - w)^2 / 2 + rate (lambda_1 (1 - v)^2 + lambda_2 v), entry by entry."""
    return ((weights + rate * (2 * lambda_1 - lambda_2)) / (1 + 2 * rate * lambda_1)).clamp_(0, 1)


class Edges(nn.Module):
    """The reported edges with weights that are learned; ``edges @ values`` aggregates as the network's layer does.

    Args:
        edge_index: int64 (2, E), sources over targets.
        n: Number of nodes.
        gnn: ``gcn``: D^-1/2 (W + I) D^-1/2 values, D the row sums of W + I; else the mean D^-1 W values, 0 for a node
            without weight.
        device: Device of the weights.
    """

    source: Tensor
    target: Tensor
    weight: Tensor

    def __init__(self, edge_index: NDArray[np.int64], n: int, gnn: str, device: torch.device) -> None:
        super().__init__()
        self.n, self.gnn = n, gnn
        for name, row in zip(("source", "target"), edge_index, strict=True):
            ends = torch.from_numpy(np.ascontiguousarray(row)).to(device)
            self.register_buffer(name, ends, persistent=False)
        # no parameter, as theta's optimiser must not step it; saved and restored with the network
        self.register_buffer("weight", torch.ones(edge_index.shape[1], device=device, requires_grad=True))

    def __matmul__(self, values: Tensor) -> Tensor:
        degree = self._degree()
        if self.gnn != "gcn":
            return self._sum(values) / torch.where(degree > 0, degree, 1)[:, None]
        root = (degree + 1).rsqrt()[:, None]
        scaled = root * values
        return root * (self._sum(scaled) + scaled)

    def _degree(self) -> Tensor:
        return torch.zeros(self.n, device=self.weight.device).index_add(0, self.target, self.weight)

    def _sum(self, values: Tensor) -> Tensor:
        sent = self.weight[:, None] * values.index_select(0, self.source)
        return torch.zeros_like(values).index_add(0, self.target, sent)

    def rows(self, nodes: Tensor) -> None:
        """Return None: no rows are made apart, as of a dense matrix."""


class LogSmoother:
    """One hop of eq. 12 on logarithms: ln P -> ln (S P). A node whose row of S is empty keeps its own posterior.

    Args:
        matrix: S, float32 CSR (n, n), no entry below 0.
        device: Device of the posteriors.
    """

    def __init__(self, matrix: csr_array, device: torch.device) -> None:
        alone = diags_array((np.diff(matrix.indptr) == 0).astype(np.float32))
        entries = csr_array(matrix + alone).tocoo()
        self.target, self.source = (torch.from_numpy(end.astype(np.int64)).to(device) for end in entries.coords)
        self.log_weight = torch.from_numpy(np.log(entries.data)).to(device)[:, None]

    def __call__(self, logs: Tensor) -> Tensor:
        """float32 (n, classes), of the same."""
        summand = logs.index_select(0, self.source) + self.log_weight
        place = self.target[:, None].expand_as(summand)
        largest = torch.full_like(logs, -math.inf).scatter_reduce(0, place, summand.detach(), "amax")
        share = torch.exp(summand - largest.index_select(0, self.target))
        return largest + torch.zeros_like(logs).index_add(0, self.target, share).log()


def _smoothed_loss(structure: Structure, nodes: Tensor, labels: Tensor) -> LossFunction:
    """Return eqs. 12 and 13 with the rows brought to the sum 1, as a function of all nodes' scores."""
    smoothers = [LogSmoother(structure.smoother, nodes.device)] * structure.label_hops

    def loss(scores: Tensor) -> Tensor:
        logs = torch.log_softmax(scores, dim=1)
        for smooth in smoothers:
            logs = smooth(logs)
        logs = torch.log_softmax(logs.index_select(0, nodes), dim=1)
        return functional.nll_loss(bounded_logs(logs, structure.floor), labels)

    return loss


def train_with_edge_weights(
    graph: Graph, *, structure: Structure, settings: TrainingSettings, classes: int, seed: int, device: str = "auto"
) -> TrainedNetwork:
    """Train network and edge weights; keep those of the epoch that ``settings.selection`` chooses.

    Args:
        graph: Features, directed edges, labels; edges start with weight 1.
        structure: Penalties and label smoothing.
        settings: Network and optimiser of theta.
        classes: Number of classes.
        seed: Seed of the initial weights and of dropout; torch's global state does not change.
        device: ``auto``, ``cpu`` or ``cuda``.

    Returns:
        The trained network; ``model.spread.weight`` is float32 (E,).

    Raises:
        ValueError: if no training node has a label, or a smoothed one.
    """
    where = choose_device(device)

    def make() -> Network:
        edges = Edges(graph.edge_index, graph.features.shape[0], settings.gnn, where)
        edges.weight.requires_grad_(structure.rate > 0)
        return make_network(settings.gnn, graph, classes=classes, device=where, edges=edges, **settings.sizes)

    nodes, labels = labelled(graph, np.concatenate([graph.train, graph.val]), where)
    count = len(graph.train)
    if structure.smoothed_targets and structure.label_hops:
        noise = LabelNoise(ObservedLabels(graph.labels, classes), structure.smoother, structure.label_hops)
        loss: LossFunction = Drop(graph, noise, where).loss
    else:
        loss = _smoothed_loss(structure, nodes[:count], labels[:count])

    optimisers: list[Adam] = []

    def step_weights(model: Any) -> None:
        """Step the edge weights: Adam on L_GNN, then the proximal step of the penalties."""
        weight = model.spread.weight
        if not optimisers:
            optimisers.append(Adam([weight], lr=structure.rate, weight_decay=0.0))
        optimisers[0].step()
        with torch.no_grad():
            weight.copy_(proximal(weight, rate=structure.rate, lambda_1=structure.lambda_1,
                                  lambda_2=structure.lambda_2))  # fmt: skip

    better = BestEpoch(labels[count:], settings.selection, structure.floor)
    return fit(make, graph, loss, better, step_weights if structure.rate else None,
               settings=settings, seed=seed, device=where)  # fmt: skip
