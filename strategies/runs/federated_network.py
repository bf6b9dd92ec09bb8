"""Network of a federated training: flat weights as a torch module, and its predictions for all people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import log_softmax
from torch import nn

from ldpsim.curator.linear.propagation import adjacency_matrix, gcn_matrix
from ldpsim.curator.methods.federated.fedavg import Federated
from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import IntArray
from ldpsim.devices.network import FloatArray, Shape
from ldpsim.devices.training_task import Task
from ldpsim.strategies.people.owned_graph import sparse_features


class TwoLayers(nn.Module):
    """The four tensors of :class:`ldpsim.devices.network.Shape`, named as the curator's GCN names its own."""

    def __init__(self, weights: FloatArray, shape: Shape) -> None:
        super().__init__()
        names = ("weight1", "bias1", "weight2", "bias2")
        for name, part in zip(names, shape.parts(weights), strict=True):
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


def predict(weights: FloatArray, task: Task, population: Population) -> IntArray:
    """Return everybody's class, int64 (n,): of its own features, or with its neighbours as in training."""
    found = _scores(task.shape.parts(weights), task.sees, task.scaling, population)
    return np.asarray(found.argmax(axis=1), np.int64)


def log_probabilities(model: TwoLayers, method: Federated, population: Population) -> NDArray[np.float64]:
    """float64 (n, classes): logarithms of everybody's probabilities, as :func:`predict` applies the network."""
    parts = [tensor.detach().numpy() for tensor in model.state_dict().values()]
    return np.asarray(log_softmax(_scores(parts, method.spec.sees, method.scaling, population), axis=1), np.float64)


def _scores(parts: Sequence[Any], sees: str, scaling: str, population: Population) -> Any:
    w1, b1, w2, b2 = parts
    inputs = scaled_features(population, scaling)
    if sees == "own":
        return np.maximum(inputs @ w1 + b1, 0) @ w2 + b2
    edges = population.edges
    spread = gcn_matrix(adjacency_matrix(len(population), np.concatenate([edges, edges[::-1]], axis=1)))
    hidden = np.maximum(spread @ (inputs @ w1) + b1, 0)
    return spread @ (hidden @ w2) + b2
