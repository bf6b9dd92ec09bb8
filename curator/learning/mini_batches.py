"""Mini-batch training of a perceptron without biases on constant rows (PrivGE's network).

    h_1 = relu(drop(x) W_1),   h_k = relu(drop(h_{k-1}) W_k) + h_{k-1},   scores = drop(h) W

with one sum with the layer before wherever the widths agree. An epoch is one pass over the training
nodes in random order. After it the validation accuracy is taken; the first best epoch is kept, and
training ends when ``patience`` epochs brought no better one. On a CPU the same seed gives the same bytes.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from ldpsim.curator import observer
from ldpsim.curator.learning.training import (
    NO_LABEL,
    Adam,
    ToldScores,
    TrainedNetwork,
    TrainingSettings,
    choose_device,
    labelled,
    share_of_hits,
)
from ldpsim.curator.linear.processor import threads_for
from ldpsim.curator.steps import track

if TYPE_CHECKING:
    from ldpsim.curator.graph import Graph

_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Batches:
    """Sizes of the network and of the training.

    Args:
        layers: Number of layers, at least 1.
        batch: Rows of a step.
        patience: Epochs without a better validation accuracy after which training ends.
    """

    layers: int
    batch: int
    patience: int


class PlainLayers(nn.Module):
    """Layers without biases; fresh weights are uniform in ± sqrt(6 / outputs) (Kaiming, by the outputs)."""

    def __init__(self, width: int, classes: int, settings: TrainingSettings, layers: int) -> None:
        super().__init__()
        widths = [width, *[settings.hidden] * (layers - 1), classes]
        self.dropout = settings.gnn_dropout
        self.weights = nn.ParameterList(
            nn.Parameter(torch.empty(first, second).uniform_(-1, 1) * math.sqrt(6 / second))
            for first, second in zip(widths, widths[1:], strict=False)
        )

    def forward(self, rows: Tensor) -> Tensor:
        """float32 (k, classes): the scores of rows, float32 (k, width)."""
        *hidden, last = self.weights
        for weight in hidden:
            below = rows
            rows = torch.relu(functional.dropout(below, self.dropout, self.training) @ weight)
            if rows.shape == below.shape:
                rows = rows + below
        return functional.dropout(rows, self.dropout, self.training) @ last

    @torch.no_grad()
    def scores(self, rows: Tensor) -> Tensor:
        """float32 (k, classes): the scores without dropout, a few rows at a time."""
        self.eval()
        return torch.cat([self(part) for part in torch.split(rows, _ROWS_AT_ONCE)])


def train_in_batches(
    graph: Graph, *, batches: Batches, settings: TrainingSettings, classes: int, seed: int, device: str = "auto"
) -> TrainedNetwork:
    """Train on the labels of the training nodes and return the weights of the first best epoch.

    Args:
        graph: Dense features, and the labels that may be used.
        batches: Sizes.
        settings: Hidden units, optimiser, dropout and the largest number of epochs.
        classes: Number of classes.
        seed: Seed of the weights, the order and dropout; torch's global state does not change.
        device: ``auto``, ``cpu`` or ``cuda``.

    Raises:
        ValueError: if no training node has a label.
    """
    if not len(graph.train):
        raise ValueError(NO_LABEL)
    where = choose_device(device)
    started = time.perf_counter()
    with threads_for(math.prod(graph.features.shape)), torch.random.fork_rng([where] if where.type == "cuda" else []):
        torch.manual_seed(seed)
        rows = torch.from_numpy(np.ascontiguousarray(graph.features)).to(where)
        train, train_labels = labelled(graph, graph.train, where)
        val, val_labels = labelled(graph, graph.val, where)
        val_rows = rows[val]
        model = PlainLayers(rows.shape[1], classes, settings, batches.layers).to(where)
        optimiser = Adam(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
        told = ToldScores(graph, where) if observer.is_watched() else None
        best_epoch, best = 0, math.nan
        state: dict[str, Tensor] = {}
        for epoch in track(range(1, settings.epochs + 1), settings.epochs):
            model.train()
            for chosen in torch.split(torch.randperm(len(train), device=where), batches.batch):
                functional.cross_entropy(model(rows[train[chosen]]), train_labels[chosen]).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
            accuracy = share_of_hits(model.scores(val_rows).argmax(dim=1), val_labels) if len(val) else math.nan
            if told is not None:
                told(model.scores(rows), epoch)
            if epoch == 1 or not len(val) or accuracy > best:
                best_epoch, best = epoch, accuracy
                state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
            elif epoch - best_epoch >= batches.patience:
                break
        model.load_state_dict(state)
        predictions = model.scores(rows).argmax(dim=1).cpu().numpy()
    return TrainedNetwork(model.cpu(), predictions, best_epoch, best, time.perf_counter() - started)
