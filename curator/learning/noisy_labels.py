"""Learning from reported labels: LPGNN's forward correction, "Drop", and its choice of an epoch.

Let Y' be the classes that the reports name (:mod:`ldpsim.curator.reports.labels`): one-hot under GRR, 0 without a
report. T has p on the diagonal and q elsewhere, the means of Y'. S = D^-1/2 A D^-1/2 without self-loops. The network
gives P(y | x'). Then

    E[Y' | x'] = P(y | x') T                                  forward correction
    y~ = argmax softmax(S^K Y')
    P(y~ | x') = softmax(S^K E[Y' | x'])
    loss = cross entropy of P(y~ | x') against y~, over the training nodes.

With K = 0 there is no smoothing: the loss is -ln of the report's probability, sum_y P(y | x') P(report | y). Under
GRR this is the cross-entropy of E[Y' | x'] against the reported label.

The choice of an epoch uses reports only. The first epoch is the first best one. A later epoch is better if the
validation loss, that of K = 0, is smaller and both shares of *reports* that name the predicted class are larger: on
the validation nodes, but at most p, and in the training pass, but at most 1.05 p. A perfect classifier reaches p; a
network above that repeats the noise.
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

from ldpsim.curator.learning.networks import Network
from ldpsim.curator.learning.own_network import make_network
from ldpsim.curator.learning.training import NO_LABEL, TrainedNetwork, TrainingSettings, choose_device, fit
from ldpsim.curator.linear.torch_matrix import Constant
from ldpsim.curator.reports.labels import ObservedLabels

if TYPE_CHECKING:
    from collections.abc import Callable

    from ldpsim.curator.graph import Graph


MORE_IN_TRAINING = 1.05
_TINY = 1e-20


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """Noise of the reported labels, and its removal.

    Args:
        labels: Knowledge of them; p and q are its ``truth`` and ``lie``.
        matrix: S, float32 CSR (n, n).
        hops: K.
        by_loss: Choose the epoch of the smallest validation loss instead (labels in clear).
    """

    labels: ObservedLabels
    matrix: csr_array
    hops: int
    by_loss: bool = False


def denoised(labels: ObservedLabels, matrix: csr_array, hops: int) -> NDArray[np.int64]:
    """int64 (n,): argmax of S^hops Y', -1 where no report reaches; the labels themselves for no hops."""
    if hops == 0:
        return labels.labels.copy()
    spread = labels.everybody().astype(np.float32)
    for _ in range(hops):
        spread = matrix @ spread
    return np.where(spread.any(axis=1), spread.argmax(axis=1), -1).astype(np.int64)


def selu_network(graph: Graph, settings: TrainingSettings, classes: int, device: torch.device) -> Network:
    """Return the network of the settings with SELU, for features that are dense or a product (LPGNN, UPGNet)."""
    sizes = settings.sizes | {"activation": torch.selu}
    return make_network(settings.gnn, graph, classes=classes, device=device, late=True, **sizes)


def train_denoised(
    make: Callable[[torch.device], Network], graph: Graph, *, noise: LabelNoise, settings: TrainingSettings,
    classes: int, seed: int, device: str = "auto",
) -> TrainedNetwork:  # fmt: skip
    """Train a network with the loss above and return the weights of the chosen epoch.

    Args:
        make: Makes the network with fresh weights.
        graph: Features, edges, training and validation nodes.
        noise: Noise of the labels.
        settings: Optimiser and epochs.
        classes: Number of classes.
        seed: Seed of the initial weights and of dropout; torch's global state does not change.
        device: ``auto``, ``cpu`` or ``cuda``.

    Raises:
        ValueError: if no training node has a label, or if no label reaches one.
    """
    where = choose_device(device)
    drop = Drop(graph, noise, where)
    return fit(lambda: make(where), graph, drop.loss, drop.better, reads=None if noise.hops else graph.train,
               settings=settings, seed=seed, device=where)  # fmt: skip


class Drop:
    """Loss of LPGNN's "Drop" and its choice of an epoch.

    Args:
        graph: Training and validation nodes.
        noise: Noise of the labels.
        device: Device of the scores.

    Raises:
        ValueError: if no training node has a label, or if no label reaches one.
    """

    def __init__(self, graph: Graph, noise: LabelNoise, device: torch.device) -> None:
        self.noise, self.labels = noise, noise.labels
        self.spread = Constant(noise.matrix, device) if noise.hops else None
        target = denoised(noise.labels, noise.matrix, noise.hops)
        learn = graph.train[target[graph.train] >= 0]
        if not len(learn):
            if noise.hops and len(noise.labels.with_label(graph.train)):
                raise ValueError(f"no label reaches a training node over {noise.hops} hops without self-loops: nothing "
                                 "can be learned (0 hops take every node's own label)")  # fmt: skip
            raise ValueError(NO_LABEL)
        self.learn, self.target = (torch.from_numpy(array).to(device) for array in (learn, target[learn]))
        self.last = self.spread.rows(self.learn) if self.spread is not None else None
        self.train, self.val = (_Reports(noise.labels, nodes, device) for nodes in (graph.train, graph.val))
        self.in_training = -1.0  # share of the last training pass
        self.best = math.inf, -1.0, -1.0  # validation loss, and the shares of reports that name the prediction

    def loss(self, scores: Tensor) -> Tensor:
        """Cross-entropy of P(y~ | x') against y~; notes the pass's share of reports that name the prediction.

        Args:
            scores: float32 (n, classes) of all nodes; those of the training nodes for no hops.
        """
        if self.spread is None:
            self.in_training = self.train.share_named(scores)
            return self.train.loss(scores)
        self.in_training = self.train.share_named(scores.detach()[self.train.nodes])
        spread = self.labels.lie + (self.labels.truth - self.labels.lie) * torch.softmax(scores, dim=1)
        for _ in range(self.noise.hops - 1):
            spread = self.spread @ spread
        # only nodes to learn from are read after the last hop
        spread = (self.spread @ spread)[self.learn] if self.last is None else self.last @ spread
        return functional.nll_loss(torch.log_softmax(spread, dim=1), self.target)

    def better(self, scores: Tensor, accuracy: float, in_training: float) -> bool:
        """Return whether this epoch, of these scores of the validation nodes, is the best so far by the rule above."""
        (least, val, train), truth = self.best, self.labels.truth
        new = float(self.val.loss(scores)), self.val.share_named(scores), self.in_training
        better = new[0] < least
        if least < math.inf and not self.noise.by_loss:
            better = better and val < new[1] <= truth and train < new[2] <= MORE_IN_TRAINING * truth
        self.best = new if better else self.best
        return better


class _Reports:
    """Reports of some people with a label, as tensors."""

    def __init__(self, labels: ObservedLabels, nodes: NDArray[np.int64], device: torch.device) -> None:
        likelihood = labels.probabilities(nodes)
        least, most = likelihood.min(axis=1, keepdims=True), likelihood.max(axis=1, keepdims=True)
        weights = (likelihood - least) / np.where(most > least, most - least, 1)
        self.nodes = torch.from_numpy(nodes).to(device)
        self.least, self.span, self.weights, self.support = (torch.from_numpy(array).float().to(device) for array in
            (least, most - least, weights, labels.support(nodes)))  # fmt: skip

    def loss(self, scores: Tensor) -> Tensor:
        """Mean of -ln sum_y P(y | x') P(report | y), the probabilities of a report scaled to the sum 1.

        Args:
            scores: float32 (k, classes) of these people.
        """
        agreed = (torch.softmax(scores, dim=1) * self.weights).sum(dim=1, keepdim=True)
        return -torch.log(self.least + self.span * agreed + _TINY).mean()

    def share_named(self, scores: Tensor) -> float:
        """Return the share of the reports that name the predicted class; 0 for none."""
        predicted = scores.argmax(dim=1, keepdim=True)
        return float(self.support.gather(1, predicted).double().sum()) / max(1, len(self.nodes))
