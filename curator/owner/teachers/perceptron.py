"""Teachers of PATE-M: a perceptron of three layers on features alone.

It is small, so autograd costs little. Weights and dropout come from a generator of its own.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ldpsim.curator.learning.training import Adam
from ldpsim.curator.owner.teachers.sage import SageSettings
from ldpsim.devices.array_types import IntArray


def train_perceptron(
    features: NDArray[np.float32], labels: IntArray, classes: int, settings: SageSettings, seed: int
) -> list[Tensor]:
    """Train a d-h-h-c perceptron (ReLU, dropout) with Adam on the nodes that have a label.

    Returns:
        Weight, bias of each layer, for :func:`perceptron_scores`.

    Raises:
        ValueError: where nobody has a label.
    """
    nodes = np.flatnonzero(labels >= 0)
    if not len(nodes):
        raise ValueError("a perceptron needs a person with a label")
    inputs = torch.from_numpy(np.ascontiguousarray(features[nodes]))
    target = torch.from_numpy(labels[nodes])
    generator = torch.Generator().manual_seed(seed)
    sizes = [features.shape[1], settings.hidden, settings.hidden, classes]
    weights: list[Tensor] = []
    for rows, columns in zip(sizes, sizes[1:], strict=False):
        bound = 1 / math.sqrt(max(1, rows))
        for shape in ((rows, columns), (columns,)):
            weights.append(torch.empty(shape).uniform_(-bound, bound, generator=generator).requires_grad_())
    optimiser = Adam(weights, lr=settings.lr, weight_decay=settings.weight_decay)
    for _ in range(settings.epochs):
        scores = _forward(inputs, weights, settings.dropout, generator)
        functional.cross_entropy(scores, target).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return [weight.detach() for weight in weights]


def perceptron_scores(weights: list[Tensor], features: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return (n, classes) scores without dropout."""
    return _forward(torch.from_numpy(np.ascontiguousarray(features)), weights, 0.0, None).double().numpy()


def _forward(inputs: Tensor, weights: list[Tensor], dropout: float, generator: torch.Generator | None) -> Tensor:
    hidden = inputs
    for at in range(0, len(weights), 2):
        hidden = hidden @ weights[at] + weights[at + 1]
        if at + 2 < len(weights):
            hidden = torch.relu(hidden)
            if dropout:
                hidden = hidden * (torch.rand(hidden.shape, generator=generator) >= dropout) / (1 - dropout)
    return hidden
