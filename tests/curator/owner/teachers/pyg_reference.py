"""The same teacher as a person would write it with PyTorch Geometric: the oracle of the tests."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import SAGEConv

from ldpsim.curator.owner.teachers.graph import Piece
from ldpsim.curator.owner.teachers.randomness import Masks
from ldpsim.curator.owner.teachers.sage import SageSettings
from ldpsim.curator.owner.teachers.weights import Layout


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


def trained_by_pyg(piece: Piece, start: Tensor, layout: Layout, masks: Masks | None, settings: SageSettings) -> Teacher:
    """Train with autograd and ``torch.optim.Adam`` from the same weights and masks (None: torch's own dropout)."""
    model = Teacher(layout.d, layout.h, layout.c).to(start.dtype)
    parts, c = layout.parts(start), layout.c
    with torch.no_grad():
        model.first.lin_l.weight.copy_(parts["near1"].T)
        model.first.lin_r.weight.copy_(parts["own1"].T)
        model.second.lin_l.weight.copy_(parts["second"][:, :c].T)
        model.second.lin_r.weight.copy_(parts["second"][:, c:].T)
        model.second.lin_l.bias.copy_(parts["bias"])
    x, labels = torch.from_numpy(piece.features), torch.from_numpy(piece.labels)
    edges = torch.stack([torch.from_numpy(piece.source), torch.from_numpy(piece.target)])
    known = labels >= 0
    optimiser = torch.optim.Adam(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    model.train()
    for epoch in range(settings.epochs):
        optimiser.zero_grad()
        if masks is None:
            gate = functional.dropout(torch.ones(len(piece), layout.h, dtype=start.dtype), settings.dropout)
        else:
            gate = torch.from_numpy(masks.epoch(epoch)).to(start.dtype) / masks.keep
        functional.nll_loss(model(x, edges, gate)[known], labels[known]).backward()
        optimiser.step()
    return model.eval()
