"""The first generated graph: the same by seed, with the homophily, degrees and words it promises."""

from __future__ import annotations

import time

import numpy as np
import pytest

from devices.datasets import load
from devices.datasets.generated_v1 import CLASSES, CLIENTS, EDGES, FEATURES, generate


def test_deterministic_by_seed() -> None:
    assert generate(400, seed=7).digest == generate(400, seed=7).digest
    assert generate(400, seed=7).digest != generate(400, seed=8).digest


def test_load_takes_clients_and_seed() -> None:
    population = load("generated-v1", clients=100, seed=4)
    assert len(population) == 100
    assert population.digest == generate(100, seed=4).digest
    facts = load("generated-v1").facts
    assert (facts.n, facts.d, facts.classes) == (CLIENTS, FEATURES, CLASSES)
    with pytest.raises(ValueError, match="--clients 3: the generated graph has at least 20 nodes"):
        load("generated-v1", clients=3)


@pytest.mark.parametrize("homophily", [0.0, 0.3, 0.62, 1.0])
def test_homophily_is_exact(homophily: float) -> None:
    population = generate(homophily=homophily, seed=1)
    assert population.edges.shape[1] == EDGES
    assert population.homophily == pytest.approx(round(EDGES * homophily) / EDGES, abs=1e-12)


def test_labels_are_balanced() -> None:
    assert np.ptp(np.bincount(generate(503, seed=1).labels)) <= 1


def test_degrees_have_a_power_law_tail() -> None:
    """Hill's estimate of the tail's exponent is near the one asked for; a Poisson tail is not."""

    def hill(degrees: np.ndarray, count: int = 1500) -> float:
        top = np.sort(degrees)[::-1][: count + 1].astype(float)
        return 1 + count / np.sum(np.log(top[:count] / top[count]))

    n = 20000
    heavy = generate(n, exponent=2.5, seed=2).degrees
    poisson = np.random.default_rng(0).poisson(heavy.mean(), n)
    assert hill(heavy) == pytest.approx(2.5, abs=0.3)
    assert hill(poisson) > 5
    assert heavy.mean() == pytest.approx(7.0, abs=1e-9)
    assert heavy.max() > 20 * heavy.mean()
    assert generate(n, exponent=4.0, seed=2).degrees.max() < heavy.max() / 2


def test_words_are_sparse_and_tell_the_class() -> None:
    population = generate(seed=6)
    rows = np.repeat(np.arange(CLIENTS), np.diff(population.feature_indptr))
    assert len(rows) / CLIENTS == pytest.approx(16, rel=0.02)
    counts = np.zeros((CLASSES, FEATURES))
    np.add.at(counts, (population.labels[rows], population.feature_indices), 1)
    # chi-square of the word counts against independence: 0 on average over
    # (C - 1)(d - 1) = 1,020 degrees of freedom where words do not depend on the class
    expected = counts.sum(1, keepdims=True) * counts.sum(0, keepdims=True) / counts.sum()
    assert np.sum((counts - expected) ** 2 / expected) > 5 * (CLASSES - 1) * (FEATURES - 1)


@pytest.mark.parametrize(("n", "classes"), [(2, 1), (5, 5), (20, 5), (50, 5), (60, 3)])
def test_small_graphs(n: int, classes: int) -> None:
    population = generate(n, classes=classes, homophily=0.6, seed=0)
    assert len(population) == n
    assert population.edges.shape[1] <= min(round(n * 3.5), n * (n - 1) // 2)
    assert population.homophily == pytest.approx(0.6, abs=0.02) if n >= 50 else True


def test_fast_enough() -> None:
    """3,000 people take some 0.05 s and 20,000 some 0.3 s on one core: room for a slow machine."""
    generate(50)
    start = time.process_time()  # other tests run beside this one
    generate(3000, seed=1)
    middle = time.process_time()
    generate(20000, seed=1)
    assert middle - start < 1
    assert time.process_time() - middle < 5


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 1}, {"d": 0}, {"classes": 0}, {"n": 4, "classes": 5}, {"mean_degree": 0.0}, {"mean_degree": float("nan")},
        {"exponent": 2.0}, {"homophily": 1.1}, {"homophily": float("nan")}, {"words": 0.0}, {"words": 300.0},
        {"favourites": 0.0}, {"lift": 0.5},
    ],
)  # fmt: skip
def test_bad_arguments_are_named(wrong: dict[str, float]) -> None:
    name, value = list(wrong.items())[-1]
    with pytest.raises(ValueError, match=f"generated-v1: {name} {value} is not allowed"):
        generate(**wrong)  # type: ignore[arg-type]
