"""Statistics of a graph that decide what a method can know: clustering, and likeness of friends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from ldpsim.devices.data.population import Population


def clustering(population: Population) -> float:
    """Return the mean local clustering coefficient; a person with fewer than two neighbours has 0."""
    n, degrees = len(population), population.degrees
    ones = np.ones(len(population.neighbour_indices))
    links = csr_array((ones, population.neighbour_indices, population.neighbour_indptr), shape=(n, n))
    triangles = np.asarray((links @ links).multiply(links).sum(axis=1)).ravel()
    return float(np.mean(triangles / np.maximum(degrees * (degrees - 1), 1)))


def feature_auc(population: Population, most: int = 50_000) -> float:
    """Return the chance that an edge within a class has a higher cosine than a random pair of that class.

    Ties count half. Of more than ``most`` such edges a sample is taken.
    """
    rng, labels = np.random.default_rng(0), population.labels
    left, right = population.edges
    inside = np.flatnonzero((labels[left] == labels[right]) & (labels[left] >= 0))
    inside = rng.permutation(inside)[:most]
    left, right = left[inside], right[inside]
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(population.facts.classes + 1))
    low, high = starts[labels[left]], starts[labels[left] + 1]
    one, other = order[rng.integers(low, high)], order[rng.integers(low, high)]
    edges, pairs = _cosines(population, left, right), _cosines(population, one, other)[one != other]
    is_edge = np.repeat([True, False], [len(edges), len(pairs)])
    return float(roc_auc_score(is_edge, np.concatenate([edges, pairs])))


def _cosines(population: Population, left: NDArray[np.int64], right: NDArray[np.int64]) -> NDArray[np.float64]:
    """Cosine of the feature rows of each pair, 0 where one is empty: (pairs,)."""
    rows = csr_array(
        (population.feature_values.astype(float), population.feature_indices, population.feature_indptr),
        shape=(len(population), population.facts.d),
    )
    lengths = np.sqrt(np.asarray((rows * rows).sum(axis=1)).ravel())
    products = np.asarray((rows[left] * rows[right]).sum(axis=1)).ravel()
    return products / np.maximum(lengths[left] * lengths[right], 1e-12)
