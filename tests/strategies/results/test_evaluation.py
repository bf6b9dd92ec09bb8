from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.methods.base import Graph, Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.facts import Split
from ldpsim.devices.mechanisms import RandomizedResponse
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.results.evaluation import accuracy, degrees, macro_f1, mean_degrees, reconstruction


@pytest.fixture
def path_of_four() -> Population:
    """0 - 1 - 2 - 3, with features 10, 01, 11 and none."""
    return build_population(
        "path", n=4, d=2, edges=np.array([[0, 1, 2], [1, 2, 3]]), feature_indptr=np.array([0, 1, 2, 4, 4]),
        feature_indices=np.array([0, 1, 0, 1]), feature_values=None, labels=np.array([0, 0, 1, 1]), classes=2,
    )  # fmt: skip


def graph(features: list[list[float]], edges: list[list[int]], **notes: object) -> Graph:
    nobody = np.zeros(0, np.int64)
    both = np.array(edges, np.int64)
    return Graph(
        np.array(features, np.float32),
        np.concatenate([both, both[::-1]], axis=1),
        None,
        np.zeros(4, np.int64),
        nobody,
        nobody,
        notes,
    )


def test_hand_worked_errors(path_of_four: Population) -> None:
    truth = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    exact = reconstruction(graph(truth, [[0, 1, 2], [1, 2, 3]]), path_of_four)
    assert exact == {"edge_precision": 1.0, "edge_recall": 1.0, "edges": 3, "feature_mae": 0.0, "aggregate_mae": 0.0}
    # edge 2-3 is missing, 0-3 is spurious; feature (3, 0) is .5 too high
    wrong = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.0]]
    found = reconstruction(graph(wrong, [[0, 1, 0], [1, 2, 3]]), path_of_four)
    assert found["edge_precision"] == found["edge_recall"] == pytest.approx(2 / 3)
    assert found["feature_mae"] == pytest.approx(0.5 / 8)
    # true means: [0 1], [1 .5], [0 .5], [1 1]; guessed: [.25 .5], [1 .5], [0 1], [1 0]
    assert found["aggregate_mae"] == pytest.approx((0.25 + 0.5 + 0.5 + 1) / 8)


def test_an_edge_that_is_named_twice_is_refused(path_of_four: Population) -> None:
    """Its recall was 199.9 % in a run of a method whose pairs came from both ends."""
    twice = graph([[0.0, 0.0]] * 4, [[0, 0, 1], [1, 1, 2]])
    with pytest.raises(ValueError, match="^the method's graph names an edge twice"):
        reconstruction(twice, path_of_four)
    often = graph([[0.0, 0.0]] * 4, [[0] * 9, [1] * 9])
    assert degrees(often, path_of_four)["reconstructed"] is not None  # more neighbours than people


def test_standardised_features_are_compared_in_their_own_units(path_of_four: Population) -> None:
    centre, scale = np.array([0.5, 0.25], np.float32), np.array([2.0, 4.0], np.float32)
    truth = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    scaled = ((truth - centre) / scale).tolist()
    found = reconstruction(
        graph(scaled, [[0, 1, 2], [1, 2, 3]], feature_centre=centre, feature_scale=scale), path_of_four
    )
    assert found["feature_mae"] == pytest.approx(0, abs=1e-6)
    for half in ({"feature_centre": centre}, {"feature_scale": scale}):  # one alone says nothing about their units
        assert reconstruction(graph(truth.tolist(), [[0], [1]], **half), path_of_four)["feature_mae"] == 0


def test_accuracy_and_macro_f1(path_of_four: Population) -> None:
    split = Split(np.array([0]), np.array([1]), np.array([2, 3]))
    assert accuracy(np.array([0, 1, 1, 0]), path_of_four, split) == {
        "test": 0.5,
        "val": 0.0,
        "macro_f1": pytest.approx(1 / 3),
    }
    assert macro_f1(np.array([0, 0, 1]), np.array([0, 1, 1])) == pytest.approx(2 / 3)
    assert macro_f1(np.zeros(0, int), np.zeros(0, int)) is None


def reports(population: Population, rows: dict[int, list[int]], reporting: str) -> Reports:
    """Rows as devices would have sent them; who is left out was silent."""
    mechanism = RandomizedResponse.from_epsilon(1.0, n=4, reporting=reporting)  # type: ignore[arg-type]
    question = Question(Query("c", ((Ask("adjacency", (mechanism,)),),)))
    blank = Reports.from_bytes(population.facts, [question], {})
    ones = np.zeros((4, 4), np.bool_)
    for device, row in rows.items():
        ones[device, row] = True
    answered = np.isin(np.arange(4), list(rows))
    return Reports(population.facts, blank.asks, blank.asked, answered, {"adjacency": csr_array(ones)})


def test_degrees_worked_by_hand(path_of_four: Population) -> None:
    star = graph([[0.0, 0.0]] * 4, [[0, 0, 0], [1, 2, 3]])
    silent_three = reports(path_of_four, {0: [1, 2, 3], 1: [], 2: [0]}, "both")
    assert degrees(star, path_of_four, silent_three) == {
        "from": [0, 1, 2, 3], "true": [0, 2, 2, 0], "noisy": [1, 1, 0, 1], "reconstructed": [0, 3, 0, 1],
    }  # fmt: skip
    # one end: device 3 says 0 and 1, device 1 says 0: pairs 0-3, 1-3, 0-1
    low = reports(path_of_four, {0: [], 1: [0], 2: [], 3: [0, 1]}, "one-end")
    assert degrees(star, path_of_four, low)["noisy"] == [1, 0, 3, 0]
    nobody_asked = degrees(star, path_of_four)
    assert nobody_asked["noisy"] is None and nobody_asked["true"] == [0, 2, 2, 0]


def test_mean_degrees_over_repeats_whose_bins_end_apart() -> None:
    short = {"from": [0, 1], "true": [2.0, 2.0], "noisy": None, "reconstructed": [4.0, 0.0]}
    long = {"from": [0, 1, 2], "true": [2.0, 2.0, 0.0], "noisy": None, "reconstructed": [0.0, 2.0, 2.0]}
    assert mean_degrees([short, long]) == {
        "from": [0, 1, 2], "true": [2.0, 2.0, 0.0], "noisy": None, "reconstructed": [2.0, 1.0, 1.0],
    }  # fmt: skip
