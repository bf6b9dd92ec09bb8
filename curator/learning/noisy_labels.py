"""Learning from labels under GRR: LPGNN's forward correction, "Drop", and its choice of an epoch.

Let y' be a reported label, T its transition matrix (p on the diagonal, q elsewhere), and
S = D^-1/2 A D^-1/2 without self-loops. The network gives P(y | x'). Then

    P(y' | x') = P(y | x') T                                  forward correction
    y~ = argmax softmax(S^K Y'),  Y' one-hot, 0 without a report
    P(y~ | x') = softmax(S^K P(y' | x'))
    loss = cross entropy of P(y~ | x') against y~, over the training nodes.

With K = 0 there is no smoothing: the loss is the cross-entropy of P(y' | x') against y'.

The choice of an epoch uses reported labels only. The first epoch is the first best one. A later
epoch is better if the validation loss of P(y' | x') is smaller and both accuracies on *reported*
labels are larger: on the validation nodes, but at most p, and in the training pass, but at
most 1.05 p. A perfect classifier reaches p; a network above that repeats the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional

from curator.learning.networks import Network
from curator.learning.training import (
    NO_LABEL,
    TrainedNetwork,
    TrainingSettings,
    choose_device,
    fit,
    labelled,
    share_of_hits,
)
from curator.linear.torch_matrix import Constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from curator.graph import Graph

MORE_IN_TRAINING = 1.05
_TINY = 1e-20


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """Noise of the reported labels, and its removal.

    Args:
        truth: p, the probability that a device reports its true label; 1 for labels in clear.
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
    """Validation loss and accuracies on reported labels, by which an epoch is chosen."""

    loss: float = math.inf
    val: float = -1.0
    train: float = -1.0

    def beaten_by(self, new: Epoch, truth: float, by_loss: bool) -> bool:
        """Return whether the new epoch is better by the rule above."""
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
    noise: LabelNoise,
    settings: TrainingSettings,
    classes: int,
    seed: int,
    device: str = "auto",
) -> TrainedNetwork:
    """Train a network with the loss above and return the weights of the chosen epoch.

    Args:
        make: Makes the network with fresh weights.
        graph: Features, edges, reported labels, training and validation nodes.
        noise: Noise of the labels.
        settings: Optimiser and epochs.
        classes: Number of classes.
        seed: Seed of the initial weights and of dropout; torch's global state does not change.
        device: ``auto``, ``cpu`` or ``cuda``.

    Raises:
        ValueError: if no training node has a label, or if no label reaches one.
    """
    where = choose_device(device)
    drop = Drop(graph, noise, classes, where)
    if not len(drop.learn):
        if noise.hops and np.any(graph.labels[graph.train] >= 0):
            raise ValueError(f"no label reaches a training node over {noise.hops} hops without self-loops: nothing can "
                             "be learned (--set k_y=0 takes every node's own)")  # fmt: skip
        raise ValueError(NO_LABEL)
    return fit(lambda: make(where), graph, drop.loss, drop.better, settings=settings, seed=seed, device=where)


class Drop:
    """Loss of LPGNN's "Drop" and its choice of an epoch.

    Args:
        graph: Reported labels, training and validation nodes.
        noise: Noise of the labels.
        classes: Number of classes.
        device: Device of the scores.
    """

    def __init__(self, graph: Graph, noise: LabelNoise, classes: int, device: torch.device) -> None:
        self.noise = noise
        self.other = (1 - noise.truth) / max(1, classes - 1)
        self.spread = Constant(noise.matrix, device) if noise.hops else None
        target = denoised(graph.labels, noise.matrix, noise.hops, classes)
        learn = graph.train[target[graph.train] >= 0]
        self.learn, self.target = (torch.from_numpy(array).to(device) for array in (learn, target[learn]))
        self.train, self.train_labels = labelled(graph, graph.train, device)
        self.val, self.val_labels = labelled(graph, graph.val, device)
        self.in_training, self.best = -1.0, Epoch()

    def loss(self, scores: Tensor) -> Tensor:
        """Cross-entropy of P(y~ | x') against y~; notes the pass's accuracy on reported labels."""
        self.in_training = share_of_hits(scores[self.train].argmax(dim=1), self.train_labels)
        if self.spread is None:
            log = torch.log(self._reported(scores[self.learn]) + _TINY)
        else:
            spread = self._reported(scores)
            for _ in range(self.noise.hops):
                spread = self.spread @ spread
            log = torch.log_softmax(spread[self.learn], dim=1)
        return functional.nll_loss(log, self.target)

    def better(self, scores: Tensor, accuracy: float) -> bool:
        """Return whether this epoch is the best so far by the rule above."""
        log = torch.log(self._reported(scores[self.val]) + _TINY)
        new = Epoch(float(functional.nll_loss(log, self.val_labels)), accuracy, self.in_training)
        better = self.best.beaten_by(new, self.noise.truth, self.noise.by_loss)
        self.best = new if better else self.best
        return better

    def _reported(self, scores: Tensor) -> Tensor:
        """P(y' | x') = P(y | x') T."""
        return self.other + (self.noise.truth - self.other) * torch.softmax(scores, dim=1)
