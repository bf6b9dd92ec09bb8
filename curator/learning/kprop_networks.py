"""Networks of LPGNN that differ from :mod:`ldpsim.curator.learning.networks`.

Propagated features of the multi-bit mechanism are dense, and a row is long beside the hidden
width. Aggregating after the multiplication, M (X W) for (M X) W, then needs one pass over one
matrix instead of GraphSAGE's two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from ldpsim.curator.learning.networks import GCN, SAGE, Network, adjacency_of, linear, make_network
from ldpsim.curator.linear.propagation import gcn_matrix
from ldpsim.curator.linear.torch_matrix import Constant, constant

if TYPE_CHECKING:
    from ldpsim.curator.graph import Graph
    from ldpsim.curator.learning.training import TrainingSettings

NEW_SHARE = 0.1  # share of a new pass in the running averages of batch normalisation


class DenseSAGE(SAGE):
    """:class:`ldpsim.curator.learning.networks.SAGE` with the same weights and scores, for dense features."""

    late = True


def selu_network(graph: Graph, settings: TrainingSettings, classes: int, device: torch.device) -> Network:
    """Return the network of the settings with SELU, for features that are dense or a product."""
    network: Network
    if settings.gnn == "sage":
        network = DenseSAGE(graph, hidden=settings.hidden, classes=classes, device=device)
    else:
        network = make_network(settings.gnn, graph, classes=classes, device=device, **settings.sizes)
    network.activation = torch.selu
    return network


class KPropGCN(GCN):
    """H = selu(bn(Z W1 + b1)), scores = S H W2 + b2; Z are the features after KProp.

    bn is batch normalisation (Ioffe and Szegedy 2015) over all nodes. A training pass uses its own
    mean and variance; scoring uses their running averages (PyTorch's, with a tenth of every new
    pass). Fresh weights are those of PyTorch's linear layer.
    """

    normalises = True
    mean: Tensor
    variance: Tensor

    def _bind(self, graph: Graph, device: torch.device) -> None:
        self.activation = torch.selu
        self.inputs = constant(graph.features, device)
        self.spread = Constant(gcn_matrix(adjacency_of(graph)), device)

    def _layers(self) -> None:
        self.weight1, self.bias1 = linear(self.width, self.hidden_width)
        self.weight2, self.bias2 = linear(self.hidden_width, self.classes)
        self.scale = nn.Parameter(torch.ones(self.hidden_width))
        self.shift = nn.Parameter(torch.zeros(self.hidden_width))
        self.register_buffer("mean", torch.zeros(self.hidden_width))
        self.register_buffer("variance", torch.ones(self.hidden_width))

    def activate(self, z: Tensor, *, training: bool) -> Tensor:
        """selu(bn(z)): a training pass uses its own mean and variance and moves the running averages."""
        return self.activation(
            functional.batch_norm(z, self.mean, self.variance, self.scale, self.shift, training, NEW_SHARE)
        )
