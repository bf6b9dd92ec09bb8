from __future__ import annotations

import numpy as np
import pytest

from curator.methods.base import Graph
from devices.facts import Split
from devices.population import Population, build_population
from strategies.evaluation import accuracy, macro_f1, reconstruction


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


def test_standardised_features_are_compared_in_their_own_units(path_of_four: Population) -> None:
    centre, scale = np.array([0.5, 0.25], np.float32), np.array([2.0, 4.0], np.float32)
    truth = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    scaled = ((truth - centre) / scale).tolist()
    found = reconstruction(
        graph(scaled, [[0, 1, 2], [1, 2, 3]], feature_centre=centre, feature_scale=scale), path_of_four
    )
    assert found["feature_mae"] == pytest.approx(0, abs=1e-6)


def test_true_features_leave_the_error_of_the_edges(path_of_four: Population) -> None:
    found = reconstruction(graph([[9.0, 9.0]] * 4, [[0], [1]]), path_of_four, own_features=True)
    assert found["feature_mae"] == 0
    # nodes 2 and 3 lose their neighbours, node 1 its second one
    assert found["aggregate_mae"] == pytest.approx((0.5 + 0.5 + 1 + 1) / 8)


def test_no_edge_at_all_has_no_precision(path_of_four: Population) -> None:
    found = reconstruction(graph([[0.0, 0.0]] * 4, [[], []]), path_of_four)
    assert found["edge_precision"] is None and found["edge_recall"] == 0 and found["edges"] == 0


def test_accuracy_and_macro_f1(path_of_four: Population) -> None:
    split = Split(np.array([0]), np.array([1]), np.array([2, 3]))
    assert accuracy(np.array([0, 1, 1, 0]), path_of_four, split) == {
        "test": 0.5,
        "val": 0.0,
        "macro_f1": pytest.approx(1 / 3),
    }
    assert macro_f1(np.array([0, 0, 1]), np.array([0, 1, 1])) == pytest.approx(2 / 3)
    assert macro_f1(np.zeros(0, int), np.zeros(0, int)) is None
