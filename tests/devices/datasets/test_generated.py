"""The generated graph: the same by seed and on every machine, with the traits that it promises."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.datasets import load
from ldpsim.devices.datasets.generated import CLASSES, CLIENTS, FEATURES, generate
from tests.devices.datasets.graph_statistics import feature_auc


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


def test_classes_fall_in_equal_steps() -> None:
    sizes = np.bincount(generate(3003, unequal=3.0, seed=1).labels)
    assert sizes[0] / sizes[-1] == pytest.approx(3, rel=0.02)
    assert np.ptp(np.diff(sizes)) <= 2
    assert np.ptp(np.bincount(generate(503, unequal=1.0, seed=1).labels)) <= 1


def test_an_edge_joins_people_whose_features_are_alike_beyond_their_class() -> None:
    """Cora has .77 here; without topic words, or without topics among the edges, there is nothing: .5."""
    assert feature_auc(generate(seed=1)) == pytest.approx(0.72, abs=0.03)
    assert feature_auc(generate(seed=1, topic_words=0.0)) == pytest.approx(0.5, abs=0.03)
    assert feature_auc(generate(seed=1, topical=0.0)) == pytest.approx(0.5, abs=0.03)


def test_shared_words_do_not_tell_the_class() -> None:
    """Chi-square of the word counts against independence, over (C - 1)(d - 1) degrees of freedom: about 1 by chance."""

    def excess(**changes: Any) -> float:
        population = generate(seed=6, topical=0.0, **changes)
        rows = np.repeat(np.arange(CLIENTS), np.diff(population.feature_indptr))
        counts = np.zeros((CLASSES, FEATURES))
        np.add.at(counts, (population.labels[rows], population.feature_indices), 1)
        expected = counts.sum(1, keepdims=True) * counts.sum(0, keepdims=True) / counts.sum()
        return float(np.sum((counts - expected) ** 2 / expected) / ((CLASSES - 1) * (FEATURES - 1)))

    assert excess(class_words=0.0) < 1.5  # the sizes of topics differ a little between classes
    assert excess(class_words=0.0, shared=0.0) > 5
    assert excess(class_words=0.2) > 2.5


def test_mean_number_of_words() -> None:
    assert len(generate(seed=6).feature_indices) / CLIENTS == pytest.approx(16.1, abs=0.5)  # of 20 drawn
    assert len(generate(seed=6, words=10, favourites=1.0).feature_indices) / CLIENTS == pytest.approx(10, abs=0.4)


@pytest.mark.parametrize(("n", "classes"), [(2, 1), (5, 5), (20, 6), (50, 5), (60, 3)])
def test_small_graphs(n: int, classes: int) -> None:
    population = generate(n, classes=classes, homophily=0.6, seed=0)
    assert len(population) == n
    assert len(np.unique(population.labels)) == classes
    assert population.edges.shape[1] <= min(round(n * 2.5), n * (n - 1) // 2)
    assert population.homophily == pytest.approx(0.6, abs=0.02) if n >= 50 else True


def test_time_grows_with_the_people() -> None:
    """3,000 people take some 0.02 s and 20,000 some 0.15 s on one core: room for a slow machine."""
    generate(50)
    start = time.process_time()  # other tests run beside this one
    generate(3000, seed=1)
    middle = time.process_time()
    assert generate(20000, seed=1).edges.shape[1] == 50000
    assert middle - start < 1
    assert time.process_time() - middle < 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 1}, {"d": 0}, {"classes": 0}, {"n": 4, "classes": 5}, {"mean_degree": 0.0}, {"mean_degree": float("nan")},
        {"exponent": 2.0}, {"homophily": 1.1}, {"homophily": float("nan")}, {"unequal": 0.5}, {"topics": 0},
        {"topical": -0.1}, {"closing": 1.5}, {"grouped": 0.9}, {"group_size": 2}, {"partners": 2.0}, {"words": 0},
        {"class_words": -1.0}, {"class_words": 0.5, "topic_words": 0.6}, {"shared": 1.2}, {"favourites": 0.0},
    ],
)  # fmt: skip
def test_bad_arguments_are_named(wrong: dict[str, float]) -> None:
    name, value = list(wrong.items())[-1]
    with pytest.raises(ValueError, match=f"generated: {name} {value} is not allowed"):
        generate(**wrong)  # type: ignore[arg-type]
