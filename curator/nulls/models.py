"""Null models: a class for everybody from the labels alone, from the graph alone, from the features alone.

A method has gained something only if it is above all of them. They see what its curator sees (:class:`NullEvidence`),
the same reports and the same split. They learn from training labels, and from validation labels where the method
does (:attr:`NullEvidence.teachers`). Elsewhere validation labels only choose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from curator.learning.perceptron import fit_perceptron
from curator.learning.ridge import ridge
from curator.linear.propagation import adjacency_matrix, label_propagation
from curator.linear.tfidf import weighted_rows
from curator.nulls.known import NullEvidence
from devices.array_types import IntArray


def chance(known: NullEvidence) -> int:
    """Return the largest class among the training labels (without any, the validation labels; else 0).

    Of equally large classes it is the one with the smallest number.
    """
    people = known.teachers if len(known.teachers) else known.labels.known(known.split.val)
    return int(np.argmax(np.bincount(known.labels.labels[people], minlength=max(1, known.labels.classes))))


def graph_alone(known: NullEvidence) -> NDArray[np.int64] | None:
    """Spread the labels to learn from over the known edges.

    Returns:
        int64 (n,): every node's class. None without edges to use or without such a label.
    """
    told = known.labels
    if known.edges is None or not len(known.teachers):
        return None
    both = np.concatenate([known.edges, known.edges[::-1]], axis=1)
    graph = adjacency_matrix(len(told.labels), both)
    return label_propagation(graph, told.labels, known.teachers, told.classes, named=told.rows)


def features_alone(known: NullEvidence, *, seed: int, device: str = "cpu") -> IntArray | None:
    """Predict from features without any edge: ridge regression or a perceptron.

    Both learn from the training labels. The one with more hits on validation labels is returned, the ridge
    regression if they have as many or if there is no validation label. Where validation labels teach too, ridge
    regression learns from all of them, and its hits on them are leave-one-out; the perceptron needs them to stop.

    Args:
        known: What the curator knows.
        seed: Seed of the perceptron.
        device: Device of the perceptron: ``auto``, ``cpu`` or ``cuda``.

    Returns:
        int64 (n,): every node's class. None without features or without a training label.
    """
    told = known.labels
    learned, chosen = (told.known(nodes) for nodes in (known.split.train, known.split.val))
    if known.features is None or not known.features.shape[1] or not len(learned):
        return None
    taught = known.teachers
    fit = ridge(weighted_rows(known.features), taught, told.named(taught), told.classes)
    by_ridge = np.argmax(fit.scores, axis=1).astype(np.int64)
    if not len(chosen):
        return by_ridge
    honest = by_ridge.copy()
    honest[taught] = np.argmax(fit.left_out, axis=1)
    network = fit_perceptron(known.features, told, learned, chosen, seed=seed, device=device).network
    of_ridge = float(np.mean(honest[chosen] == told.labels[chosen]))
    return network.predictions if network.val_accuracy > of_ridge else by_ridge
