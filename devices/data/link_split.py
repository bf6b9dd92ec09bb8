"""Division of the edges for link prediction (``--task links``).

5 % of the edges are held out for validation and 10 % for test, beside as many pairs without an
edge. Held-out edges are removed from the people's neighbour lists before devices are enrolled:
no device reports them, and they are in no public graph.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace

import numpy as np

from devices.array_types import IntArray
from devices.data.population import Population, distinct

VALIDATION, TEST = 0.05, 0.10  # shares of all edges


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """Held-out pairs, int64 (2, 2k) each, row 0 < row 1: k edges, then k pairs without an edge.

    Args:
        val: Pairs whose edges the curator knows; they choose the epoch.
        test: Pairs that are scored.
    """

    val: IntArray = field(repr=False)
    test: IntArray = field(repr=False)

    @property
    def pairs(self) -> IntArray:
        """int64 (2, m): all pairs, validation first."""
        return np.concatenate([self.val, self.test], axis=1)

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the test pairs; results with the same one can be compared."""
        return hashlib.sha256(np.ascontiguousarray(self.test, "<i8").tobytes()).hexdigest()

    @property
    def held_out(self) -> IntArray:
        """int64 (2, m): the edges among them."""
        return np.concatenate([part[:, : part.shape[1] // 2] for part in (self.val, self.test)], axis=1)

    def without_held_out(self, population: Population) -> Population:
        """Return the people with the held-out edges removed from the lists of both ends."""
        n = len(population)
        rows = np.repeat(np.arange(n), population.degrees)
        columns = population.neighbour_indices.astype(np.int64)
        left, right = self.held_out
        kept = ~np.isin(rows * n + columns, np.concatenate([left * n + right, right * n + left]))
        ends = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=n))]).astype(np.int64)
        return replace(population, neighbour_indptr=ends, neighbour_indices=population.neighbour_indices[kept])


def split_links(population: Population, seed: int) -> LinkSplit:
    """Hold out edges at random, beside as many different pairs without an edge.

    Args:
        population: The people with all their edges.
        seed: Seed of the split.

    Raises:
        ValueError: one line, for fewer than 20 edges, or too few pairs without an edge.
    """
    edges, n = population.edges, len(population)
    held = [round(share * edges.shape[1]) for share in (VALIDATION, TEST)]
    if held[0] < 1:
        raise ValueError(f"--task links: {population.name} has {edges.shape[1]} edges; 20 are least")
    if n * (n - 1) // 2 < 2 * edges.shape[1]:
        raise ValueError(f"--task links: {population.name} has an edge between most people; pairs without one are few")
    rng = np.random.default_rng([seed, *b"links"])
    chosen = edges[:, rng.permutation(edges.shape[1])[: sum(held)]]
    others = _without_edge(edges, n, sum(held), rng)
    val, test = (np.concatenate([chosen[:, part], others[:, part]], axis=1)
                 for part in (slice(held[0]), slice(held[0], None)))  # fmt: skip
    return LinkSplit(val, test)


def _without_edge(edges: IntArray, n: int, count: int, rng: np.random.Generator) -> IntArray:
    """int64 (2, count): different pairs of two people who have no edge, left < right, in random order."""
    taken = distinct(edges[0] * n + edges[1])
    found = np.zeros(0, np.int64)
    while len(found) < count:
        left, right = rng.integers(n, size=(2, 2 * count))
        keys = (np.minimum(left, right) * n + np.maximum(left, right))[left != right]
        fresh = keys[~np.isin(keys, taken)]
        _, first = np.unique(np.concatenate([found, fresh]), return_index=True)
        found = np.concatenate([found, fresh])[np.sort(first)]
    return np.stack(np.divmod(found[:count], n))
