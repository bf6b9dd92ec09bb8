"""Comparison with the truth: accuracy, and errors of a reconstructed graph.

Only a simulation can do this. ``curator`` cannot reach true labels or edges, so the comparison
is made here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ldpsim.curator.linear.strips import COMPARED, strips
from ldpsim.curator.methods.base import Graph
from ldpsim.devices.data.population import Population, distinct
from ldpsim.devices.facts import Split
from ldpsim.strategies.people.owner_graphs import sparse_features

SKEWED = 0.6  # a class with a larger share of the people: then chance alone looks accurate


def accuracy(
    predictions: np.ndarray, population: Population, split: Split, scores: np.ndarray | None = None
) -> dict[str, float | None]:
    """Return accuracy on test and validation nodes and macro F1 on test nodes, as shares.

    Where one class has most of the people (:data:`SKEWED`), ``auc`` is among them if there are ``scores`` (n, classes).
    """
    truth = population.labels
    figures = {
        "test": _share(predictions, truth, split.test),
        "val": _share(predictions, truth, split.val),
        "macro_f1": macro_f1(predictions[split.test], truth[split.test]),
    }
    if scores is not None and is_skewed(truth):
        figures["auc"] = auc(scores[split.test], truth[split.test])
    return figures


def is_skewed(truth: np.ndarray) -> bool:
    """Return whether one class has a larger share of the people than :data:`SKEWED`; ``truth``: int64 (n,)."""
    sizes = np.bincount(truth[truth >= 0])
    return bool(sizes.max(initial=0) > SKEWED * sizes.sum())


def _share(predictions: np.ndarray, truth: np.ndarray, nodes: np.ndarray) -> float | None:
    return float(np.mean(predictions[nodes] == truth[nodes])) if len(nodes) else None


def macro_f1(predictions: np.ndarray, truth: np.ndarray) -> float | None:
    """Mean F1 over the classes that occur in the truth or the predictions."""
    scores = []
    for label in np.union1d(predictions, truth):
        hits = np.sum((predictions == label) & (truth == label))
        scores.append(2 * hits / (np.sum(predictions == label) + np.sum(truth == label)))
    return float(np.mean(scores)) if scores else None


def auc(scores: np.ndarray, truth: np.ndarray) -> float | None:
    """Return the area under the ROC curve of each class against the others, as a mean over the classes.

    Classes that all or none of these people have are left out; None where no class is left.
    """
    from scipy.stats import rankdata  # takes half a second

    areas = []
    for label in range(scores.shape[1]):
        inside = truth == label
        pairs = int(inside.sum()) * int((~inside).sum())
        if pairs:
            above = rankdata(scores[:, label])[inside].sum() - inside.sum() * (inside.sum() + 1) / 2
            areas.append(above / pairs)
    return float(np.mean(areas)) if areas else None


def reconstruction(graph: Graph, population: Population, *, own_features: bool = False) -> dict[str, Any]:
    """Compare a reconstructed graph with the true one.

    Args:
        graph: The reconstructed graph.
        population: The truth.
        own_features: The graph carries the true features (public ones, or a reference),
            only scaled: then they have no error.

    Returns:
        ``edge_precision`` and ``edge_recall`` over undirected edges (None without edges to
        count), ``edges`` kept, and ``feature_mae`` = mean |x^ - x| over all entries.
        Features are compared in their own units, before any standardisation.

    Raises:
        ValueError: for a graph that names an edge twice: its recall could be above 1.
    """
    n = len(population)
    left, right = graph.edge_index
    once = left < right
    guessed = distinct(left[once] * n + right[once])
    if len(guessed) < np.count_nonzero(once):
        raise ValueError("the method's graph names an edge twice: a method returns each edge once in each direction")
    true_left, true_right = population.edges
    hits = int(np.isin(guessed, true_left * n + true_right, assume_unique=True).sum())
    return {
        "edge_precision": hits / len(guessed) if len(guessed) else None,
        "edge_recall": hits / len(true_left) if len(true_left) else None,
        "edges": len(guessed),
        "feature_mae": _feature_error(graph, population, own_features),
    }


def _feature_error(graph: Graph, population: Population, own_features: bool) -> float | None:
    n, d = population.facts.n, population.facts.d
    if not d or graph.features.shape != (n, d):
        return None
    if own_features:
        return 0.0
    truth = sparse_features(population).tocsc()
    centre, scale = graph.notes.get("feature_centre"), graph.notes.get("feature_scale")
    total = 0.0
    for columns in strips(n, d, COMPARED):
        block = graph.features[:, columns]
        guess = np.asarray(block.toarray() if hasattr(block, "toarray") else block, np.float32)
        if centre is not None and scale is not None:
            guess = guess * scale[columns] + centre[columns]
        total += float(np.abs(guess - truth[:, columns].toarray().astype(np.float32)).sum(dtype=np.float64))
    return total / (n * d)
