"""A population in which people have the private data of others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import IntArray
from ldpsim.strategies.people.owner_graphs import sparse_features


def shuffled(
    population: Population, attributes: Iterable[str], seed: int, *, among: IntArray | None = None
) -> Population:
    """Return the population with some attributes taken from other people.

    Each attribute has a permutation pi of its own. It is drawn from the permutations with one cycle, so nobody
    keeps an own value. Person i gets the features and the label of pi(i), and entry (i, j) of the adjacency is
    A[pi(i), pi(j)]: both ends of a pair still agree. Labels move among people who have one.

    Args:
        population: The people as they are.
        attributes: ``adjacency``, ``features``, ``label``.
        seed: Of the permutations.
        among: People whose data move; the others keep theirs. None: everybody.
    """
    everybody = np.arange(len(population))
    moving = everybody if among is None else among
    changes: dict[str, Any] = {}
    for attribute in attributes:
        rng = np.random.default_rng([seed, *attribute.encode()])
        if attribute == "label":
            source = _one_cycle(everybody, moving[population.labels[moving] >= 0], rng)
            changes["labels"] = population.labels[source]
            continue
        source = _one_cycle(everybody, moving, rng)
        if attribute == "features":
            rows = sparse_features(population)[source]
            changes |= _arrays("feature", rows, feature_values=rows.data)
        else:
            ones = np.ones(len(population.neighbour_indices), np.bool_)
            neighbours = csr_array((ones, population.neighbour_indices, population.neighbour_indptr),
                                   shape=(len(population), len(population)))  # fmt: skip
            rows = neighbours[source][:, source]
            rows.sort_indices()
            changes |= _arrays("neighbour", rows)
    return replace(population, **changes)


def _one_cycle(everybody: IntArray, moving: IntArray, rng: np.random.Generator) -> IntArray:
    """Return a permutation of everybody that moves these people in one cycle."""
    source = everybody.copy()
    order = rng.permutation(moving)
    source[order] = np.roll(order, 1)
    return source


def _arrays(name: str, rows: csr_array, **more: NDArray[Any]) -> dict[str, NDArray[Any]]:
    return {f"{name}_indptr": rows.indptr.astype(np.int64), f"{name}_indices": rows.indices.astype(np.int32), **more}
