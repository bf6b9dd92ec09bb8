"""LPGNN's networks where they differ from :mod:`curator.gnn`: what is dense stays one matrix.

Features under the multi-bit mechanism are dense once propagated, and a row is long beside the
hidden width. Aggregating after the multiplication then costs nothing, M (X W) for (M X) W, and
leaves one pass over one matrix where GraphSAGE has two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn import functional

from curator.gnn import GCN, SAGE, Constant, constant
from curator.propagation import adjacency_matrix, gcn_matrix, mean_matrix

if TYPE_CHECKING:
    from curator.graph import Graph


class DenseSAGE(SAGE):
    """:class:`curator.gnn.SAGE` with the same weights and scores, for dense features."""

    def _bind(self, graph: Graph, device: torch.device) -> None:
        self.inputs = constant(graph.features, device)
        self.spread = Constant(mean_matrix(_adjacency(graph)), device)

    def both(self) -> tuple[Tensor, Tensor]:
        """float32 (n, hidden) each: X W1, to be aggregated, and X V1, a node's own."""
        product = self.inputs @ torch.cat([self.weight1, self.own1], dim=1)
        return product[:, : self.hidden_width].contiguous(), product[:, self.hidden_width :]

    def _first(self) -> Tensor:
        taken, own = self.both()
        return self.spread @ taken + self.bias1 + own


class KPropGCN(GCN):
    """H = selu(bn(Z W1 + b1)), scores = S H W2 + b2; Z is what KProp made of the features.

    Normalisation takes mean and variance over all nodes of the pass at hand: training and
    scoring see the same nodes, so running averages would only lag behind.
    """

    def _bind(self, graph: Graph, device: torch.device) -> None:
        self.activation = torch.selu
        self.inputs = constant(graph.features, device)
        self.spread = Constant(gcn_matrix(_adjacency(graph)), device)

    def _layers(self) -> None:
        super()._layers()
        self.scale = nn.Parameter(torch.ones(self.hidden_width))
        self.shift = nn.Parameter(torch.zeros(self.hidden_width))

    def _first(self) -> Tensor:
        return functional.batch_norm(super()._first(), None, None, self.scale, self.shift, training=True)


def _adjacency(graph: Graph) -> csr_array:
    return adjacency_matrix(graph.features.shape[0], graph.edge_index, graph.edge_weight)
