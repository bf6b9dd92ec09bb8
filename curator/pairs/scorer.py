"""Link scorer: a perceptron on the product of two people's rows, as PrivGE has it (https://arxiv.org/abs/2310.11060).

    score of a pair = MLP(z_i * z_j),   loss = sum over a batch of (1 - (s+ - s-))^2,   s = sigmoid(score)

Every epoch shuffles the known edges and draws as many pairs beside them at random, none of which is
a known edge or a person with itself. The epoch with the largest AUC on validation pairs is kept;
the training ends after ``PATIENCE`` epochs without a better one. Rows are divided by one number
for all, the root of their mean square, so that the scale of a mechanism's noise does not decide
how fast the network learns. On a CPU the same seed gives the same bytes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from torch import Tensor, nn
from torch.nn import functional

from curator import observer
from curator.learning.adam import Adam
from curator.learning.training import TrainingSettings, choose_device
from curator.linear.threads import threads_for
from curator.pairs.ranking import auc
from curator.steps import track
from devices.array_types import DoubleArray, IntArray

# Differences from TrainingSettings' defaults: the settings of PrivGE's link task on Cora, but for the weight decay.
LINK_TRAINING: Mapping[str, Any] = {"gnn": "mlp", "hidden": 64, "gnn_dropout": 0.3, "weight_decay": 5e-4, "epochs": 500}
PATIENCE = 50
BATCH = 128
MOST_EDGES = 5_000  # of one epoch: a noisy graph may have a million
_AT_ONCE = 8192
_MOST_OF_ALL = 0.9  # share of all pairs: beyond it, hardly a pair is left that is no edge


@dataclass(frozen=True, eq=False)
class TrainedLinks:
    """Result of a training.

    Args:
        model: Network with the weights of ``best_epoch``, on the CPU.
        predictions: float64 (m,): score of each pair that was asked for.
        best_epoch: From 1; 0 if nothing could be learned.
        val_auc: AUC of the validation pairs at that epoch.
        seconds: Wall time.
    """

    model: nn.Module | None = field(repr=False)
    predictions: DoubleArray = field(repr=False)
    best_epoch: int
    val_auc: float
    seconds: float


def train_links(
    rows: Any, edges: IntArray, pairs: IntArray, val: int, *, settings: TrainingSettings, seed: int, device: str
) -> TrainedLinks:
    """Learn to tell edges from other pairs, and score pairs.

    Args:
        rows: (n, d), numpy, CSR or factored: z of each person.
        edges: int64 (2, E): the edges to learn from, each once.
        pairs: int64 (2, m): pairs to score, the validation pairs first.
        val: Number of validation pairs: a half of edges, then a half without.
        settings: ``hidden``, ``lr``, ``weight_decay``, ``gnn_dropout`` and ``epochs``.
        seed: Seed of the weights, of dropout and of the pairs that are drawn.
        device: ``auto``, ``cpu`` or ``cuda``.
    """
    started, where = time.perf_counter(), choose_device(device)
    n = rows.shape[0]
    if not edges.shape[1] or not rows.shape[1] or edges.shape[1] > _MOST_OF_ALL * n * (n - 1) / 2:
        return TrainedLinks(None, np.zeros(pairs.shape[1]), 0, 0.5, time.perf_counter() - started)
    rng = np.random.default_rng([seed, *b"pairs"])
    cuda = [where] if where.type == "cuda" else []
    with threads_for(n * rows.shape[1]), torch.random.fork_rng(devices=cuda):
        torch.manual_seed(seed)
        z = _unit(rows).to(where)
        model = LinkScorer(z.shape[1], settings.hidden, settings.gnn_dropout).to(where)
        adam = Adam(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
        best, best_epoch, state = -1.0, 0, model.state_dict()
        for epoch in track(range(1, settings.epochs + 1), settings.epochs):
            model.train()
            for edge, other in _batches(edges, z.shape[0], rng):
                above, below = torch.sigmoid(model(z, np.concatenate([edge, other], axis=1))).chunk(2)
                ((1 - (above - below)) ** 2).sum().backward()  # type: ignore[no-untyped-call]
                adam.step()
            found = auc(model.scores(z, pairs[:, :val]))
            observer.log_metric("val_auc", found, epoch)
            if found > best:
                best, best_epoch = found, epoch
                state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
            elif epoch - best_epoch >= PATIENCE:
                break
        model.load_state_dict(state)
        scores = model.scores(z, pairs)
    return TrainedLinks(model.cpu(), scores, best_epoch, best, time.perf_counter() - started)


class LinkScorer(nn.Module):
    """Two layers with biases, ReLU and dropout on the product of two rows.

    Args:
        width: Length of a row.
        hidden: Hidden units.
        dropout: Share of hidden values that is dropped while it learns.
    """

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.first, self.second, self.dropout = nn.Linear(width, hidden), nn.Linear(hidden, 1), dropout

    def forward(self, z: Tensor, pairs: IntArray) -> Tensor:
        """float32 (m,): scores of the pairs, before the sigmoid."""
        left, right = (z.index_select(0, torch.from_numpy(end).to(z.device)) for end in pairs)
        hidden = functional.dropout(torch.relu(self.first(left * right)), self.dropout, training=self.training)
        found: Tensor = self.second(hidden).squeeze(1)
        return found

    @torch.no_grad()
    def scores(self, z: Tensor, pairs: IntArray) -> DoubleArray:
        """float64 (m,): scores of the pairs without dropout."""
        self.eval()
        parts = [self(z, pairs[:, at : at + _AT_ONCE]) for at in range(0, pairs.shape[1], _AT_ONCE)]
        return np.asarray(torch.cat(parts).double().cpu().numpy(), np.float64)


def _unit(rows: Any) -> Tensor:
    """float32 (n, d): the rows over the root of their mean square."""
    dense = np.asarray(rows.toarray() if issparse(rows) else rows, np.float32)
    size = float(np.sqrt(np.mean(np.square(dense), dtype=np.float64)))
    return torch.from_numpy(dense / np.float32(size or 1.0))


def _batches(edges: IntArray, n: int, rng: np.random.Generator) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield known edges in random order, each batch beside as many pairs that are no known edge."""
    order = rng.permutation(edges.shape[1])[:MOST_EDGES]
    known = np.sort(np.minimum(*edges) * n + np.maximum(*edges))
    for start in range(0, len(order), BATCH):
        batch = np.ascontiguousarray(edges[:, order[start : start + BATCH]])
        yield batch, _no_known_edges(known, n, batch.shape[1], rng)


def _no_known_edges(known: IntArray, n: int, count: int, rng: np.random.Generator) -> IntArray:
    """int64 (2, count): pairs of two people, drawn at random, none of them a known edge."""
    found = np.zeros((2, 0), np.int64)
    while found.shape[1] < count:
        drawn = rng.integers(n, size=(2, 2 * count))
        keys = np.minimum(*drawn) * n + np.maximum(*drawn)
        near = known[np.minimum(np.searchsorted(known, keys), len(known) - 1)]
        found = np.concatenate([found, drawn[:, (drawn[0] != drawn[1]) & (near != keys)]], axis=1)
    return np.ascontiguousarray(found[:, :count])
