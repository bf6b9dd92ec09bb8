"""The network of a training in rounds, applied to everybody as the devices apply it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import eye_array
from scipy.special import log_softmax
from torch import nn

from ldpsim.curator.linear.propagation import adjacency_matrix, gcn_matrix, mean_matrix
from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import IntArray
from ldpsim.devices.federated.attention import AttendedPairs, attention_scores
from ldpsim.devices.federated.exchange import kept_sums
from ldpsim.devices.federated.members import Members
from ldpsim.devices.network import FloatArray, Shape
from ldpsim.devices.training_task import Task
from ldpsim.strategies.people.owner_graphs import sparse_features


class TwoLayers(nn.Module):
    """The tensors of :class:`ldpsim.devices.network.Shape`, named as the curator's GCN names its own."""

    def __init__(self, weights: FloatArray, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        names = ("weight1", "bias1", "weight2", "bias2")
        for name, part in zip(names, shape.parts(weights), strict=True):
            setattr(self, name, nn.Parameter(torch.tensor(np.asarray(part, np.float32))))
        if shape.attends:
            for name, part in zip(("attention1", "attention2"), shape.attention(weights), strict=True):
                setattr(self, name, nn.Parameter(torch.tensor(np.asarray(part, np.float32))))


def scaled_features(population: Population, scaling: str) -> Any:
    """Return all features as devices scale them, CSR (n, d)."""
    features = sparse_features(population)
    if scaling == "none":
        return features
    sums = features.multiply(features) if scaling == "unit" else abs(features)
    size = np.asarray(sums.sum(axis=1, dtype=np.float64)).ravel()
    size = np.sqrt(size) if scaling == "unit" else size
    scale = np.divide(1, size, out=np.zeros_like(size), where=size > 0)
    return features.multiply(scale[:, None]).tocsr().astype(np.float32)


def scores_of_task(weights: FloatArray, task: Task, population: Population) -> NDArray[Any]:
    """Return everybody's scores, float (n, classes): of its own features, or with its neighbours as in training."""
    inputs = scaled_features(population, task.scaling)
    return np.asarray(class_scores(task.shape.parts(weights), task.sees, inputs, population))


def log_probabilities(model: TwoLayers, scaling: str, population: Population) -> NDArray[np.float64]:
    """float64 (n, classes): logarithms of everybody's probabilities on the whole graph.

    Where the population has no edges they are those of the perceptron that a device trains on its own features.
    """
    weights = np.concatenate([tensor.detach().numpy().ravel() for tensor in model.state_dict().values()])
    return np.asarray(log_softmax(scores_on_graph(model.shape, scaling, population)(weights), axis=1), np.float64)


def class_scores(parts: Sequence[Any], sees: str, inputs: Any, population: Population) -> Any:
    """Return everybody's scores, float (n, classes), with weights of two layers (``parts``)."""
    w1, b1, w2, b2 = parts
    if sees == "own":
        return np.maximum(inputs @ w1 + b1, 0) @ w2 + b2
    return _over_edges(parts, inputs, _spread(population, "gcn"))


def _adjacency(population: Population) -> Any:
    edges = population.edges
    return adjacency_matrix(len(population), np.concatenate([edges, edges[::-1]], axis=1))


def _spread(population: Population, network: str) -> Any:
    """Return the matrix by which a network sums over edges, CSR (n, n)."""
    adjacency = _adjacency(population)
    return gcn_matrix(adjacency) if network == "gcn" else mean_matrix(adjacency)


def _over_edges(parts: Sequence[Any], inputs: Any, spread: Any) -> Any:
    w1, b1, w2, b2 = parts
    hidden = np.maximum(spread @ (inputs @ w1) + b1, 0)
    return spread @ (hidden @ w2) + b2


def scores_on_graph(shape: Shape, scaling: str, population: Population) -> Callable[[FloatArray], FloatArray]:
    """Return a function of the weights: everybody's scores on the whole graph, float (n, classes)."""
    inputs = scaled_features(population, scaling)
    if shape.attends:
        pairs = AttendedPairs.of((_adjacency(population) + eye_array(len(population), format="csr")).tocsr())
        return lambda weights: attention_scores(weights, shape, inputs, pairs)
    spread = _spread(population, "sage" if shape.joined else "gcn")
    if not shape.joined:
        return lambda weights: np.asarray(_over_edges(shape.parts(weights), inputs, spread))

    def joined(weights: FloatArray) -> FloatArray:
        w1, b1, w2, b2 = shape.parts(weights)
        hidden = np.maximum(spread @ (inputs @ w1[: shape.d]) + inputs @ w1[shape.d :] + b1, 0)
        return np.asarray(spread @ (hidden @ w2[: shape.hidden]) + hidden @ w2[shape.hidden :] + b2)

    return joined


def loss_on(
    scores_of: Callable[[FloatArray], FloatArray], people: IntArray, population: Population
) -> Callable[[FloatArray], float]:
    """Return a function of the weights: the mean cross-entropy of the scores and labels of some people."""
    labels, places = population.labels[people], np.arange(len(people))
    return lambda weights: -float(log_softmax(scores_of(weights)[people], axis=1)[places, labels].mean())


def predict_by_silo(
    silos: Sequence[Members], folder: Path, task: Task, weights: Sequence[FloatArray | None], people: int
) -> IntArray:
    """Every member's class by its own silo with the final weights, of each silo.

    -1 for people who handed nothing over, and for those of a silo that has no weights, or that has no sums because it
    failed in the exchange.
    """
    predictions = np.full(people, -1, np.int64)
    for number, silo in enumerate(silos):
        sums = kept_sums(folder / f"silo-{number}", task, number)
        own = weights[number]
        if len(silo.members) and own is not None and (task.sees == "own" or sums is not None):
            (scores,) = silo.stack(task, sums, training=False).scores(own)
            predictions[silo.members] = scores.argmax(axis=1)
    return predictions
