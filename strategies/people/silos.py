"""Division of people into silos."""

from __future__ import annotations

import numpy as np

from ldpsim.curator.methods.federated.silos import Silos
from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import IntArray


def divide_into_silos(population: Population, method: Silos, seed: int) -> IntArray:
    """Return the silo of every person, int64 (n,).

    ``dirichlet`` draws the silos' shares of every class from Dirichlet(beta, .., beta); people
    without a label count as one more class. ``metis`` takes METIS's parts and ignores the seed.
    """
    if method.partition == "metis":
        import pymetis

        neighbours = [
            population.neighbour_indices[a:b].tolist()
            for a, b in zip(population.neighbour_indptr[:-1], population.neighbour_indptr[1:], strict=True)
        ]
        _, parts = pymetis.part_graph(method.silos, adjacency=neighbours)
        return np.asarray(parts, np.int64)
    rng = np.random.default_rng([seed, 0x51105])
    silo = np.zeros(len(population), np.int64)
    for label in np.unique(population.labels):
        people = rng.permutation(np.flatnonzero(population.labels == label))
        shares = rng.dirichlet(np.full(method.silos, method.beta))
        cuts = np.round(np.cumsum(shares)[:-1] * len(people)).astype(np.int64)
        for number, part in enumerate(np.split(people, cuts)):
            silo[part] = number
    return silo
