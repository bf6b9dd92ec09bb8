"""Perceptron on features alone: a null model, and a component of the posterior from features."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ldpsim.curator.graph import Graph
from ldpsim.curator.linear.factored import Factored
from ldpsim.curator.linear.scaling import is_text, scale_public, weighted_rows
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.devices.array_types import DoubleArray, IntArray


def fit_perceptron(
    features: Any, labels: ObservedLabels, train: IntArray, val: IntArray, *, seed: int, device: str = "cpu",
    patience: float = math.inf,
) -> DoubleArray:  # fmt: skip
    """float64 (n, classes): log-probabilities. A row of ``train`` comes from a model that was trained on that person.

    Labels of ``val`` choose the epoch, by their loss. The epoch with the most hits on validation labels would have an
    unfair lead over other models on them.

    Args:
        features: (n, d), numpy, CSR or packed bits.
        labels: Labels, public or reported; only those of ``train`` and ``val`` are read.
        train: People to learn from, all with a label.
        val: Others, all with a label.
        seed: Seed of the weights and of dropout.
        device: ``auto``, ``cpu`` or ``cuda``.
        patience: Epochs without a better one after which training ends.
    """
    from ldpsim.curator.learning import training  # torch is only needed from here on

    # Rows of text have a sum of 1, as in the reference `mlp`.
    if isinstance(features, Factored):
        rows = features.standardised()[0].unit_rows()
    else:
        rows = scale_public(features, "row-normalised") if is_text(features) else weighted_rows(features)
    graph = Graph(rows, np.zeros((2, 0), np.int64), None, labels.labels, train, val)
    network = training.train(
        graph, settings=training.TrainingSettings(gnn="mlp", selection="loss"), classes=labels.classes, seed=seed,
        device=device, weights=labels.supports, patience=patience,
    )  # fmt: skip
    return np.asarray(network.log_probability, np.float64)
