"""Null models: a class for everybody from the labels alone, from the graph alone, from the features alone.

A method has gained something only if it is above all of them. They see what its curator sees (:class:`NullEvidence`),
the same reports and the same split. They learn from training labels, and from validation labels where the method
does (:attr:`NullEvidence.teachers`). Elsewhere validation labels only choose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpsim.curator.learning.node_evidence import node_evidence
from ldpsim.curator.learning.perceptron import fit_perceptron
from ldpsim.curator.learning.ridge import ridge
from ldpsim.curator.linear.propagation import adjacency_matrix, label_propagation
from ldpsim.curator.linear.tfidf import weighted_rows
from ldpsim.curator.nulls.known import NullEvidence
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.facts import Split


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
    """Predict from features without any edge, by the model of a small family that validation labels choose.

    - ridge regression, and a perceptron;
    - for public features also the pool of :mod:`ldpsim.curator.learning.node_evidence`. Beside them it has naive Bayes,
      and ridge regression on the rows of people with similar features. This is what many methods get out of public
      features without any answer. Above 4,096 people, similar ones are looked for among evenly spaced people only,
      because cosines of all pairs would take too long (:mod:`ldpsim.curator.linear.near_rows`).

    All learn from the training labels. The one with the most hits on validation labels is returned; of equal ones, and
    without a validation label, the first. Where validation labels teach too, those but the perceptron learn from all
    of them, and their hits on them are leave-one-out; the perceptron needs them to stop.

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
    if "features" in known.reported or not len(chosen):
        fit = ridge(weighted_rows(known.features), taught, told.named(taught), told.classes)
        scores = fit.scores.copy()
        scores[taught] = fit.left_out
        found = {"ridge": scores}
    else:
        late = chosen[:0] if known.taught_by_validation else chosen
        pool = node_evidence(known.features, told, Split(taught, late, known.split.test), seed=seed, device=device)
        found = {name: pool.components[name] for name in ("ridge", "perceptron") if name in pool.components}
        found["pool"] = pool.log_probability
    if len(chosen) and "perceptron" not in found:
        found["perceptron"] = fit_perceptron(
            known.features, told, learned, chosen, seed=seed, device=device
        ).log_probability
    best = max(found.values(), key=lambda rows: np.count_nonzero(rows[chosen].argmax(axis=1) == told.labels[chosen]))
    return np.argmax(best, axis=1).astype(np.int64)
