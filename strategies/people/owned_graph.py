"""Raw data for an owner: the one place that makes an ``OwnedGraph``."""

from __future__ import annotations

from typing import Any

from scipy.sparse import csr_array

from curator.owned import OwnedGraph, Trust
from devices.data.population import Population
from devices.facts import Split


def sparse_features(population: Population) -> Any:
    """Return the features as a float32 scipy CSR matrix (n, d)."""
    return csr_array(
        (population.feature_values, population.feature_indices, population.feature_indptr),
        shape=(population.facts.n, population.facts.d),
    )


def own(population: Population, split: Split, *, trust: Trust) -> OwnedGraph:
    """Hand a whole population, as it is, to an owner; its trust level stays on the result."""
    return OwnedGraph(population.facts, split, sparse_features(population), population.edges, population.labels, trust)
