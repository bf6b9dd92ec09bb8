"""The generated graph: the same by seed and on every machine, with the traits that it promises."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
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


@pytest.mark.parametrize(("n", "classes"), [(2, 1), (5, 5), (20, 6), (50, 5), (60, 3)])
def test_small_graphs(n: int, classes: int) -> None:
    population = generate(n, classes=classes, homophily=0.6, seed=0)
    assert len(population) == n
    assert len(np.unique(population.labels)) == classes
    assert population.edges.shape[1] <= min(round(n * 2.5), n * (n - 1) // 2)
    assert population.homophily == pytest.approx(0.6, abs=0.02) if n >= 50 else True


@pytest.mark.parametrize("homophily", [0.0, 0.1, 0.76, 1.0])
def test_homophily_is_exact(homophily: float) -> None:
    population = generate(homophily=homophily, seed=1)
    assert population.edges.shape[1] == EDGES
    assert population.homophily == pytest.approx(round(EDGES * homophily) / EDGES, abs=1e-12)


def test_degrees_have_a_power_law_tail() -> None:
    """Hill's estimate of the tail's exponent is near the one asked for; a Poisson tail is not."""

    def hill(degrees: np.ndarray, count: int = 1500) -> float:
        top = np.sort(degrees)[::-1][: count + 1].astype(float)
        return 1 + count / np.sum(np.log(top[:count] / top[count]))

    n = 20000
    heavy = generate(n, exponent=2.5, closing=0.0, seed=2).degrees
    assert hill(heavy) == pytest.approx(2.5, abs=0.3)
    assert hill(np.random.default_rng(0).poisson(heavy.mean(), n)) > 5
    assert heavy.mean() == pytest.approx(5.0, abs=1e-9)
    assert heavy.max() > 20 * heavy.mean()
    assert generate(n, exponent=4.0, seed=2).degrees.max() < heavy.max() / 2


@pytest.mark.parametrize("kind", [heterophilous, partnered])
def test_heterophilous(kind: Callable[..., Population]) -> None:
    population = kind(seed=1)
    by_chance = float(np.sum((np.bincount(population.labels) / len(population)) ** 2))
    assert population.homophily == pytest.approx(0.1, abs=1e-3)
    assert population.homophily < by_chance - 0.05


def test_kinds_are_the_same_on_every_machine() -> None:
    digests = [kind(400, seed=2).digest[:16] for kind in (heterophilous, partnered, arxiv_like)]
    assert digests == ["1ba07e773d546827", "2f616c491e3c7e5d", "b42fe850572742a1"]
