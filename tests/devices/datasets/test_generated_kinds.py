"""Kinds of generated graphs: each has the trait of its name, and takes changes."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.graph_statistics import clustering, feature_auc
from devices.data.population import Population
from devices.datasets import generated_kinds as kinds
from devices.datasets.generated import generate


def by_chance(population: Population) -> float:
    """Share of in-class pairs among all pairs."""
    return float(np.sum((np.bincount(population.labels) / len(population)) ** 2))


def test_clique_rich() -> None:
    assert clustering(kinds.clique_rich(seed=1)) > clustering(generate(seed=1)) + 0.05


@pytest.mark.parametrize("kind", [kinds.heterophilous, kinds.partnered])
def test_heterophilous(kind: type) -> None:
    population = kind(seed=1)
    assert population.homophily == pytest.approx(0.1, abs=1e-3)
    assert population.homophily < by_chance(population) - 0.05


def test_edges_that_say_nothing_about_features() -> None:
    for kind in (kinds.features_decide, kinds.edges_decide):
        assert feature_auc(kind(seed=1)) == pytest.approx(0.5, abs=0.03)


def test_dense() -> None:
    assert kinds.dense(seed=1).degrees.mean() == 15


def test_changes_and_names() -> None:
    assert kinds.clique_rich(100, seed=2, grouped=0.2).digest != kinds.clique_rich(100, seed=2).digest
    assert kinds.partnered(100).name == "partnered"
    assert len(kinds.dense(50, seed=3)) == 50
