from __future__ import annotations

import pytest

from devices import datasets
from strategies.estimate.graph_facts import GraphFacts, known_before, measured
from strategies.setup.options import RunOptions


@pytest.mark.parametrize("name", ["generated", "generated-v1"])
def test_the_facts_of_a_generated_graph_are_those_of_the_graph(name: str) -> None:
    known = known_before(RunOptions(dataset=name, clients=800))
    assert known is not None
    found = measured(datasets.load(name, clients=800))
    assert (known.n, known.features, known.classes) == (found.n, found.features, found.classes)
    assert known.mean_degree == pytest.approx(found.mean_degree, rel=0.05)
    assert known.homophily == pytest.approx(found.homophily, abs=0.05)
    assert known.words == pytest.approx(found.words, rel=0.15)


def test_nothing_is_known_of_a_file_that_is_not_read() -> None:
    assert known_before(RunOptions(dataset="own.npz")) is None


@pytest.mark.parametrize("given", [
    {"n": 5}, {"n": 50, "features": 0}, {"n": 50, "classes": 1}, {"n": 50, "mean_degree": 50},
    {"n": 50, "homophily": 2}, {"n": 50, "words": 0},
])  # fmt: skip
def test_facts_that_cannot_be_are_refused_in_one_line(given: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"^--") as error:
        GraphFacts(**given)
    assert "\n" not in str(error.value)
