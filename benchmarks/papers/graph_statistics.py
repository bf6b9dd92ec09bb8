"""Statistics of a graph that decide what a method can know: clustering, homophily, likeness of friends, null models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score

from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Statistics of one graph; shares lie between 0 and 1.

    Args:
        people, edges: Their numbers.
        degree: Mean number of neighbours.
        alone: Share of the people without a neighbour.
        clustering: Mean local clustering coefficient; a person with fewer than two neighbours has 0.
        homophily: Share of the edges inside a class.
        auc: Chance that an edge within a class has a higher cosine than a random pair of that class.
        largest, smallest: Shares of the largest and the smallest class.
        graph_alone: Test accuracy of labels that spread over the true edges.
        features_alone: Test accuracy of the null model of this name on the true features.
    """

    people: int
    edges: int
    degree: float
    alone: float
    clustering: float
    homophily: float
    auc: float
    largest: float
    smallest: float
    graph_alone: float
    features_alone: float


def statistics(population: Population, *, seed: int = 0) -> Statistics:
    """Return the statistics; the null models use a random 50/25/25 split."""
    from ldpsim.curator.nulls.known import known_from_graph
    from ldpsim.curator.nulls.models import features_alone, graph_alone
    from ldpsim.strategies.people.owned_graph import own
    from ldpsim.strategies.results.evaluation import accuracy

    split = make_split("random", population, seed)
    known = known_from_graph(own(population, split, trust="none"), ("adjacency", "features", "label"))
    spread, learned = graph_alone(known), features_alone(known, seed=seed)
    assert spread is not None and learned is not None
    sizes = np.bincount(population.labels[population.labels >= 0], minlength=population.facts.classes) / len(population)
    return Statistics(
        people=len(population), edges=population.edges.shape[1], degree=float(population.degrees.mean()),
        alone=float(np.mean(population.degrees == 0)), clustering=clustering(population),
        homophily=population.homophily, auc=feature_auc(population), largest=sizes.max(), smallest=sizes.min(),
        graph_alone=accuracy(spread, population, split)["test"] or 0.0,
        features_alone=accuracy(learned, population, split)["test"] or 0.0,
    )  # fmt: skip


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
