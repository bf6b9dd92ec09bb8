from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ldpsim.devices import datasets
from ldpsim.strategies import simulate
from ldpsim.strategies.estimate.graph_facts import GraphFacts, known_before, measured
from ldpsim.strategies.importing.graph_import import import_graph
from ldpsim.strategies.setup.options import RunOptions


@pytest.mark.parametrize("name", ["generated"])
def test_the_facts_of_a_generated_graph_are_those_of_the_graph(name: str) -> None:
    known = known_before(RunOptions(dataset=name, clients=800))
    assert known is not None
    found = measured(datasets.load(name, clients=800))
    assert (known.n, known.features, known.classes) == (found.n, found.features, found.classes)
    assert known.mean_degree == pytest.approx(found.mean_degree, rel=0.05)
    assert known.homophily == pytest.approx(found.homophily, abs=0.05)
    assert known.words == pytest.approx(found.words, rel=0.15)


def test_import_plan_and_result_have_one_homophily(tmp_path: Path) -> None:
    """Of a file in which every fourth person has no label."""
    people, path = datasets.load("generated", clients=400), tmp_path / "mine.npz"
    labels = np.where(np.arange(400) % 4 == 0, -1, people.labels)
    np.savez(path, edge_index=people.edges, labels=labels, x=np.eye(400, 5))
    known = labels[people.edges][:, (labels[people.edges] >= 0).all(axis=0)]
    wanted = float(np.mean(known[0] == known[1]))
    found = import_graph([path], tmp_path / "imported.npz")["homophily"]
    options = RunOptions(method="lp-and", dataset=str(path), nulls=False, reference=False, out=None)
    record = simulate(options, keep_graph=False).record["dataset"]["homophily"]
    assert (found, measured(datasets.load(str(path))).homophily, record) == (wanted, wanted, wanted)


def test_without_labelled_neighbours_the_homophily_is_that_of_chance() -> None:
    people = datasets.load("generated", clients=400)
    assert measured(replace(people, labels=np.full(400, -1))).homophily == pytest.approx(1 / people.facts.classes)


@pytest.mark.parametrize("given", [
    {"n": 5}, {"n": 50, "features": 0}, {"n": 50, "classes": 1}, {"n": 50, "mean_degree": 50},
    {"n": 50, "homophily": 2}, {"n": 50, "words": 0},
])  # fmt: skip
def test_facts_that_cannot_be_are_refused_in_one_line(given: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"^--") as error:
        GraphFacts(**given)
    assert "\n" not in str(error.value)
