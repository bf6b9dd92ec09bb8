"""A smaller population cut out of a larger one."""

from __future__ import annotations

from dataclasses import replace

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
    n = len(population)
    kept = np.unique(np.asarray(nodes, dtype=np.int64))
    number = np.full(n, -1, np.int64)
    number[kept] = np.arange(len(kept))
    at, indptr = _rows(population.feature_indptr, kept)
    beside, starts = _rows(population.neighbour_indptr, kept)
    neighbours = number[population.neighbour_indices[beside]]
    inside = neighbours >= 0
    owner = np.repeat(np.arange(len(kept)), np.diff(starts))[inside]
    neighbour_indptr = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(kept)))])
    split = population.own_split
    if split is not None:
        parts = [number[part][number[part] >= 0] for part in (split.train, split.val, split.test)]
        split = Split(*parts) if all(map(len, parts)) else None
    return replace(
        population,
        facts=replace(population.facts, n=len(kept)),
        feature_indptr=indptr,
        feature_indices=population.feature_indices[at],
        feature_values=population.feature_values[at],
        neighbour_indptr=neighbour_indptr,
        neighbour_indices=neighbours[inside].astype(np.int32),
        labels=population.labels[kept],
        own_split=split,
    )


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
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    rng = np.random.Generator(np.random.PCG64(seed))
    ones = np.ones(len(population.neighbour_indices), np.int8)
    graph = csr_array((ones, population.neighbour_indices, population.neighbour_indptr), shape=(size, size))
    count, component = connected_components(graph, directed=False)
    by_size = np.lexsort((rng.random(count), -np.bincount(component)))
    taken = np.zeros(size, bool)
    left = n
    for chosen in by_size:
        members = np.flatnonzero(component == chosen)
        if len(members) > left:
            _grow(population, members, left, taken, rng)
            break
        taken[members] = True
        left -= len(members)
        if not left:
            break
    return induced_population(population, np.flatnonzero(taken))


def _grow(
    population: Population, members: NDArray[np.int64], wanted: int, taken: NDArray[np.bool_], rng: np.random.Generator
) -> None:
    """Mark ``wanted`` connected nodes of a component that has more than that in ``taken``."""
    weight = population.degrees[members].astype(float)
    start = rng.choice(members, p=weight / weight.sum()) if weight.sum() else rng.choice(members)
    layer = np.array([start])
    # every candidate is one step from a node taken before, so any choice stays connected
    links = np.zeros(len(taken), np.int64)
    while wanted:
        taken[layer] = True
        wanted -= len(layer)
        at, _ = _rows(population.neighbour_indptr, layer)
        links += np.bincount(population.neighbour_indices[at], minlength=len(taken))
        layer = np.unique(population.neighbour_indices[at])
        layer = layer[~taken[layer]]
        if len(layer) > wanted:
            layer = layer[np.lexsort((rng.random(len(layer)), -links[layer]))[:wanted]]


def _rows(indptr: NDArray[np.int64], rows: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the positions of the entries of some CSR rows, and the row starts of the result."""
    counts = indptr[rows + 1] - indptr[rows]
    starts = np.concatenate([[0], np.cumsum(counts)])
    return np.arange(starts[-1]) + np.repeat(indptr[rows] - starts[:-1], counts), starts
