"""The generated graph: the same by seed and on every machine, with the traits that it promises."""

from __future__ import annotations

import pytest

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


def test_deterministic_by_seed() -> None:
    assert generate(400, seed=7).digest == generate(400, seed=7).digest
    assert generate(400, seed=7).digest != generate(400, seed=8).digest


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


@pytest.mark.parametrize("homophily", [0.0, 0.1, 0.76, 1.0])
def test_homophily_is_exact(homophily: float) -> None:
    population = generate(homophily=homophily, seed=1)
    assert population.edges.shape[1] == EDGES
    assert population.homophily == pytest.approx(round(EDGES * homophily) / EDGES, abs=1e-12)


def test_kinds_are_the_same_on_every_machine() -> None:
    digests = [kind(400, seed=2).digest[:16] for kind in (heterophilous, partnered, arxiv_like)]
    assert digests == ["1ba07e773d546827", "2f616c491e3c7e5d", "b42fe850572742a1"]
