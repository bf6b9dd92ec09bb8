"""The same teacher as a person would write it with PyTorch Geometric: the oracle of the tests."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import SAGEConv

from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.owner.teachers.sage import Sage, SageSettings


class Teacher(nn.Module):
    """SAGEConv, batch norm, ReLU, dropout by given masks, SAGEConv."""

    def __init__(self, d: int, h: int, c: int) -> None:
        super().__init__()
        self.first, self.second = SAGEConv(d, h, bias=False), SAGEConv(h, c)
        self.norm = nn.BatchNorm1d(h)

    def forward(self, x: Tensor, edges: Tensor, gate: Tensor | None = None) -> Tensor:
        hidden = torch.relu(self.norm(self.first(x, edges)))
        if gate is not None:
            hidden = hidden * gate
        return functional.log_softmax(self.second(hidden, edges), dim=1)


def edges_of(graph: PlainGraph) -> Tensor:
    """Return the directed edges, (2, m)."""
    return torch.from_numpy(np.stack([graph.indices, np.repeat(np.arange(len(graph)), np.diff(graph.indptr))])).long()


def trained_by_pyg(graph: PlainGraph, classes: int, settings: SageSettings, seed: int) -> Teacher:
    """Train with autograd and ``torch.optim.Adam`` from the same weights and with the same dropout."""
    d, c = graph.features.shape[1], classes
    x, labels = torch.from_numpy(graph.features), torch.from_numpy(graph.labels)
    generator, keep = torch.Generator().manual_seed(seed), 1 - settings.dropout
    start = Sage(d, settings.hidden, c, [generator])
    model = Teacher(d, settings.hidden, c).to(x.dtype)
    with torch.no_grad():
        model.first.lin_l.weight.copy_(start.first[0, :d].T)
        model.first.lin_r.weight.copy_(start.first[0, d:].T)
        model.second.lin_l.weight.copy_(start.second[0, :, :c].T)
        model.second.lin_r.weight.copy_(start.second[0, :, c:].T)
        model.second.lin_l.bias.copy_(start.bias[0, 0])
    known, edges = labels >= 0, edges_of(graph)
    optimiser = torch.optim.Adam(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    model.train()
    for _ in range(settings.epochs):
        optimiser.zero_grad()
        gate = torch.ones(len(graph), settings.hidden, dtype=x.dtype)
        if settings.dropout:
            gate = (torch.rand(gate.shape, generator=generator) < keep).to(x.dtype) / keep
        functional.nll_loss(model(x, edges, gate)[known], labels[known]).backward()
        optimiser.step()
    return model.eval()
