"""Teachers of PATE-M: perceptrons of three layers on features alone, with ReLU and dropout."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ldpsim.curator.learning.loop import optimise
from ldpsim.curator.learning.perceptron import Perceptron
from ldpsim.curator.linear.dropout import Dropout
from ldpsim.curator.owner.teachers.sage import SageSettings
from ldpsim.devices.array_types import IntArray


def train_perceptron(
    features: NDArray[np.float32], labels: IntArray, classes: int, settings: SageSettings, seed: int
) -> Perceptron:
    """Train a d-h-h-c perceptron on the nodes that have a label, full-batch; the last epoch is kept.

    Args:
        features: float32 (n, d).
        labels: int64 (n,), -1 for none.
        classes: Number of classes.
        settings: Settings of the training.
        seed: Seed of weights and dropout, which have a generator of their own.

    Raises:
        ValueError: where nobody has a label.
    """
    nodes = np.flatnonzero(labels >= 0)
    if not len(nodes):
        raise ValueError("a perceptron needs a person with a label")
    inputs, target = _rows(features[nodes]), torch.from_numpy(labels[nodes])
    generator = torch.Generator().manual_seed(seed)
    network = Perceptron([features.shape[1], settings.hidden, settings.hidden, classes],
                         drop=Dropout(settings.dropout, generator), generator=generator)  # fmt: skip

    def gradients() -> None:
        functional.cross_entropy(network(inputs), target).backward()  # type: ignore[no-untyped-call]

    optimise(network, gradients, steps=range(1, settings.epochs + 1), lr=settings.lr,
                  weight_decay=settings.weight_decay)  # fmt: skip
    return network


@torch.no_grad()
def perceptron_scores(network: Perceptron, features: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return (n, classes) scores without dropout."""
    scores: NDArray[np.float64] = network(_rows(features)).double().numpy()
    return scores


def _rows(features: NDArray[np.float32]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(features))
