"""Null models: a class for everybody from the labels alone, from the graph alone, from the features alone.

A method has gained something only if it is above all of them. They see what its curator sees (:class:`Known`),
the same reports and the same split. They learn from training labels. Validation labels only choose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from curator.graph import Graph
from curator.linear.propagation import adjacency_matrix, label_propagation
from curator.linear.scaling import scale_public
from curator.nulls.known import Known
from devices.array_types import IntArray


def chance(known: Known) -> int:
    """Return the largest class among the training labels (without any, the validation labels; else 0).

    Of equally large classes it is the one with the smallest number.
    """
    train, val = (known.labels[known.labelled(nodes)] for nodes in (known.split.train, known.split.val))
    return int(np.argmax(np.bincount(train if len(train) else val, minlength=max(1, known.classes))))


def graph_alone(known: Known) -> NDArray[np.int64] | None:
    """Spread the training labels over the known edges.

    Returns:
        int64 (n,): every node's class. None without edges to use or without a training label.
    """
    if known.edges is None or not len(known.labelled(known.split.train)):
        return None
    both = np.concatenate([known.edges, known.edges[::-1]], axis=1)
    graph = adjacency_matrix(len(known.labels), both)
    return label_propagation(graph, known.labels, known.split.train, known.classes)


def features_alone(known: Known, *, seed: int, device: str = "cpu") -> IntArray | None:
    """Predict from features without any edge: ridge regression or a perceptron.

    Both learn from the training labels. The one with more hits on validation labels is returned, the ridge
    regression if they have as many or if there is no validation label.

    Args:
        known: What the curator knows.
        seed: Seed of the perceptron.
        device: Device of the perceptron: ``auto``, ``cpu`` or ``cuda``.

    Returns:
        int64 (n,): every node's class. None without features or without a training label.
    """
    from curator.learning.ridge import ridge
    from curator.learning.tfidf import is_text, weighted_rows
    from curator.learning.training import TrainingSettings, train  # torch is only needed from here on

    learned, chosen = (known.labelled(nodes) for nodes in (known.split.train, known.split.val))
    if known.features is None or not known.features.shape[1] or not len(learned):
        return None
    rows = weighted_rows(known.features)
    by_ridge = np.argmax(ridge(rows, learned, known.labels, known.classes).scores, axis=1).astype(np.int64)
    if not len(chosen):
        return by_ridge
    if is_text(known.features):
        rows = scale_public(known.features, "row-normalised")  # those of the reference `mlp`
    nobody = np.zeros((2, 0), np.int64)
    graph = Graph(rows, nobody, None, known.labels, learned, chosen)
    # The epoch with the most hits on validation labels would have an unfair lead over the ridge regression on them.
    settings = TrainingSettings(gnn="mlp", selection="loss")
    network = train(graph, settings=settings, classes=known.classes, seed=seed, device=device)
    of_ridge = float(np.mean(by_ridge[chosen] == known.labels[chosen]))
    return network.predictions if network.val_accuracy > of_ridge else by_ridge
