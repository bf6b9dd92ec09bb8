"""Raw data for an owner. Only this module makes an ``OwnedGraph``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ldpsim.curator.owned import OwnedGraph, Trust
from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import IntArray, Split


def sparse_features(population: Population) -> Any:
    """Return the features as a float32 scipy CSR matrix (n, d)."""
    return csr_array(
        (population.feature_values, population.feature_indices, population.feature_indptr),
        shape=(population.facts.n, population.facts.d),
    )


def joined_rows(parts: Sequence[np.ndarray], kind: type) -> tuple[IntArray, np.ndarray]:
    """Return rows of different lengths as one array, after the places where each row starts and the last ends."""
    ends = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return ends, np.concatenate([np.zeros(0, kind), *parts]).astype(kind)


def own(population: Population, split: Split, *, trust: Trust) -> OwnedGraph:
    """Return the raw data of a whole population as an owner has them, with the owner's trust level."""
    return OwnedGraph(population.facts, split, sparse_features(population), population.edges, population.labels, trust)
