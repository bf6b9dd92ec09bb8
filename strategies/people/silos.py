"""Division of people into silos."""

from __future__ import annotations

import numpy as np

from ldpsim.curator.methods.federated.silos import Silos
from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import IntArray

SLACK = 20  # people by which sizes of Louvain silos may differ from n / silos


def divide_into_silos(population: Population, method: Silos, seed: int) -> IntArray:
    """Return the silo of every person, int64 (n,).

    ``dirichlet`` draws the silos' shares of every class from Dirichlet(beta, .., beta); people
    without a label count as one more class. ``random`` cuts a permutation of all people in equal parts.
    ``louvain`` deals out the communities of networkx's ``louvain_communities`` (:func:`dealt`).
    ``metis`` takes METIS's parts and ignores the seed.
    """
    rng = np.random.default_rng([seed, 0x51105])
    if method.partition == "metis":
        return _parts_of_metis(population, method.silos)
    if method.partition == "louvain":
        return dealt(_communities(population, int(rng.integers(1 << 32))), method.silos, len(population))
    silo = np.zeros(len(population), np.int64)
    if method.partition == "random":
        for number, part in enumerate(np.array_split(rng.permutation(len(population)), method.silos)):
            silo[part] = number
        return silo
    for label in np.unique(population.labels):
        people = rng.permutation(np.flatnonzero(population.labels == label))
        shares = rng.dirichlet(np.full(method.silos, method.beta))
        cuts = np.round(np.cumsum(shares)[:-1] * len(people)).astype(np.int64)
        for number, part in enumerate(np.split(people, cuts)):
            silo[part] = number
    return silo


def _parts_of_metis(population: Population, silos: int) -> IntArray:
    import pymetis

    neighbours = [
        population.neighbour_indices[a:b].tolist()
        for a, b in zip(population.neighbour_indptr[:-1], population.neighbour_indptr[1:], strict=True)
    ]
    _, parts = pymetis.part_graph(silos, adjacency=neighbours)
    return np.asarray(parts, np.int64)


def _communities(population: Population, seed: int) -> list[list[int]]:
    """Return Louvain's communities, each sorted; the largest modularity of the passes, resolution 1."""
    import networkx

    graph = networkx.Graph()
    graph.add_nodes_from(range(len(population)))
    graph.add_edges_from(population.edges.T.tolist())
    return [sorted(each) for each in networkx.community.louvain_communities(graph, seed=seed)]


def dealt(communities: list[list[int]], silos: int, people: int) -> IntArray:
    """Return the silo of every person, int64 (people,), where communities are dealt out whole if they fit.

    With size = people // silos, a community of more than size - SLACK people is cut into pieces of that size and a
    rest. The pieces are dealt in turns, the largest first. A silo with too little room is passed over: no silo gets
    more than size + SLACK people. This is the rule of FederatedScope's published code. Two cases that do not end there
    end here: a piece that fits nowhere goes to the silo with the fewest people, and in silos of fewer than 2 SLACK
    people SLACK is half their size.

    >>> dealt([[0, 1, 2, 3, 4, 5], [6, 7], [8]], silos=3, people=9).tolist()
    [0, 0, 1, 1, 2, 2, 0, 0, 1]
    """
    size = people // silos
    slack = min(SLACK, size // 2)
    longest = size - slack
    pieces = [each[start : start + longest] for each in communities for start in range(0, len(each), longest)]
    silo, filled, turn = np.zeros(people, np.int64), np.zeros(silos, np.int64), 0
    for piece in sorted(pieces, key=len, reverse=True):
        order = (turn + np.arange(silos)) % silos
        with_room = order[filled[order] + len(piece) <= size + slack]
        number = int(with_room[0] if len(with_room) else filled.argmin())
        silo[piece] = number
        filled[number] += len(piece)
        turn = (number + 1) % silos
    return silo
