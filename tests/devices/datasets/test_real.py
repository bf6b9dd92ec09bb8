"""Every data set on disk against its published figures."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ldpsim.devices.data.population import Population, records_of
from ldpsim.devices.datasets import TABLE, load
from ldpsim.devices.mechanisms.grr_fs import Coding

# nodes, edges, features, classes, edge homophily, features a node
FIGURES = {
    "cora": (2708, 5278, 1433, 7, 0.8100, 18.2),
    "citeseer": (3327, 4552, 3703, 6, 0.7355, 31.6),
    "citeseer-3312": (3312, 4536, 3703, 6, 0.7377, 31.8),
    "citeseer-lcc": (2110, 3668, 3703, 6, 0.7364, 32.1),
    "citeseer-full": (4230, 5337, 602, 6, 0.9494, 4.6),
    "pubmed": (19717, 44324, 500, 3, 0.8024, 50.1),
    "dblp": (17716, 52867, 1639, 4, 0.8279, 5.2),
    "computers": (13752, 245861, 767, 10, 0.7772, 267.2),
    "facebook": (22470, 170823, 4714, 4, 0.8853, 14.0),
    "github": (37700, 289003, 4005, 2, 0.8453, 18.3),
    "german": (955, 9990, 46, 2, 0.9049, 11.9),
    "student": (577, 4243, 60, 2, 0.8265, 17.3),
}


@cache
def loaded(name: str, root: Path) -> Population:
    return load(name, data_dir=root)


@pytest.mark.parametrize("name", FIGURES)
def test_published_figures(name: str, data_dir: Path) -> None:
    population = loaded(name, data_dir)
    nodes, edges, features, classes, homophily, ones = FIGURES[name]
    facts = population.facts
    assert (facts.n, population.edges.shape[1], facts.d, facts.classes) == (nodes, edges, features, classes)
    assert population.homophily == pytest.approx(homophily, abs=5e-5)
    assert len(population.feature_values) / nodes == pytest.approx(ones, abs=0.06)
    assert len(np.unique(population.labels)) == classes
    assert (facts.feature_low, facts.feature_high) == ((0.0, 1.3) if name == "pubmed" else (0.0, 1.0))
    entry = TABLE[name]
    assert (entry.nodes, entry.edges, entry.features, entry.classes) == (nodes, edges, features, classes)
    if name != "pubmed":
        assert np.all(population.feature_values == 1)


@pytest.mark.parametrize("name", ["german", "student"])
def test_categories_come_back_from_the_bits(name: str, data_dir: Path) -> None:
    population = loaded(name, data_dir)
    facts = population.facts
    with np.load(data_dir / f"{name}.npz", allow_pickle=False) as arrays:
        sizes = arrays["cat_card"]
        order = np.argsort(sizes > 2, kind="stable")
        assert facts.domains == tuple(sizes[order])
        coding = Coding(facts.domains, facts.d, 1)
        read = coding.read(records_of(population, range(len(population))))
        np.testing.assert_array_equal(read, arrays["x_cat"][:, order])
        names = [str(arrays["cat_names"][place]) for place in order]
        columns = [str(column) for column in arrays["feature_names"]]
    starts = np.cumsum([0, *(1 if size == 2 else size for size in facts.domains)])
    assert starts[-1] == facts.d
    for attribute, start, end in zip(names, starts, starts[1:], strict=False):
        assert all(column.startswith(attribute) for column in columns[start:end])
