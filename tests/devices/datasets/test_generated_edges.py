"""Edges of the generated graph: exact homophily, heavy degrees, closed triangles, groups and partners."""

from __future__ import annotations

import numpy as np
import pytest

from ldpsim.devices.datasets.generated import EDGES, generate
from ldpsim.devices.datasets.generated_edges import _root_power
from tests.devices.datasets.graph_statistics import clustering


@pytest.mark.parametrize("homophily", [0.0, 0.1, 0.76, 1.0])
@pytest.mark.parametrize("grouped", [0.0, 0.5])
def test_homophily_is_exact(homophily: float, grouped: float) -> None:
    population = generate(homophily=homophily, grouped=grouped, seed=1)
    assert population.edges.shape[1] == EDGES
    assert population.homophily == pytest.approx(round(EDGES * homophily) / EDGES, abs=1e-12)


def test_roots_make_a_power() -> None:
    base = np.random.default_rng(0).random(1000)
    for exponent in (0.25, 0.4, 0.5, 2 / 3, 0.9):
        np.testing.assert_allclose(_root_power(base, exponent), base**exponent, rtol=1e-4)


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


def test_triangles_and_groups_cluster() -> None:
    """Cora has .24; topics alone give little, and the less the more people there are."""
    assert clustering(generate(seed=3)) == pytest.approx(0.19, abs=0.03)
    assert clustering(generate(seed=3, closing=0.0)) < 0.06
    assert clustering(generate(seed=3, closing=0.0, grouped=0.6)) > 0.15
    assert clustering(generate(20000, seed=3)) > 0.12


def test_partners_get_the_edges_outside_the_class() -> None:
    def beside(partners: float) -> float:
        population = generate(homophily=0.0, closing=0.0, partners=partners, unequal=1.0, seed=4)
        left, right = population.labels[population.edges]
        return float(np.mean(np.isin((left - right) % 6, (1, 5))))

    assert beside(0.0) == pytest.approx(0.4, abs=0.03)  # two of the five other classes
    assert beside(0.8) == pytest.approx(0.88, abs=0.03)
    assert beside(1.0) == 1.0
