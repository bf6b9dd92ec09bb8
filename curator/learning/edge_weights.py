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
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn import functional

from ldpsim.curator.learning.kprop_networks import DenseSAGE
from ldpsim.curator.learning.networks import GAT, GCN, Network
from ldpsim.curator.learning.training import (
    Adam,
    BestEpoch,
    TrainedNetwork,
    TrainingSettings,
    choose_device,
    fit,
    labelled,
)
from ldpsim.curator.linear.torch_matrix import Constant, constant

if TYPE_CHECKING:
    from ldpsim.curator.graph import Graph

_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Structure:
    """Penalties of the edge weights (eq. 14) and label smoothing (eq. 12).

    Args:
        lambda_1, lambda_2: Weights of the two penalties.
        rate: eta, the rate of the weights' steps; 0 leaves every weight at 1.
        smoother: float32 CSR (n, n), the matrix of one smoothing hop.
        label_hops: l_y, the number of hops.
    """

    lambda_1: float
    lambda_2: float
    rate: float
    smoother: csr_array
    label_hops: int


def proximal(weights: Tensor, *, rate: float, lambda_1: float, lambda_2: float) -> Tensor:
    """argmin over v in [0, 1] of (v - w)^2 / 2 + rate (lambda_1 (1 - v)^2 + lambda_2 v), entry by entry."""
    return ((weights + rate * (2 * lambda_1 - lambda_2)) / (1 + 2 * rate * lambda_1)).clamp_(0, 1)


class Edges(nn.Module):
    """The reported edges with weights that are learned.

    Args:
        edge_index: int64 (2, E), sources over targets.
        n: Number of nodes.
        device: Device of the weights.
    """

    source: Tensor
    target: Tensor
    weight: Tensor

    def __init__(self, edge_index: NDArray[np.int64], n: int, device: torch.device) -> None:
        super().__init__()
        self.n = n
        for name, row in zip(("source", "target"), edge_index, strict=True):
            ends = torch.from_numpy(np.ascontiguousarray(row)).to(device)
            self.register_buffer(name, ends, persistent=False)
        # no parameter, as theta's optimiser must not step it; saved and restored with the network
        self.register_buffer("weight", torch.ones(edge_index.shape[1], device=device, requires_grad=True))

    def _sum(self, weight: Tensor, values: Tensor) -> Tensor:
        sent = weight[:, None] * values.index_select(0, self.source)
        return torch.zeros_like(values).index_add(0, self.target, sent)

    def degree(self) -> Tensor:
        """float32 (n,): sum of the weights of each node's incoming edges."""
        return torch.zeros(self.n, device=self.weight.device).index_add(0, self.target, self.weight)

    def mean(self, values: Tensor) -> Tensor:
        """D^-1 W values; 0 for a node without weight."""
        return self._sum(self.weight, values) / self.degree().clamp(min=_TINY)[:, None]

    def gcn(self, values: Tensor) -> Tensor:
        """D^-1/2 (W + I) D^-1/2 values, D the row sums of W + I."""
        root = (self.degree() + 1).rsqrt()
        scaled = root[:, None] * values
        return root[:, None] * (self._sum(self.weight, scaled) + scaled)


class _Learned(Network):
    """A network that is bound to edges with learned weights."""

    edges: Edges

    def _bind(self, graph: Graph, device: torch.device) -> None:
        self.inputs = constant(graph.features, device)
        self.edges = Edges(graph.edge_index, graph.features.shape[0], device)

    output_of = Network.output_of  # its edges are no constant matrix


class _LearnedGCN(_Learned, GCN):
    def pre_activation(self) -> Tensor:
        return self.edges.gcn(self.inputs @ self.weight1) + self.bias1

    def output(self, hidden: Tensor) -> Tensor:
        return self.edges.gcn(hidden @ self.weight2) + self.bias2


class _LearnedSAGE(_Learned, DenseSAGE):
    def pre_activation(self) -> Tensor:
        taken, own = self.both()
        return self.edges.mean(taken) + self.bias1 + own

    def output(self, hidden: Tensor) -> Tensor:
        return self.edges.mean(hidden @ self.weight2) + self.bias2 + hidden @ self.own2


class _LearnedGAT(_Learned, GAT):
    def _bind(self, graph: Graph, device: torch.device) -> None:
        super()._bind(graph, device)
        nodes = torch.arange(self.edges.n if self.loops else 0, device=device)
        self.own = torch.ones(len(nodes), device=device)
        self.source = torch.cat([self.edges.source, nodes])
        self.target = torch.cat([self.edges.target, nodes])

    def _attend(self, values: Tensor, by_source: Tensor, by_target: Tensor) -> Tensor:
        self.weight = torch.cat([self.edges.weight, self.own])
        return super()._attend(values, by_source, by_target)


LEARNED: dict[str, type[_Learned]] = {"gcn": _LearnedGCN, "sage": _LearnedSAGE, "gat": _LearnedGAT}


def train_with_edge_weights(
    graph: Graph, *, structure: Structure, settings: TrainingSettings, classes: int, seed: int, device: str = "auto"
) -> TrainedNetwork:
    """Train network and edge weights; keep those of the epoch with the best validation accuracy.

    Args:
        graph: Features, directed edges, labels; edges start with weight 1.
        structure: Penalties and label smoothing.
        settings: Network and optimiser of theta.
        classes: Number of classes.
        seed: Seed of the initial weights and of dropout; torch's global state does not change.
        device: ``auto``, ``cpu`` or ``cuda``.

    Returns:
        The trained network; ``model.edges.weight`` is float32 (E,).

    Raises:
        ValueError: if no training node has a label, or for a network without edges.
    """
    if settings.gnn not in LEARNED:
        raise ValueError(f"--gnn {settings.gnn}: has no edges to learn (there are {', '.join(LEARNED)})")
    where = choose_device(device)

    def make() -> Network:
        model = LEARNED[settings.gnn](graph, classes=classes, device=where, **settings.sizes)
        model.edges.weight.requires_grad_(structure.rate > 0)
        return model

    smooth = _Smoothing(structure, where)
    nodes, labels = labelled(graph, graph.train, where)

    def loss(scores: Tensor) -> Tensor:
        posterior = smooth(torch.softmax(scores, dim=1))
        return functional.nll_loss(torch.log(posterior[nodes].clamp(min=_TINY)), labels)

    optimisers: list[Adam] = []

    def step_weights(model: Any) -> None:
        """Step the edge weights: Adam on L_GNN, then the proximal step of the penalties."""
        weight = model.edges.weight
        if not optimisers:
            optimisers.append(Adam([weight], lr=structure.rate, weight_decay=0.0))
        optimisers[0].step()
        with torch.no_grad():
            weight.copy_(proximal(weight, rate=structure.rate, lambda_1=structure.lambda_1,
                                  lambda_2=structure.lambda_2))  # fmt: skip

    after_step = step_weights if structure.rate else None
    return fit(make, graph, loss, BestEpoch(graph, where), after_step, settings=settings, seed=seed, device=where)


class _Smoothing:
    """Label smoothing (eq. 12), rescaled to rows of sum 1; a node without neighbours keeps its own posterior."""

    def __init__(self, structure: Structure, device: torch.device) -> None:
        self.hops = structure.label_hops
        alone = np.diff(structure.smoother.indptr) == 0
        self.spread = Constant(structure.smoother, device) if self.hops else None
        self.alone = torch.from_numpy(alone[:, None]).to(device)

    def __call__(self, posterior: Tensor) -> Tensor:
        if self.spread is None:
            return posterior
        for _ in range(self.hops):
            posterior = torch.where(self.alone, posterior, self.spread @ posterior)
        return posterior / posterior.sum(dim=1, keepdim=True).clamp(min=_TINY)
