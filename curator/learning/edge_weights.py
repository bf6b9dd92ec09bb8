"""A network trained together with its edge weights on the reported support: Solitude's eq. 14.

    min over theta, w of  L_GNN(w, theta) + lambda_1 sum_e (1 - w_e)^2 + lambda_2 sum_e |w_e|

over the reported ones e only. Off that support A~ is 0, so a weight there would have to win
more than lambda_2 from L_GNN to leave 0; dropping those n^2 entries is what makes this sparse.

One pass gives both gradients; theta takes an Adam step, and so does w on L_GNN, followed by
the exact proximal step of the two penalties at the same rate eta,

    w <- clip((w + 2 eta lambda_1 - eta lambda_2) / (1 + 2 eta lambda_1), 0, 1).

A weight scales what a node takes over that edge; the first layer multiplies X by its weights
before it aggregates, since the aggregation is no constant here. Posteriors are smoothed in the
loss; the classifier is argmax p(y | x~), as the paper defines it, of what is not smoothed.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional

from curator.learning.kprop_networks import DenseSAGE
from curator.learning.networks import GAT, GCN
from curator.learning.threads import threads_for
from curator.learning.training import Adam, Trained, TrainingSettings, choose_device
from curator.linear.torch_matrix import Constant, constant

if TYPE_CHECKING:
    from curator.graph import Graph

_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Structure:
    """How edges and scores are smoothed.

    Args:
        lambda_1, lambda_2: Weights of the two penalties.
        rate: eta of the weights' steps; 0 leaves every weight at 1.
        smoother: float32 CSR (n, n) that label smoothing multiplies by.
        label_hops: How often.
    """

    lambda_1: float
    lambda_2: float
    rate: float
    smoother: csr_array
    label_hops: int


def proximal(weights: Tensor, *, rate: float, lambda_1: float, lambda_2: float) -> Tensor:
    """argmin over v in [0, 1] of (v - w)^2 / 2 + rate (lambda_1 (1 - v)^2 + lambda_2 v), entry by entry."""
    return ((weights + rate * (2 * lambda_1 - lambda_2)) / (1 + 2 * rate * lambda_1)).clamp_(0, 1)


class Edges:
    """The reported ones as edges with weights that are learned.

    Args:
        edge_index: int64 (2, E), sources over targets.
        n: Number of nodes.
        device: Where they live.
    """

    def __init__(self, edge_index: NDArray[np.int64], n: int, device: torch.device) -> None:
        self.n = n
        self.source, self.target = (torch.from_numpy(np.ascontiguousarray(row)).to(device) for row in edge_index)
        self.weight = torch.ones(edge_index.shape[1], device=device, requires_grad=True)

    def _sum(self, weight: Tensor, values: Tensor) -> Tensor:
        sent = weight[:, None] * values.index_select(0, self.source)
        return torch.zeros_like(values).index_add(0, self.target, sent)

    def degree(self) -> Tensor:
        """float32 (n,): sum of the weights of what each node takes."""
        return torch.zeros(self.n, device=self.weight.device).index_add(0, self.target, self.weight)

    def mean(self, values: Tensor) -> Tensor:
        """D^-1 W values; 0 for a node without weight."""
        return self._sum(self.weight, values) / self.degree().clamp(min=_TINY)[:, None]

    def gcn(self, values: Tensor) -> Tensor:
        """D^-1/2 (W + I) D^-1/2 values, D the row sums of W + I."""
        root = (self.degree() + 1).rsqrt()
        scaled = root[:, None] * values
        return root[:, None] * (self._sum(self.weight, scaled) + scaled)


class _LearnedGCN(GCN):
    def _bind(self, graph: Graph, device: torch.device) -> None:
        self.inputs = constant(graph.features, device)
        self.edges = Edges(graph.edge_index, graph.features.shape[0], device)

    def first(self) -> Tensor:
        return self.edges.gcn(self.inputs @ self.weight1) + self.bias1

    def output(self, hidden: Tensor) -> Tensor:
        return self.edges.gcn(hidden @ self.weight2) + self.bias2


class _LearnedSAGE(DenseSAGE):
    def _bind(self, graph: Graph, device: torch.device) -> None:
        self.inputs = constant(graph.features, device)
        self.edges = Edges(graph.edge_index, graph.features.shape[0], device)

    def first(self) -> Tensor:
        taken, own = self.both()
        return self.edges.mean(taken) + self.bias1 + own

    def output(self, hidden: Tensor) -> Tensor:
        return self.edges.mean(hidden @ self.weight2) + self.bias2 + hidden @ self.own2


class _LearnedGAT(GAT):
    def _bind(self, graph: Graph, device: torch.device) -> None:
        n = graph.features.shape[0]
        self.inputs = constant(graph.features, device)
        self.edges = Edges(graph.edge_index, n, device)
        nodes = torch.arange(n if self.loops else 0, device=device)
        self.own = torch.ones(len(nodes), device=device)
        self.source = torch.cat([self.edges.source, nodes])
        self.target = torch.cat([self.edges.target, nodes])

    def _attend(self, values: Tensor, by_source: Tensor, by_target: Tensor) -> Tensor:
        self.weight = torch.cat([self.edges.weight, self.own])
        return super()._attend(values, by_source, by_target)


LEARNED: dict[str, type[_LearnedGCN | _LearnedSAGE | _LearnedGAT]] = {
    "gcn": _LearnedGCN, "sage": _LearnedSAGE, "gat": _LearnedGAT,
}  # fmt: skip


def train_with_structure(
    graph: Graph, *, structure: Structure, settings: TrainingSettings, classes: int, seed: int, device: str = "auto"
) -> tuple[Trained, NDArray[np.float32]]:
    """Train network and weights; the epoch with the best validation accuracy is kept.

    Args:
        graph: Features, directed edges, labels; edges start with weight 1.
        structure: Penalties and label smoothing.
        settings: Network and optimiser of theta.
        classes: Number of classes.
        seed: Seed of the initial weights and of dropout; torch's global state is left alone.
        device: ``auto``, ``cpu`` or ``cuda``.

    Returns:
        The trained network and float32 (E,), the weights of that epoch.

    Raises:
        ValueError: where no training node has a label, or for a network without edges.
    """
    if settings.gnn not in LEARNED:
        raise ValueError(f"--gnn {settings.gnn}: has no edges to learn (there are {', '.join(LEARNED)})")
    if not len(graph.train):
        raise ValueError("no training node has a label: nothing can be learned")
    started = time.perf_counter()
    where = choose_device(device)
    rows, columns = graph.features.shape
    with threads_for(rows * columns), torch.random.fork_rng(devices=[where] if where.type == "cuda" else []):
        torch.manual_seed(seed)
        model = LEARNED[settings.gnn](
            graph, hidden=settings.hidden, classes=classes, device=where, **settings.attention,
        )  # fmt: skip
        predictions, epoch, accuracy, weights = _fit(model, graph, structure, settings, where)
    return Trained(model.cpu(), predictions, epoch, accuracy, time.perf_counter() - started), weights


def _fit(
    model: _LearnedGCN | _LearnedSAGE | _LearnedGAT, graph: Graph, structure: Structure, settings: TrainingSettings,
    device: torch.device,
) -> tuple[NDArray[np.int64], int, float, NDArray[np.float32]]:  # fmt: skip
    train_nodes, val_nodes = (torch.from_numpy(nodes).to(device) for nodes in (graph.train, graph.val))
    labels = torch.from_numpy(graph.labels).to(device)
    smooth = _Smoothing(structure, device)
    theta = Adam(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    edges = model.edges
    of_weights = Adam([edges.weight], lr=structure.rate or 1.0, weight_decay=0.0)
    edges.weight.requires_grad_(structure.rate > 0)
    best_accuracy, best_epoch, state, weights = -1.0, 0, {}, edges.weight.detach().clone()
    predictions = torch.empty(0, dtype=torch.int64)
    # The pass that begins step k + 1 also scores the weights after step k.
    for epoch in range(settings.epochs + 1):
        with torch.set_grad_enabled(epoch < settings.epochs):
            hidden = model.hidden()
        if epoch > 0:
            with torch.no_grad():
                classes = model.output(hidden.detach()).argmax(dim=1)
                hits = int((classes[val_nodes] == labels[val_nodes]).sum())
            accuracy = hits / len(val_nodes) if len(val_nodes) else math.nan
            if not len(val_nodes) or accuracy > best_accuracy:
                best_accuracy, best_epoch, predictions = accuracy, epoch, classes
                state = {name: value.detach().clone() for name, value in model.state_dict().items()}
                weights = edges.weight.detach().clone()
        if epoch < settings.epochs:
            posterior = torch.softmax(model.output(functional.dropout(hidden, settings.gnn_dropout)), dim=1)
            log = torch.log(smooth(posterior)[train_nodes].clamp(min=_TINY))
            functional.nll_loss(log, labels[train_nodes]).backward()  # type: ignore[no-untyped-call]
            theta.step()
            if structure.rate:
                of_weights.step()
                with torch.no_grad():
                    edges.weight.copy_(proximal(edges.weight, rate=structure.rate, lambda_1=structure.lambda_1,
                                                lambda_2=structure.lambda_2))  # fmt: skip
    model.load_state_dict(state)
    return predictions.cpu().numpy(), best_epoch, best_accuracy, weights.cpu().numpy()


class _Smoothing:
    """Label smoothing (eq. 12), with sums of 1: a node that takes from nobody keeps its own posterior."""

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
