"""Null models: a class for everybody from the labels alone, from the graph alone, from the features alone.

A method has gained something only if it is above all of them. They see what its curator sees (:class:`NullInputs`),
the same reports and the same split. They learn from training labels, and from validation labels where the method
does (:attr:`NullInputs.training_people`). Elsewhere validation labels only choose.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from ldpsim.curator.features.feature_posterior import feature_posterior
from ldpsim.curator.features.features_alone import fit_perceptron
from ldpsim.curator.graph import Graph
from ldpsim.curator.learning.link import MOST_PEOPLE, link
from ldpsim.curator.learning.logistic import logistic_scores
from ldpsim.curator.linear.free_rows import free_rows
from ldpsim.curator.linear.propagation import adjacency_matrix, both_directions, label_propagation
from ldpsim.curator.linear.scaling import weighted_rows
from ldpsim.curator.nulls.inputs import NullInputs
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import Split


def chance(inputs: NullInputs) -> int:
    """Return the largest class among the training labels (without any, the validation labels; else 0).

    Of equally large classes it is the one with the smallest number.
    """
    people = inputs.training_people if len(inputs.training_people) else inputs.labels.with_label(inputs.split.val)
    return int(np.argmax(np.bincount(inputs.labels.labels[people], minlength=max(1, inputs.labels.classes))))


def graph_alone(inputs: NullInputs) -> NDArray[np.int64] | None:
    """Spread the labels to learn from over the known edges.

    Returns:
        int64 (n,): every node's class. None without edges to use or without such a label.
    """
    labels = inputs.labels
    if inputs.edges is None or not len(inputs.training_people):
        return None
    graph = adjacency_matrix(len(labels.labels), both_directions(inputs.edges))
    return label_propagation(graph, labels.labels, inputs.training_people, labels.classes, rows=labels.supports)


# Of hops 2 to 16, rates .05 and .01, decays 1e-3 and 1e-4: within .2 points of the best validation accuracy on Cora,
# CiteSeer, generated people and Reed98 (three seeds). On Twitch 1e-4 is better, and spreading is better still.
_HOPS, _PATIENCE = 4, 15
_NOISY_PATIENCE = 50  # of the perceptron on reported features: no two better epochs were more than 24 apart
_NETWORK_SETTINGS: dict[str, Any] = {
    "lr": 0.05, "weight_decay": 1e-3, "gnn_dropout": 0.5, "epochs": 60, "selection": "loss", "activation": "selu",
}  # fmt: skip


def graph_learned(inputs: NullInputs, *, seed: int, device: str = "cpu") -> IntArray | None:
    """Predict from the known edges by the model of a small family that has the most hits on validation labels.

    - label spreading;
    - a network: FeatFree's, with one free row a person (:mod:`ldpsim.curator.linear.free_rows`) and few epochs.
      Validation labels choose its epoch;
    - LINK: logistic regression on a person's row of the edges, of one hop and of two
      (:mod:`ldpsim.curator.learning.link`); not above ``MOST_PEOPLE`` people.

    All learn from training labels for the choice. Where the method learns from validation labels too, label spreading
    and LINK are then fitted to both. Of equal ones, and without a validation label, the first is returned.

    Args:
        inputs: What the curator knows.
        seed: Seed of the network.
        device: Device of the network: ``auto``, ``cpu`` or ``cuda``.

    Returns:
        int64 (n,): every node's class. None where :func:`graph_alone` returns None.
    """
    spread, labels = graph_alone(inputs), inputs.labels
    train_nodes, val_nodes = (labels.with_label(nodes) for nodes in (inputs.split.train, inputs.split.val))
    if spread is None or inputs.edges is None or not len(train_nodes) or not len(val_nodes):
        return spread
    training_people = inputs.training_people if inputs.uses_validation_labels else None
    spread_by_train = spread if training_people is None else graph_alone(replace(inputs, uses_validation_labels=False))
    assert spread_by_train is not None
    network = _network_of_edges(inputs, train_nodes, val_nodes, seed=seed, device=device)
    # Classes by training labels alone, for the choice, and by all labels to learn from.
    models = [(spread_by_train, spread), (network, network)]
    if len(labels.labels) <= MOST_PEOPLE:
        for scores in link(inputs.edges, labels, train_nodes, val_nodes, training_people):
            models.append((scores[0].argmax(axis=1), scores[1].argmax(axis=1)))
    best = max(models, key=lambda model: np.count_nonzero(model[0][val_nodes] == labels.labels[val_nodes]))
    return best[1].astype(np.int64)


def _network_of_edges(
    inputs: NullInputs, train_nodes: IntArray, val_nodes: IntArray, *, seed: int, device: str
) -> IntArray:  # fmt: skip
    """int64 (n,): every node's class by FeatFree's network on the known edges."""
    from ldpsim.curator.learning.networks import adjacency_of  # torch is only needed from here on
    from ldpsim.curator.learning.training import TrainingSettings, train

    labels, edges = inputs.labels, inputs.edges
    assert edges is not None
    no_features = csr_array((len(labels.labels), 0), dtype=np.float32)
    graph = Graph(no_features, both_directions(edges), None, labels.labels, train_nodes, val_nodes)
    rows = free_rows(adjacency_of(graph), "identity", "hoa", _HOPS, width=0, seed=seed)
    settings = TrainingSettings(**_NETWORK_SETTINGS)
    network = train(replace(graph, features=rows), settings=settings, classes=labels.classes, seed=seed, device=device,
                    weights=labels.supports, patience=_PATIENCE)  # fmt: skip
    return network.predictions


def features_alone(inputs: NullInputs, *, seed: int, device: str = "cpu") -> IntArray | None:
    """Predict from features without any edge, by the model of a small family that validation labels choose.

    - ridge regression, and a perceptron;
    - logistic regression (:mod:`ldpsim.curator.learning.logistic`), of at most :data:`MOST_PEOPLE` people, where
      features are public or reports of them sparse. Where every entry is a noisy report it takes as long as a
      method, and gained -2 to 1.1 points;
    - for public features also the pool of :mod:`ldpsim.curator.features.feature_posterior`. Beside them it has naive
      Bayes, and ridge regression on the rows of people with similar features. This is what many methods get out of
      public features without any report. Above 4,096 people, similar ones are looked for among evenly spaced people
      only, because cosines of all pairs would take too long (:mod:`ldpsim.curator.linear.similar_rows`).

    All learn from the training labels. The one with the most hits on validation labels is returned; of equal ones, and
    without a validation label, the first. Where the method learns from validation labels too, all but the perceptron
    learn from both. Hits on validation labels are then leave-one-out, those of logistic regression by a fit to the
    training labels; the perceptron needs validation labels to stop.

    Args:
        inputs: What the curator knows.
        seed: Seed of the perceptron.
        device: Device of the perceptron: ``auto``, ``cpu`` or ``cuda``.

    Returns:
        int64 (n,): every node's class. None without features or without a training label.
    """
    labels, features = inputs.labels, inputs.features
    train_nodes, val_nodes = (labels.with_label(nodes) for nodes in (inputs.split.train, inputs.split.val))
    if features is None or not features.shape[1] or not len(train_nodes):
        return None
    training_people, reported = inputs.training_people, "features" in inputs.reported
    if reported or not len(val_nodes):
        models = {"ridge": inputs.ridge.without_own_label}
    else:
        pool_val = val_nodes[:0] if inputs.uses_validation_labels else val_nodes
        pool = feature_posterior(features, labels, Split(training_people, pool_val, inputs.split.test), seed=seed,
                                 device=device)  # fmt: skip
        models = {name: pool.components[name] for name in ("ridge", "perceptron") if name in pool.components}
        models["pool"] = pool.log_probability
    if len(val_nodes) and "perceptron" not in models:
        models["perceptron"] = fit_perceptron(
            features, labels, train_nodes, val_nodes, seed=seed, device=device, patience=_NOISY_PATIENCE
        )
    final = dict(models)  # scores that are returned; the scores of ``models`` are for the choice
    if len(val_nodes) and len(labels.labels) <= MOST_PEOPLE and (not reported or issparse(features)):
        models["logistic"], final["logistic"] = logistic_scores(
            (weighted_rows(features),), labels, train_nodes, val_nodes,
            training_people if inputs.uses_validation_labels else None,
        )  # fmt: skip
    best = max(
        models, key=lambda name: np.count_nonzero(models[name][val_nodes].argmax(axis=1) == labels.labels[val_nodes])
    )
    return np.argmax(final[best], axis=1).astype(np.int64)
