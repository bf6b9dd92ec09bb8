"""Comparison with the truth: accuracy, and errors of a reconstructed graph.

Only a simulation can do this. ``curator`` cannot reach true labels or edges, so the comparison
is made here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.linear.scaling import COMPARED, strips
from ldpsim.curator.methods.base import Graph
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population, distinct
from ldpsim.devices.facts import Split
from ldpsim.strategies.people.owner_graphs import sparse_features

# Degrees one by one up to 16, then four bins a doubling: under 90 bins for 10^6 people.
_DEGREES = (*range(17), *(int(16 * 2 ** (step / 4)) for step in range(1, 64)))


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
        graph: The reconstructed graph.
        population: The truth.
        own_features: The graph carries the true features (public ones, or a reference),
            only scaled: then the errors are those of the edges alone.

    Returns:
        ``edge_precision`` and ``edge_recall`` over undirected edges (None without edges to
        count), ``edges`` kept, ``feature_mae`` = mean |x^ - x| over all entries and
        ``aggregate_mae`` = the same after one mean over the neighbours, each with its own
        graph. Features are compared in their own units, before any standardisation.

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
    mae, aggregate = _feature_errors(graph, population, own_features)
    return {
        "edge_precision": hits / len(guessed) if len(guessed) else None,
        "edge_recall": hits / len(true_left) if len(true_left) else None,
        "edges": len(guessed),
        "feature_mae": mae,
        "aggregate_mae": aggregate,
    }


def degrees(graph: Graph, population: Population, reports: Reports | None = None) -> dict[str, list[float] | None]:
    """Return histograms of the numbers of neighbours: true, reported and reconstructed.

    Args:
        graph: The reconstructed graph; a directed edge counts at its target.
        population: The truth.
        reports: The reports; None if nobody was asked. The reported degree of a person is the
            number of ones about their own pairs: in their row, or in their row and column if
            one end of a pair reports it. Silent people are left out.

    Returns:
        ``from``: smallest degree of each bin, a bin ending where the next starts; ``true``,
        ``noisy`` (None where no bits of neighbour lists were reported) and ``reconstructed``:
        people in each bin.
    """
    n = len(population)
    true = np.bincount(population.edges.ravel(), minlength=n)
    found = {"true": true, "reconstructed": np.bincount(graph.edge_index[1], minlength=n)}
    noisy = None if reports is None else _reported_degrees(reports)
    if noisy is not None:
        found["noisy"] = noisy
    most = max((int(counts.max(initial=0)) for counts in found.values()), default=0)
    edges: list[float] = [start for start in _DEGREES if start <= most]
    result: dict[str, list[float] | None] = {"from": [*edges], "noisy": None}
    for name, counts in found.items():
        result[name] = [float(people) for people in np.histogram(counts, bins=[*edges, max(n, most) + 1])[0]]
    return result


def _reported_degrees(reports: Reports) -> np.ndarray | None:
    bits = reports.adjacency
    if bits is None:
        return None
    own = np.diff(bits.indptr)
    ask = reports.asks["adjacency"]
    if any(mechanism.reporting == "one-end" for mechanism in ask.mechanisms):
        own = own + np.bincount(bits.indices, minlength=len(own))
    return own[reports.reported("adjacency")]


def mean_degrees(several: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the mean of :func:`degrees` over repeats, whose bins may end at different degrees."""
    longest = max((entry["from"] for entry in several), key=len)
    result: dict[str, Any] = {"from": longest}
    for name in ("true", "noisy", "reconstructed"):
        known = [entry[name] for entry in several if entry[name] is not None]
        rows = [[*counts, *[0.0] * (len(longest) - len(counts))] for counts in known]
        result[name] = np.mean(rows, axis=0).tolist() if rows else None
    return result


def _feature_errors(graph: Graph, population: Population, own_features: bool) -> tuple[float | None, float | None]:
    n, d = population.facts.n, population.facts.d
    if not d or graph.features.shape != (n, d):
        return None, None
    truth = sparse_features(population).tocsc()
    guessed_mean = _mean_operator(graph.edge_index, n)
    true_mean = _mean_operator(np.concatenate([population.edges, population.edges[::-1]], axis=1), n)
    centre, scale = graph.notes.get("feature_centre"), graph.notes.get("feature_scale")
    own = aggregated = 0.0
    for columns in strips(n, d, COMPARED):
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
