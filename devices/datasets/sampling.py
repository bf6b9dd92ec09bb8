"""A smaller population cut out of a larger one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import Split


def induced_population(population: Population, nodes: NDArray[np.integer]) -> Population:
    """Return the population that ``nodes`` (distinct ids) induce, in ascending order of id.

    The public facts stay as they are except for the number of people: a range or a class
    list must not depend on who was drawn. A split of the data set's own keeps those of its
    nodes that are left, and is dropped where one of its parts becomes empty.
    """
    people = np.unique(np.asarray(nodes, dtype=np.int64))
    split = population.own_split
    if split is not None:
        parts = [np.searchsorted(people, np.intersect1d(people, part)) for part in (split.train, split.val, split.test)]
        split = Split(*parts) if all(map(len, parts)) else None
    features = _matrix(
        population.feature_values, population.feature_indices, population.feature_indptr, population.facts.d
    )
    features, graph = features[people], _graph(population)[people][:, people]
    return replace(
        population,
        facts=replace(population.facts, n=len(people)),
        feature_indptr=features.indptr.astype(np.int64),
        feature_indices=features.indices.astype(np.int32),
        feature_values=features.data,
        neighbour_indptr=graph.indptr.astype(np.int64),
        neighbour_indices=graph.indices.astype(np.int32),
        labels=population.labels[people],
        own_split=split,
    )


def _graph(population: Population) -> Any:
    ones = np.ones(len(population.neighbour_indices), np.int8)
    return _matrix(ones, population.neighbour_indices, population.neighbour_indptr, len(population))


def _matrix(values: NDArray[Any], columns: NDArray[Any], starts: NDArray[Any], width: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((values, columns, starts), shape=(len(starts) - 1, width))


def induced_sample(population: Population, n: int, seed: int) -> Population:
    """Return an induced sample of exactly ``n`` people, as connected as can be.

    A breadth-first search starts at a node of the largest component, drawn in proportion
    to its degree, and takes whole layers; of the layer that is too large it takes the
    nodes with most links to those already taken. The sample is therefore connected as long
    as it fits into one component; beyond it the next largest ones follow. Equal seeds give
    equal samples.

    Raises:
        ValueError: where ``n`` is not between 1 and the size of the population.
    """
    size = len(population)
    if not 1 <= n <= size:
        raise ValueError(
            f"--clients {n}: {population.name} has {size} nodes; give 1 to {size}, or leave --clients out to take all"
        )
    if n == size:
        return population
    from scipy.sparse.csgraph import connected_components

    rng = np.random.Generator(np.random.PCG64(seed))
    graph = _graph(population)
    count, component = connected_components(graph, directed=False)
    by_size = np.lexsort((rng.random(count), -np.bincount(component)))
    taken = np.zeros(size, bool)
    left = n
    for chosen in by_size:
        members = np.flatnonzero(component == chosen)
        if len(members) > left:
            _grow(population.degrees, graph, members, left, taken, rng)
            break
        taken[members] = True
        left -= len(members)
        if not left:
            break
    return induced_population(population, np.flatnonzero(taken))


def _grow(
    degrees: NDArray[np.int64], graph: Any, members: NDArray[np.int64], wanted: int, taken: NDArray[np.bool_],
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Mark ``wanted`` connected nodes of a component that has more than that in ``taken``."""
    weight = degrees[members].astype(float)
    start = rng.choice(members, p=weight / weight.sum()) if weight.sum() else rng.choice(members)
    layer = np.array([start])
    # every candidate is one step from a node taken before, so any choice stays connected
    links = np.zeros(len(taken), np.int64)
    while wanted:
        taken[layer] = True
        wanted -= len(layer)
        beside = graph[layer].indices
        links += np.bincount(beside, minlength=len(taken))
        layer = np.unique(beside)
        layer = layer[~taken[layer]]
        if len(layer) > wanted:
            layer = layer[np.lexsort((rng.random(len(layer)), -links[layer]))[:wanted]]
