"""Learning from labels under GRR: LPGNN's forward correction, "Drop", and its choice of an epoch.

Let y' be a reported label, T its transition matrix (p on the diagonal, q elsewhere), and
S = D^-1/2 A D^-1/2 without self-loops. The network gives P(y | x'). Then

    P(y' | x') = P(y | x') T                                  forward correction
    y~ = argmax softmax(S^K Y'),  Y' one-hot, 0 without a report
    P(y~ | x') = softmax(S^K P(y' | x'))
    loss = cross entropy of P(y~ | x') against y~, over the training nodes.

With K = 0 nothing is softened and the loss is that of P(y' | x') against y'.

No clean label is looked at. The first epoch is the first best one; a later one is better if
the validation loss of P(y' | x') is smaller, and its accuracies on *reported* labels, in
validation and in the training pass, are larger but not above what a perfect classifier
could reach, p and 1.05 p: beyond them a network repeats the noise.
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

from curator.learning.networks import Network
from curator.learning.threads import threads_for
from curator.learning.training import Adam, Trained, TrainingSettings, choose_device
from curator.linear.torch_matrix import Constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from curator.graph import Graph

MORE_IN_TRAINING = 1.05
_TINY = 1e-20


@dataclass(frozen=True, eq=False)
class Noise:
    """How the labels came about and how they are denoised.

    Args:
        truth: p, the probability that a label was reported as it is; 1 in clear.
        matrix: S, float32 CSR (n, n).
        hops: K.
        by_loss: Choose the epoch of the smallest validation loss instead (labels in clear).
    """

    truth: float
    matrix: csr_array
    hops: int
    by_loss: bool = False


@dataclass(frozen=True)
class Epoch:
    """What an epoch is chosen by: validation loss, and accuracies on reported labels."""

    loss: float = math.inf
    val: float = -1.0
    train: float = -1.0

    def beaten_by(self, new: Epoch, truth: float, by_loss: bool) -> bool:
        """Whether the new epoch is better by the rule above."""
        if self.loss == math.inf or by_loss:
            return new.loss < self.loss
        return (
            new.loss < self.loss and self.val < new.val <= truth and self.train < new.train <= MORE_IN_TRAINING * truth
        )


def denoised(labels: NDArray[np.int64], matrix: csr_array, hops: int, classes: int) -> NDArray[np.int64]:
    """int64 (n,): argmax of S^hops Y', -1 where no label reaches; the reports themselves for no hops."""
    if hops == 0:
        return labels.copy()
    spread = np.zeros((len(labels), classes), np.float32)
    known = np.flatnonzero(labels >= 0)
    spread[known, labels[known]] = 1
    for _ in range(hops):
        spread = matrix @ spread
    return np.where(spread.any(axis=1), spread.argmax(axis=1), -1).astype(np.int64)


def train_denoised(
    make: Callable[[torch.device], Network],
    graph: Graph,
    *,
    noise: Noise,
    settings: TrainingSettings,
    classes: int,
    seed: int,
    device: str = "auto",
) -> Trained:
    """Train a network with the loss above and return the weights of the chosen epoch.

    Args:
        make: Makes the network with fresh weights.
        graph: Features, edges, reported labels, and who trains and validates.
        noise: How the labels came about.
        settings: Optimiser and epochs.
        classes: Number of classes.
        seed: Seed of the initial weights and of dropout; torch's global state is left alone.
        device: ``auto``, ``cpu`` or ``cuda``.

    Raises:
        ValueError: where no training node has a label, or none that a label reaches.
    """
    target = denoised(graph.labels, noise.matrix, noise.hops, classes)
    learn = graph.train[target[graph.train] >= 0]
    if not len(learn):
        if noise.hops and np.any(graph.labels[graph.train] >= 0):
            raise ValueError(f"no label reaches a training node over {noise.hops} hops without self-loops: nothing can "
                             "be learned (--set k_y=0 takes every node's own)")  # fmt: skip
        raise ValueError("no training node has a label: nothing can be learned")
    started = time.perf_counter()
    where = choose_device(device)
    rows, columns = graph.features.shape
    with threads_for(rows * columns), torch.random.fork_rng(devices=[where] if where.type == "cuda" else []):
        torch.manual_seed(seed)
        model = make(where)
        loop = _Loop(model, graph, noise, settings, classes, where, learn, target)
        found = loop.run()
    return Trained(model.cpu(), *found, time.perf_counter() - started)


class _Loop:
    def __init__(
        self, model: Network, graph: Graph, noise: Noise, settings: TrainingSettings, classes: int,
        device: torch.device, learn: NDArray[np.int64], target: NDArray[np.int64],
    ) -> None:  # fmt: skip
        self.model, self.settings, self.hops, self.by_loss = model, settings, noise.hops, noise.by_loss
        self.truth = noise.truth
        self.other = (1 - noise.truth) / max(1, classes - 1)
        self.spread = Constant(noise.matrix, device) if noise.hops else None
        self.learn, self.target = _pair(learn, target[learn], device)
        self.train, self.train_labels = _pair(graph.train, graph.labels[graph.train], device)
        self.val, self.val_labels = _pair(graph.val, graph.labels[graph.val], device)

    def run(self) -> tuple[NDArray[np.int64], int, float]:
        model, settings = self.model, self.settings
        optimiser = Adam(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
        best, best_epoch, state, in_training = Epoch(), 0, {}, -1.0
        predictions = torch.empty(0, dtype=torch.int64)
        # The pass that begins step k + 1 also scores the weights after step k.
        for epoch in range(settings.epochs + 1):
            with torch.set_grad_enabled(epoch < settings.epochs):
                first = model.first()
            if epoch > 0:
                new, classes = self._score(first.detach(), in_training)
                if not len(self.val) or best.beaten_by(new, self.truth, self.by_loss):
                    best, best_epoch, predictions = new, epoch, classes
                    state = {name: value.detach().clone() for name, value in model.state_dict().items()}
            if epoch < settings.epochs:
                scores = model.output(functional.dropout(model.trained(first), settings.gnn_dropout))
                in_training = _accuracy(scores[self.train].argmax(dim=1), self.train_labels)
                self._loss(scores).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        model.load_state_dict(state)
        return predictions.cpu().numpy(), best_epoch, best.val if len(self.val) else math.nan

    def _reported(self, scores: Tensor) -> Tensor:
        """P(y' | x') = P(y | x') T."""
        return self.other + (self.truth - self.other) * torch.softmax(scores, dim=1)

    def _loss(self, scores: Tensor) -> Tensor:
        if self.spread is None:
            log = torch.log(self._reported(scores[self.learn]) + _TINY)
        else:
            spread = self._reported(scores)
            for _ in range(self.hops):
                spread = self.spread @ spread
            log = torch.log_softmax(spread[self.learn], dim=1)
        return functional.nll_loss(log, self.target)

    @torch.no_grad()
    def _score(self, first: Tensor, in_training: float) -> tuple[Epoch, Tensor]:
        scores = self.model.output(self.model.scored(first))
        classes = scores.argmax(dim=1)
        if not len(self.val):
            return Epoch(train=in_training), classes
        log = torch.log(self._reported(scores[self.val]) + _TINY)
        loss = float(functional.nll_loss(log, self.val_labels))
        return Epoch(loss, _accuracy(classes[self.val], self.val_labels), in_training), classes


def _pair(nodes: NDArray[np.int64], labels: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(nodes).to(device), torch.from_numpy(labels).to(device)


def _accuracy(guess: Tensor, labels: Tensor) -> float:
    return int((guess == labels).sum()) / max(1, len(labels))
