"""Pool of the components of a vote, fitted on the labels that the curator has, as a trained network."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Protocol

import numpy as np
import torch
from torch import nn

from ldpsim.curator.graph import Graph
from ldpsim.curator.learning.training import NO_LABEL, TrainedNetwork
from ldpsim.devices.array_types import DoubleArray, IntArray


class FittedPool(nn.Module):
    """Exponents of the pool, as plain tensors."""

    def __init__(self, exponents: dict[str, float]) -> None:
        super().__init__()
        for name, value in exponents.items():
            self.register_buffer(name, torch.tensor(value, dtype=torch.float64))


class Known(Protocol):
    """Knowledge of a curator who has votes."""

    def posterior(self, nodes: IntArray) -> tuple[DoubleArray, Mapping[str, float]]:
        """Return ln P, float64 (n, classes), and the exponents, fitted on the labels of ``nodes``."""


def fitted(graph: Graph, known: Known) -> TrainedNetwork:
    """Fit the exponents on validation and training labels and predict everybody's class.

    Args:
        graph: People with a label, and their labels.
        known: What the votes tell.

    Raises:
        ValueError: without a training label.
    """
    started = time.perf_counter()
    if not len(graph.train):
        raise ValueError(NO_LABEL)
    log_p, exponents = known.posterior(np.sort(np.concatenate([graph.train, graph.val])))
    predictions = log_p.argmax(axis=1).astype(np.int64)
    right = predictions[graph.val] == graph.labels[graph.val]
    return TrainedNetwork(
        FittedPool(dict(exponents)), predictions, 1, float(right.mean()) if len(right) else float("nan"),
        time.perf_counter() - started,
    )  # fmt: skip
