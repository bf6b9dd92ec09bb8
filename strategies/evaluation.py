"""Against the truth: accuracy, and how well a graph was reconstructed.

Only a simulation can do this. It happens here and not in ``curator``, which has no way
to reach true labels or edges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from curator.methods.base import Graph
from devices.facts import Split
from devices.population import Population

_BLOCK = 256  # columns at a time: n x d is never copied whole


def accuracy(predictions: np.ndarray, population: Population, split: Split) -> dict[str, float | None]:
    """Return accuracy on test and validation nodes and macro F1 on test nodes, as shares."""
    truth = population.labels
    return {
        "test": _share(predictions, truth, split.test),
        "val": _share(predictions, truth, split.val),
        "macro_f1": macro_f1(predictions[split.test], truth[split.test]),
    }


def _share(predictions: np.ndarray, truth: np.ndarray, nodes: np.ndarray) -> float | None:
    return float(np.mean(predictions[nodes] == truth[nodes])) if len(nodes) else None


def macro_f1(predictions: np.ndarray, truth: np.ndarray) -> float | None:
    """Mean F1 over the classes that occur in the truth or the predictions."""
    scores = []
    for label in np.union1d(predictions, truth):
        hits = np.sum((predictions == label) & (truth == label))
        scores.append(2 * hits / (np.sum(predictions == label) + np.sum(truth == label)))
    return float(np.mean(scores)) if scores else None


def reconstruction(graph: Graph, population: Population, *, own_features: bool = False) -> dict[str, Any]:
    """Compare a reconstructed graph with the true one.

    Args:
        graph: What was reconstructed.
        population: The truth.
        own_features: The graph carries the true features (public ones, or a reference),
            only scaled: then the errors are those of the edges alone.

    Returns:
        ``edge_precision`` and ``edge_recall`` over undirected edges (None where there is
        none to count), ``edges`` kept, ``feature_mae`` = mean |x^ - x| over all entries
        and ``aggregate_mae`` = the same after one mean over the neighbours, each with its
        own graph. Features are compared in their own units, before any standardisation.
    """
    n = len(population)
    left, right = graph.edge_index
    once = left < right
    guessed = left[once] * n + right[once]
    true_left, true_right = population.edges
    hits = int(np.isin(guessed, true_left * n + true_right).sum())
    mae, aggregate = _feature_errors(graph, population, own_features)
    return {
        "edge_precision": hits / len(guessed) if len(guessed) else None,
        "edge_recall": hits / len(true_left) if len(true_left) else None,
        "edges": len(guessed),
        "feature_mae": mae,
        "aggregate_mae": aggregate,
    }


def _feature_errors(graph: Graph, population: Population, own_features: bool) -> tuple[float | None, float | None]:
    n, d = population.facts.n, population.facts.d
    if graph.features.shape != (n, d):
        return None, None
    truth = csr_array(
        (population.feature_values, population.feature_indices, population.feature_indptr), shape=(n, d)
    ).tocsc()
    guessed_mean = _mean_operator(graph.edge_index, n)
    true_mean = _mean_operator(np.concatenate([population.edges, population.edges[::-1]], axis=1), n)
    centre, scale = graph.notes.get("feature_centre"), graph.notes.get("feature_scale")
    own = aggregated = 0.0
    for start in range(0, d, _BLOCK):
        columns = slice(start, min(start + _BLOCK, d))
        exact = truth[:, columns].toarray().astype(np.float32)
        if own_features:
            guess = exact
        else:
            block = graph.features[:, columns]
            guess = np.asarray(block.toarray() if hasattr(block, "toarray") else block, np.float32)
            if centre is not None and scale is not None:
                guess = guess * scale[columns] + centre[columns]
        own += float(np.abs(guess - exact).sum(dtype=np.float64))
        aggregated += float(np.abs(guessed_mean @ guess - true_mean @ exact).sum(dtype=np.float64))
    return own / (n * d), aggregated / (n * d)


def _mean_operator(edge_index: np.ndarray, n: int) -> csr_array:
    sources, targets = edge_index
    degree = np.maximum(np.bincount(targets, minlength=n), 1)
    weights = (1.0 / degree[targets]).astype(np.float32)
    return csr_array((weights, (targets, sources)), shape=(n, n))
