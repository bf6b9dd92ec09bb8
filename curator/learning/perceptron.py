"""Perceptron on features alone: the null model of every method that sees features, and a component of node evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_softmax

from ldpsim.curator.graph import Graph
from ldpsim.curator.linear.scaling import scale_public
from ldpsim.curator.linear.tfidf import is_text, weighted_rows
from ldpsim.curator.reports.labels import LabelEvidence
from ldpsim.devices.array_types import DoubleArray, IntArray

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork


@dataclass(frozen=True, eq=False)
class FittedPerceptron:
    """A trained perceptron.

    Args:
        network: The network, with its predictions and its validation accuracy.
        rows: (n, d): what the network reads of each person.
    """

    network: TrainedNetwork = field(repr=False)
    rows: Any = field(repr=False)

    @property
    def log_probability(self) -> DoubleArray:
        """float64 (n, classes). The row of a person of ``train`` comes from a model that was trained on that person."""
        state = {name: tensor.double().numpy() for name, tensor in self.network.model.state_dict().items()}
        hidden = np.maximum(self.rows @ state["weight1"] + state["bias1"], 0)
        return np.asarray(log_softmax(hidden @ state["weight2"] + state["bias2"], axis=1))


def fit_perceptron(
    features: Any, told: LabelEvidence, train: IntArray, val: IntArray, *, seed: int, device: str = "cpu"
) -> FittedPerceptron:
    """Train on the labels of ``train``; those of ``val`` choose the epoch, by their loss.

    The epoch with the most hits on validation labels would have an unfair lead over other models on them.

    Args:
        features: (n, d), numpy or CSR.
        told: Labels, public or reported; only those of ``train`` and ``val`` are read.
        train: People to learn from, all with a label.
        val: Others, all with a label.
        seed: Seed of the weights and of dropout.
        device: ``auto``, ``cpu`` or ``cuda``.
    """
    from ldpsim.curator.learning import training  # torch is only needed from here on

    # Text as the reference `mlp` has it.
    rows = scale_public(features, "row-normalised") if is_text(features) else weighted_rows(features)
    graph = Graph(rows, np.zeros((2, 0), np.int64), None, told.labels, train, val)
    given: dict[str, Any] = {"settings": training.TrainingSettings(gnn="mlp", selection="loss"),
                             "classes": told.classes, "seed": seed, "device": device}  # fmt: skip
    if told.rows is None:
        network = training.train(graph, **given)
    else:
        network = training.train_on_weights(graph, told.rows, **given)
    return FittedPerceptron(network, rows)
