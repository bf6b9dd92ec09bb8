"""Two-layer graph networks for full-batch training: GCN, GraphSAGE (mean), GAT, and a perceptron.

The layers are those of PyTorch Geometric (same formulas and initialisation), divided to save
work on one fixed graph. The first layer's aggregation of the input is a constant matrix and is
computed once. Its output does not depend on dropout, so one pass serves the training step and
the validation of the same weights. Hence the parts :meth:`Network.pre_activation`,
:meth:`Network.activate` and :meth:`Network.output`.

Each network has ``hidden`` units, an activation, dropout, and one output per class. GAT averages its 4
heads (or the number given) in both layers, so that its hidden width is ``hidden``. With ``joined`` heads the
first layer puts them side by side, ``hidden`` units each, and the second has one head. Edge weights
scale the attention before the softmax is normalised.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn import functional

from ldpsim.curator.learning.dense_attention import attend
from ldpsim.curator.learning.perceptron import Perceptron
from ldpsim.curator.linear.propagation import adjacency_matrix, gcn_matrix, mean_matrix, propagate
from ldpsim.curator.linear.torch_matrix import Constant, constant, scores_of_nodes
from ldpsim.devices.training_task import ATTENTION_SLOPE

if TYPE_CHECKING:
    from ldpsim.curator.graph import Graph

HEADS = 4
LARGE = 1 << 26  # entries of dense features of which GraphSAGE keeps no second copy
# GAT works on all pairs if more than one pair in 20 is an edge: git show 54ab255:benchmarks/speed/bench_gat.py
CROWDED = 20
ACTIVATIONS = {"relu": torch.relu, "selu": torch.selu}
NEW_SHARE = 0.1  # share of a new pass in the running averages of batch normalisation

_DRAWING = threading.Lock()  # of weights from torch's global state


class Network(nn.Module):
    """Two layers over one graph; the graph is constant, only the weights are parameters.

    Args:
        graph: Features and edges.
        hidden, classes: Width of the hidden layer and of the output.
        device: Device of the weights and matrices.
        heads, loops, twice, joined: Those of :class:`GAT`.
        activation: Of the hidden layer.
        late: Whether :class:`SAGE` aggregates after the multiplication, M (X W) for (M X) W.
        edges: Edges with learned weights (:class:`ldpsim.curator.learning.edge_weights.Edges`) in place of the graph's;
            both layers then aggregate after the multiplication.
    """

    normalises = False  # whether activations of a training pass differ from those that are scored
    drops_itself = False  # whether it has its own dropout
    inputs: Any  # constant features, aggregated where that is done once
    neighbours: Any = None  # SAGE's: constant features of the neighbours, where both are kept
    spread: Any  # what aggregates: a constant matrix, or learned edges

    def __init__(
        self, graph: Graph, *, hidden: int, classes: int, device: torch.device, heads: int = HEADS, loops: bool = True,
        twice: bool = False, joined: bool = False,
        activation: Callable[[Tensor], Tensor] = torch.relu, late: bool = False, edges: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.heads, self.loops, self.twice, self.joined, self.late = heads, loops, twice, joined, late
        self.width, self.hidden_width, self.classes = graph.features.shape[1], hidden, classes
        self.activation, self.learned = activation, edges is not None
        if self.learned:
            self.spread = edges
        self.build(graph, device)
        self.to(device)

    def build(self, graph: Graph, device: torch.device) -> None:
        """Make the constant matrices, and draw fresh weights."""
        raise NotImplementedError

    def pre_activation(self) -> Tensor:
        """float32 (n, hidden): z, the first layer before its activation."""
        raise NotImplementedError

    def activate(self, z: Tensor, *, training: bool) -> Tensor:
        """float32 (n, hidden): activation of z, before dropout.

        A network with batch normalisation treats a pass of ``training`` differently.
        """
        return self.activation(z)

    def output(self, hidden: Tensor) -> Tensor:
        """float32 (n, classes): the second layer's scores."""
        raise NotImplementedError

    def output_of(self, nodes: Tensor) -> Callable[[Tensor], Tensor]:
        """Return the second layer for some nodes alone: float32 (n, hidden) -> (len(nodes), classes).

        Scores and gradients have the bytes of :meth:`output` with these rows taken out of it.

        Args:
            nodes: int64, each once.
        """
        return lambda hidden: self.output(hidden).index_select(0, nodes)

    def forget_graph(self) -> None:
        """Free the matrices of the graph; the weights stay, and nothing can be scored any more."""
        for name in ("inputs", "neighbours", "spread", "pairs", "alone", "source", "target", "weight"):
            self.__dict__.pop(name, None)

    def forward(self) -> Tensor:
        """Scores without dropout."""
        return self.output(self.activate(self.pre_activation(), training=False))


class GCN(Network):
    """H = relu(S X W1 + b1), Z = S H W2 + b2, S = D^-1/2 (A + I) D^-1/2 (Kipf and Welling 2017)."""

    def build(self, graph: Graph, device: torch.device) -> None:
        if self.learned:
            self.inputs = constant(graph.features, device)
        else:
            matrix = gcn_matrix(adjacency_of(graph))
            self.inputs = constant(propagate(matrix, graph.features), device)
            self.spread = Constant(matrix, device)
        self.weight1, self.bias1 = _glorot(self.width, self.hidden_width), _zeros(self.hidden_width)
        self.weight2, self.bias2 = _glorot(self.hidden_width, self.classes), _zeros(self.classes)

    def pre_activation(self) -> Tensor:
        z = self.inputs @ self.weight1
        return (self.spread @ z if self.learned else z).add_(self.bias1)

    def output(self, hidden: Tensor) -> Tensor:
        return (self.spread @ (hidden @ self.weight2)).add_(self.bias2)

    def output_of(self, nodes: Tensor) -> Callable[[Tensor], Tensor]:
        spread = self.spread.rows(nodes)
        if spread is None:
            return super().output_of(nodes)
        return lambda hidden: scores_of_nodes(spread @ (hidden @ self.weight2), self.bias2, nodes, len(hidden))


class KPropGCN(GCN):
    """H = selu(bn(Z W1 + b1)), scores = S H W2 + b2; Z are the features after KProp (LPGNN's first version).

    bn is batch normalisation (Ioffe and Szegedy 2015) over all nodes. A training pass uses its own
    mean and variance; scoring uses their running averages (PyTorch's, with a tenth of every new
    pass). Fresh weights are those of PyTorch's linear layer.
    """

    normalises = True
    mean: Tensor
    variance: Tensor

    def build(self, graph: Graph, device: torch.device) -> None:
        self.activation = torch.selu
        self.inputs = constant(graph.features, device)
        self.spread = Constant(gcn_matrix(adjacency_of(graph)), device)
        self.weight1, self.bias1 = linear(self.width, self.hidden_width)
        self.weight2, self.bias2 = linear(self.hidden_width, self.classes)
        self.scale, self.shift = nn.Parameter(torch.ones(self.hidden_width)), _zeros(self.hidden_width)
        self.register_buffer("mean", torch.zeros(self.hidden_width))
        self.register_buffer("variance", torch.ones(self.hidden_width))

    def activate(self, z: Tensor, *, training: bool) -> Tensor:
        """selu(bn(z)): a training pass uses its own mean and variance and moves the running averages."""
        return self.activation(
            functional.batch_norm(z, self.mean, self.variance, self.scale, self.shift, training, NEW_SHARE)
        )


class FeaturesAlone(Network):
    """H = relu(X W1 + b1), Z = H W2 + b2: a perceptron on constant features, no graph."""

    def build(self, graph: Graph, device: torch.device) -> None:
        self.inputs = constant(graph.features, device)
        self.perceptron = Perceptron([self.width, self.hidden_width, self.classes])

    def pre_activation(self) -> Tensor:
        z: Tensor = self.perceptron.layers[0](self.inputs)
        return z

    def output(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.perceptron.layers[1](hidden)
        return scores


class SAGE(Network):
    """H = relu(M X W1 + b1 + X V1), the same again; M the mean over neighbours (Hamilton et al. 2017).

    M X is computed once. With ``late`` it is M (X W1): one pass over dense features in the place of two, and no copy of
    large ones.
    """

    def build(self, graph: Graph, device: torch.device) -> None:
        large = isinstance(graph.features, np.ndarray) and graph.features.size > LARGE
        self.late = self.late or self.learned or large
        self.inputs = constant(graph.features, device)
        if not self.learned:
            matrix = mean_matrix(adjacency_of(graph))
            if not self.late:
                self.neighbours = constant(propagate(matrix, graph.features), device)
            self.spread = Constant(matrix, device)
        self.weight1, self.bias1 = linear(self.width, self.hidden_width)
        self.own1 = uniform(self.width, self.width, self.hidden_width)
        self.weight2, self.bias2 = linear(self.hidden_width, self.classes)
        self.own2 = uniform(self.hidden_width, self.hidden_width, self.classes)

    def pre_activation(self) -> Tensor:
        if not self.late:
            return self.neighbours @ self.weight1 + self.bias1 + self.inputs @ self.own1
        both = self.inputs @ torch.cat([self.weight1, self.own1], dim=1)
        return self.spread @ both[:, : self.hidden_width].contiguous() + self.bias1 + both[:, self.hidden_width :]

    def output(self, hidden: Tensor) -> Tensor:
        return self.spread @ (hidden @ self.weight2) + self.bias2 + hidden @ self.own2

    def output_of(self, nodes: Tensor) -> Callable[[Tensor], Tensor]:
        spread = self.spread.rows(nodes)
        if spread is None:
            return super().output_of(nodes)
        return lambda hidden: scores_of_nodes(
            spread @ (hidden @ self.weight2), self.bias2, nodes, len(hidden), hidden @ self.own2
        )


class GAT(Network):
    """Attention a_ij = softmax_j leakyrelu(p.z_j + q.z_i) over j in N(i) and i, z = X W (Velickovic et al. 2018).

    A weighted edge counts weight times in the softmax. With ``twice`` its message is multiplied by
    the weight as well, as in Blink's dense layer. Without ``loops`` a node does not attend to
    itself, and the output of a node without neighbours is 0. If more than one pair in 20 is an
    edge, a list of messages is larger and slower than all pairs: see
    :mod:`ldpsim.curator.learning.dense_attention`.
    """

    pairs: Tensor | None = None  # float32 (n, n), log weights by target and source
    alone: Tensor | None = None  # bool (n, 1), nodes without anyone to attend to (pairs without loops)

    def build(self, graph: Graph, device: torch.device) -> None:
        n = graph.features.shape[0]
        self.inputs = constant(graph.features, device)
        nodes = np.arange(n if self.loops else 0)
        edges = adjacency_of(graph).tocoo()
        other = edges.row != edges.col
        ends = (edges.col[other], edges.row[other]) if not self.learned else graph.edge_index
        weight = edges.data[other] if not self.learned else np.zeros(0)
        self.source, self.target = (torch.from_numpy(np.r_[end, nodes].astype(np.int64)).to(device) for end in ends)
        self.weight = torch.from_numpy(np.r_[weight, np.ones(len(nodes))].astype(np.float32)).to(device)
        if not self.learned and len(self.source) * CROWDED > n * n:
            weights = torch.zeros(n, n, device=device)
            weights.index_put_((self.target, self.source), self.weight, accumulate=True)
            if not self.loops:
                self.alone = ~weights.any(dim=1, keepdim=True)
                weights.masked_fill_(self.alone, 1.0)  # a softmax needs an entry; the row is set to 0 afterwards
            self.pairs = weights.log_()
            del self.source, self.target, self.weight
        below = self.heads * self.hidden_width
        above, last = (below, 1) if self.joined else (self.hidden_width, self.heads)
        self.weight1, self.bias1 = _glorot(self.width, below), _zeros(above)
        self.source1, self.target1 = _glorot(self.heads, self.hidden_width), _glorot(self.heads, self.hidden_width)
        self.weight2, self.bias2 = _glorot(above, last * self.classes), _zeros(self.classes)
        self.source2, self.target2 = _glorot(last, self.classes), _glorot(last, self.classes)

    def pre_activation(self) -> Tensor:
        return self._attend(self.inputs @ self.weight1, self.source1, self.target1, self.joined) + self.bias1

    def output(self, hidden: Tensor) -> Tensor:
        return self._attend(hidden @ self.weight2, self.source2, self.target2) + self.bias2

    def _attend(self, values: Tensor, by_source: Tensor, by_target: Tensor, joined: bool = False) -> Tensor:
        heads = values.view(len(values), len(by_source), -1)
        scores = (heads * by_source).sum(-1), (heads * by_target).sum(-1)
        taken = self._along_edges(heads, *scores) if self.pairs is None else self._over_pairs(heads, *scores)
        return taken.flatten(1) if joined else taken.mean(dim=1)

    def _along_edges(self, heads: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
        score = sources.index_select(0, self.source) + targets.index_select(0, self.target)
        score = functional.leaky_relu(score, ATTENTION_SLOPE)
        place = self.target[:, None].expand(-1, heads.shape[1])
        largest = torch.full_like(sources, -math.inf).scatter_reduce(0, place, score.detach(), "amax")
        weight = (torch.cat([self.spread.weight, self.weight]) if self.learned else self.weight)[:, None]
        strength = weight * torch.exp(score - largest.index_select(0, self.target))
        total = torch.zeros_like(largest).index_add(0, self.target, strength)
        share = strength / torch.where(total > 0, total, 1).index_select(0, self.target)
        if self.twice:
            share = share * weight
        sent = share[:, :, None] * heads.index_select(0, self.source)
        return torch.zeros_like(heads).index_add(0, self.target, sent)

    def _over_pairs(self, heads: Tensor, sources: Tensor, targets: Tensor) -> Tensor:
        assert self.pairs is not None
        parts = zip(heads.unbind(1), sources.unbind(1), targets.unbind(1), strict=True)
        taken = torch.stack([attend(*part, self.pairs, twice=self.twice) for part in parts], dim=1)
        return taken if self.alone is None else taken.masked_fill(self.alone[:, :, None], 0.0)


NETWORKS: dict[str, type[Network]] = {"gcn": GCN, "sage": SAGE, "gat": GAT, "mlp": FeaturesAlone}


def fresh(make: Callable[[], Network], seed: int) -> tuple[Network, torch.Generator]:
    """Return a network with the seed's weights, and the generator that continues after them.

    Weights are drawn from torch's global state, which several trainings of a process share: one after another.
    """
    with _DRAWING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = make()
        return model, torch.Generator().set_state(torch.get_rng_state())


def adjacency_of(graph: Graph) -> csr_array:
    """Return a graph's adjacency, float32 CSR (n, n)."""
    return adjacency_matrix(graph.features.shape[0], graph.edge_index, graph.edge_weight)


def _glorot(rows: int, columns: int) -> nn.Parameter:
    bound = math.sqrt(6 / (rows + columns))
    return nn.Parameter(torch.empty(rows, columns).uniform_(-bound, bound))


def uniform(inputs: int, *shape: int) -> nn.Parameter:
    """Return fresh float32 weights of PyTorch's linear layer, uniform in ± 1 / sqrt(inputs)."""
    bound = 1 / math.sqrt(max(1, inputs))
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound))


def linear(inputs: int, outputs: int) -> tuple[nn.Parameter, nn.Parameter]:
    """Return its weights, (inputs, outputs), and its bias, (outputs,)."""
    return uniform(inputs, inputs, outputs), uniform(inputs, outputs)


def _zeros(size: int) -> nn.Parameter:
    return nn.Parameter(torch.zeros(size))
