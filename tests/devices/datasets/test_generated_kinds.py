"""Kinds of generated graphs: each has the trait of its name, and takes changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets import generated_kinds as kinds
from ldpsim.devices.datasets.generated import generate
from tests.devices.datasets.graph_statistics import clustering, feature_auc


def by_chance(population: Population) -> float:
    """Share of in-class pairs among all pairs."""
    return float(np.sum((np.bincount(population.labels) / len(population)) ** 2))


def told_by_words(population: Population) -> float:
    """Chi-square of words against classes, divided by its degrees of freedom: about 1 where words tell nothing."""
    counts = np.zeros((population.facts.classes, population.facts.d))
    people = np.repeat(np.arange(len(population)), np.diff(population.feature_indptr))
    np.add.at(counts, (population.labels[people], population.feature_indices), 1)
    counts = counts[:, counts.sum(axis=0) > 0]
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    return float(np.sum((counts - expected) ** 2 / expected) / ((counts.shape[0] - 1) * (counts.shape[1] - 1)))


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


@pytest.mark.parametrize(
    "kind",
    [
        kinds.clique_rich, kinds.heterophilous, kinds.partnered, kinds.features_decide, kinds.edges_decide, kinds.dense,
        kinds.arxiv_like,
    ],
)  # fmt: skip
def test_the_seed_is_0_unless_one_is_given(kind: Callable[..., Population]) -> None:
    given = {seed: kind(200, seed=seed).digest for seed in (0, 1)}
    assert kind(200).digest == given[0] != given[1]
    assert kind(200).name == kind.__name__.replace("_", "-")


def test_whether_words_tell_the_class() -> None:
    assert told_by_words(kinds.edges_decide(seed=1)) == pytest.approx(1, abs=0.1)
    assert told_by_words(kinds.features_decide(seed=1)) > 3


def test_the_sizes_of_ogbn_arxiv() -> None:
    population = kinds.arxiv_like(4000, seed=1)
    assert (population.facts.d, population.facts.classes) == (128, 40)
    assert population.degrees.mean() == pytest.approx(13.77, abs=0.01)  # 2 x 1,166,243 edges / 169,343 people
    assert population.homophily == pytest.approx(0.65, abs=0.01)
    sizes = np.bincount(population.labels)
    assert sizes.max() / sizes.min() == pytest.approx(20, rel=0.2)


def test_changes_and_names() -> None:
    assert kinds.clique_rich(100, seed=2, grouped=0.2).digest != kinds.clique_rich(100, seed=2).digest
    assert kinds.partnered(100).name == "partnered"
    assert len(kinds.dense(50, seed=3)) == 50
