"""Two-layer GraphSAGE networks of an owner: many of one size are trained at once, as a stack.

    h_v = dropout(relu(batchnorm(mean_{u in N(v)} x_u  W1n + x_v W1o)))
    y_v = mean_{u in N(v)} h_u  W2n + h_v W2o + b

(Hamilton et al. 2017, in the form of PyTorch Geometric's ``SAGEConv``. The first layer has no bias, as the batch norm
after it would remove it.) Features and their means over neighbours are constants, so the first layer is one product.
The second one takes means of c columns and not of h. Tests compare the training with PyTorch Geometric's in float64.

On a CPU with one thread the bytes of a network do not depend on the other networks of its stack.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ldpsim.curator.learning.loop import optimise
from ldpsim.curator.owner.teachers.graph import PlainGraph
from ldpsim.curator.setting_error import SettingError

EPS, MOMENTUM = 1e-5, 0.1  # of batch norm, PyTorch's defaults; MOMENTUM is the share of a new batch in the averages


@dataclass(frozen=True, kw_only=True)
class SageSettings:
    """Settings of a training; the defaults are the paper's.

    Raises:
        ValueError: for a setting outside its range.
    """

    hidden: int = 64
    lr: float = 0.01
    weight_decay: float = 0.0
    dropout: float = 0.5
    epochs: int = 500

    def __post_init__(self) -> None:
        if self.hidden < 1 or self.epochs < 1 or not self.lr > 0 or self.weight_decay < 0:
            raise ValueError("hidden and epochs must be 1 or more, lr above 0, weight_decay 0 or more")
        if not 0 <= self.dropout < 1:
            raise SettingError(f"gnn_dropout={self.dropout}", "must lie in [0, 1)")


class Sage(nn.Module):
    """A stack of networks.

    The start of each is PyTorch Geometric's.

    Args:
        d, h, c: Number of features, of hidden units and of classes.
        generators: Generator of each network's start.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, d: int, h: int, c: int, generators: Sequence[torch.Generator]) -> None:
        super().__init__()

        def uniform(inputs: int, *shape: int) -> nn.Parameter:
            bound = 1 / math.sqrt(max(1, inputs))
            return nn.Parameter(torch.stack([torch.empty(shape).uniform_(-bound, bound, generator=each)
                                             for each in generators]))  # fmt: skip

        count, self.c = len(generators), c
        self.first = uniform(d, 2 * d, h)  # W1n, W1o
        self.second = uniform(h, h, 2 * c)  # W2n beside W2o
        self.bias = uniform(h, 1, c)
        self.scale, self.shift = nn.Parameter(torch.ones(count, 1, h)), nn.Parameter(torch.zeros(count, 1, h))
        self.register_buffer("mean", torch.zeros(count, 1, h))
        self.register_buffer("variance", torch.ones(count, 1, h))

    def normed(self, summed: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
        """Return batch norm and ReLU of the first layer's sums."""
        return torch.relu((summed - mean) * (self.scale * torch.rsqrt(variance + EPS)) + self.shift)

    def hidden(self, inputs: Tensor) -> Tensor:
        """(networks, rows, h): the first layer as it is after training, of rows of means beside features."""
        return self.normed(inputs @ self.first, self.mean, self.variance)

    def scores(self, own: Tensor, near: Tensor) -> Tensor:
        """(networks, rows, c): the second layer, from hidden rows and the neighbours' mean hidden rows."""
        return own @ self.second[..., self.c :] + near @ self.second[..., : self.c] + self.bias


def rows_of(graph: PlainGraph) -> Tensor:
    """(n, 2 d): means over neighbours beside own features."""
    return torch.from_numpy(np.concatenate([graph.mean_features, graph.features], axis=1))


def train(
    graphs: Sequence[PlainGraph], seeds: Sequence[int], classes: int, settings: SageSettings, *,
    rows: int | None = None, device: torch.device | str = "cpu",
) -> Sage:  # fmt: skip
    """Train a network on each graph, full-batch with Adam on the labelled nodes' negative log-likelihood.

    The last epoch is kept.

    Args:
        graphs: Each with at least two nodes, one of them labelled (-1: no label).
        seeds: Seed of each network's start and dropout, which are drawn on the CPU: they are the same on every device.
        classes: Number of classes.
        settings: Settings of the training.
        rows: Smaller graphs are filled up to so many rows, which change nothing; None: all have one size.
        device: Device of the training; the networks are returned on the CPU.

    Raises:
        ValueError: for a graph of fewer than two nodes or without a label.
    """
    if any(len(graph) < 2 or not (graph.labels >= 0).any() for graph in graphs):
        raise ValueError("a network needs two nodes, one of them with a label")
    count, n, d = len(graphs), rows or len(graphs[0]), graphs[0].features.shape[1]
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    network = Sage(d, settings.hidden, classes, generators).to(device, torch.from_numpy(graphs[0].features[:0]).dtype)
    inputs = network.first.new_zeros(count, n, 2 * d)
    labels = torch.full((count, n), -1)
    for at, graph in enumerate(graphs):
        inputs[at, : len(graph)] = rows_of(graph)
        labels[at, : len(graph)] = torch.from_numpy(graph.labels)
    labels, links = labels.to(device), _links(graphs, n, inputs)
    degree = links.crow_indices().diff().clamp(min=1).view(count, n, 1)
    size = torch.tensor([len(graph) for graph in graphs], device=device)[:, None, None]
    there = (torch.arange(n, device=device)[:, None] < size).to(inputs)
    share = (labels >= 0).to(inputs)
    share /= share.sum(1, keepdim=True)
    keep = 1 - settings.dropout

    def gradients() -> None:
        summed = torch.bmm(inputs, network.first)
        mean = summed.sum(1, keepdim=True) / size
        variance = ((summed - mean).square() * there).sum(1, keepdim=True) / size
        with torch.no_grad():
            network.mean.lerp_(mean, MOMENTUM)
            network.variance.lerp_(variance * (size / (size - 1)), MOMENTUM)
        hidden = network.normed(summed, mean, variance)
        if settings.dropout:
            drawn = torch.stack([torch.rand(n, settings.hidden, generator=each) for each in generators]) < keep
            hidden = hidden * drawn.to(device) / keep
        both = torch.bmm(hidden, network.second)
        sums: Any = _Sums.apply(both[..., :classes].reshape(count * n, classes), links)  # type: ignore[no-untyped-call]
        scores = (sums.view(count, n, classes) / degree + both[..., classes:] + network.bias).transpose(1, 2)
        losses: Any = functional.cross_entropy(scores, labels, ignore_index=-1, reduction="none")
        (losses * share).sum().backward()

    optimise(network, gradients, steps=range(1, settings.epochs + 1), lr=settings.lr,
                  weight_decay=settings.weight_decay)  # fmt: skip
    return network.requires_grad_(False).cpu()


class _Sums(torch.autograd.Function):
    """Sums over neighbours; the matrix is symmetric, so the gradient is the same product."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, links: Tensor) -> Tensor:
        ctx.links = links
        return links @ rows

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.links @ gradient, None


def _links(graphs: Sequence[PlainGraph], n: int, like: Tensor) -> Tensor:
    """Sparse 0/1 (graphs x n, graphs x n): the neighbours of every node, one graph's block after another's."""
    starts, columns = [np.zeros(1, np.int64)], []
    for at, graph in enumerate(graphs):
        ends = np.concatenate([graph.indptr[1:], np.full(n - len(graph), graph.indptr[-1])])
        starts.append(starts[-1][-1] + ends)
        columns.append(graph.indices + at * n)
    rows, names = torch.from_numpy(np.concatenate(starts)), torch.from_numpy(np.concatenate(columns))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "sparse CSR is in beta"
        return torch.sparse_csr_tensor(rows, names, torch.ones(len(names)), size=(len(rows) - 1,) * 2).to(like)
