"""Loss and accuracy of an epoch's scores, and the choice of the best epoch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ldpsim.curator import observer

if TYPE_CHECKING:
    from ldpsim.curator.graph import Graph

LossFunction = Callable[[Tensor], Tensor]  # scores, float32 (k, classes), of a training pass -> what is minimised
# validation nodes' scores without dropout, validation accuracy -> is this the best epoch so far?
Better = Callable[[Tensor, float], bool]


class ToldScores:
    """Accuracy and mean cross-entropy of the nodes with a label, for the observer; one pass for all nodes."""

    def __init__(self, graph: Graph, device: torch.device) -> None:
        parts = {name: nodes for name, nodes in (("train", graph.train), ("val", graph.val)) if len(nodes)}
        self.names = [f"{name}_{figure}" for name in parts for figure in ("accuracy", "loss")]
        self.sizes = [len(nodes) for nodes in parts.values()]
        self.nodes, self.labels = labelled(graph, np.concatenate(list(parts.values())), device)

    def __call__(self, scores: Tensor, epoch: int) -> None:
        """Tell the figures of scores without dropout, float32 (n, classes)."""
        found = scores.index_select(0, self.nodes)
        hits = (found.argmax(dim=1) == self.labels).double()
        losses = functional.cross_entropy(found, self.labels, reduction="none").double()
        both = zip(torch.split(hits, self.sizes), torch.split(losses, self.sizes), strict=True)
        figures = torch.stack([part.mean() for pair in both for part in pair]).tolist()  # one wait for a GPU
        for name, value in zip(self.names, figures, strict=True):
            observer.log_metric(name, value, epoch)


class BestEpoch:
    """Choice of the epoch with the largest validation accuracy, or the smallest validation cross-entropy.

    Args:
        graph: Its validation nodes and their labels are used.
        device: Device of the scores.
        selection: ``accuracy`` or ``loss``.
    """

    def __init__(self, graph: Graph, device: torch.device, selection: str = "accuracy") -> None:
        self.labels = labelled(graph, graph.val, device)[1]
        self.by_loss = selection == "loss"
        self.best = -math.inf

    def __call__(self, scores: Tensor, accuracy: float) -> bool:
        """Return whether this epoch, of these scores of the validation nodes, is better than all before.

        A loss of nan is the worst.
        """
        value = -float(functional.cross_entropy(scores, self.labels)) if self.by_loss else accuracy
        better = value > self.best
        self.best = value if better else self.best
        return better


def cross_entropy(graph: Graph, device: torch.device) -> LossFunction:
    """Return the mean cross-entropy of the training nodes, as a function of their scores."""
    labels = labelled(graph, graph.train, device)[1]
    return lambda scores: functional.cross_entropy(scores, labels)


def labelled(graph: Graph, nodes: NDArray[np.int64], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return nodes and their labels as int64 tensors on a device."""
    return torch.from_numpy(nodes).to(device), torch.from_numpy(graph.labels[nodes]).to(device)


def share_of_hits(classes: Tensor, labels: Tensor) -> float:
    """Return the share of equal entries; 0 for none."""
    return int((classes == labels).sum()) / max(1, len(labels))
