"""The generated graph, the same by seed and on every machine, and samples of a graph."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.datasets import load
from ldpsim.devices.datasets.generated import (
    CLASSES,
    CLIENTS,
    EDGES,
    FEATURES,
    arxiv_like,
    generate,
    heterophilous,
    partnered,
)
from ldpsim.devices.datasets.sampling import induced_population, induced_sample
from ldpsim.devices.facts import Split


def test_the_same_graph_on_every_machine() -> None:
    """Results of earlier runs name these digests. A change of them needs a new name of the data set."""
    assert generate(400, seed=7).digest == "f8afa0d3e6aa6802a74918e153f0a5a8ce7b52d858bbd538ec32a2e5e7f89e98"
    assert load("generated").digest == "8369fa5901e0a00283bbe4e5ffc015dec190945547d07635238c60195fdbb64d"


def test_load_takes_clients_and_seed() -> None:
    population = load("generated", clients=100, seed=4)
    assert len(population) == 100
    assert population.digest == generate(100, seed=4).digest
    facts = load("generated").facts
    assert (facts.n, facts.d, facts.classes) == (CLIENTS, FEATURES, CLASSES)
    with pytest.raises(ValueError, match="--clients 3: the generated graph has at least 20 nodes"):
        load("generated", clients=3)
    with pytest.raises(ValueError, match=r"--dataset coar: no such data set; did you mean .*cora"):
        load("coar")


@pytest.mark.parametrize("homophily", [0.0, 0.1, 0.76, 1.0])
def test_homophily_is_exact(homophily: float) -> None:
    population = generate(homophily=homophily, seed=1)
    assert population.edges.shape[1] == EDGES
    assert population.homophily == pytest.approx(round(EDGES * homophily) / EDGES, abs=1e-12)


def test_kinds_are_the_same_on_every_machine() -> None:
    digests = [kind(400, seed=2).digest[:16] for kind in (heterophilous, partnered, arxiv_like)]
    assert digests == ["1ba07e773d546827", "2f616c491e3c7e5d", "b42fe850572742a1"]


def _components(population: Population) -> np.ndarray:
    n = len(population)
    indices, indptr = population.neighbour_indices, population.neighbour_indptr
    _, component = connected_components(csr_array((np.ones(len(indices)), indices, indptr), shape=(n, n)))
    return np.sort(np.bincount(component))[::-1]


def _of_edges(n: int, edges: list[tuple[int, int]]) -> Population:
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return build_population(
        "small", n=n, d=n, edges=pairs, feature_indptr=np.arange(n + 1), feature_indices=np.arange(n),
        feature_values=None, labels=np.zeros(n, np.int64), classes=1,
    )  # fmt: skip


@pytest.mark.parametrize("n", [1, 2, 10, 500, 2000, 2900, 3000])
def test_size_and_connectedness(n: int) -> None:
    whole = generate(3000, seed=3)
    sample = induced_sample(whole, n, seed=1)
    assert len(sample) == sample.facts.n == n
    largest = _components(whole)[0]
    if n <= largest:
        assert len(_components(sample)) == 1
    assert induced_sample(whole, n, seed=1).digest == sample.digest


def test_induced_exactly() -> None:
    whole = generate(200, seed=5)
    nodes = np.arange(0, 200, 3)
    part = induced_population(whole, nodes)
    expected = {(int(a), int(b)) for a, b in whole.edges.T if a % 3 == 0 and b % 3 == 0}
    assert {(int(nodes[a]), int(nodes[b])) for a, b in part.edges.T} == expected
    for place, node in enumerate(nodes):
        old, new = whole.record(int(node)), part.record(place)
        np.testing.assert_array_equal(old.feature_indices, new.feature_indices)
        assert old.label == new.label


def test_own_split_follows_or_goes() -> None:
    whole = _of_edges(6, [(i, i + 1) for i in range(5)])
    object.__setattr__(whole, "own_split", Split(*(np.array(part) for part in ([0, 1], [2, 3], [4, 5]))))
    part = induced_population(whole, np.array([1, 2, 5])).own_split
    assert [part.train.tolist(), part.val.tolist(), part.test.tolist()] == [[0], [1], [2]]
    assert induced_population(whole, np.array([1, 2])).own_split is None
