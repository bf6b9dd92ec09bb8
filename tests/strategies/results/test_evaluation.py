from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ldpsim.curator.methods.base import Graph
from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.datasets import load
from ldpsim.devices.datasets.npz_file import write_npz_file
from ldpsim.devices.facts import Split
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.outputs.run_lines import lines_of
from ldpsim.strategies.results.evaluation import accuracy, auc, macro_f1, reconstruction


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
    assert exact == {"edge_precision": 1.0, "edge_recall": 1.0, "edges": 3, "feature_mae": 0.0}
    # edge 2-3 is missing, 0-3 is spurious; feature (3, 0) is .5 too high
    wrong = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.0]]
    found = reconstruction(graph(wrong, [[0, 1, 0], [1, 2, 3]]), path_of_four)
    assert found["edge_precision"] == found["edge_recall"] == pytest.approx(2 / 3)
    assert found["feature_mae"] == pytest.approx(0.5 / 8)
    assert reconstruction(graph(wrong, [[0], [1]]), path_of_four, own_features=True)["feature_mae"] == 0


def test_an_edge_that_is_named_twice_is_refused(path_of_four: Population) -> None:
    """Its recall was 199.9 % in a run of a method whose pairs came from both ends."""
    twice = graph([[0.0, 0.0]] * 4, [[0, 0, 1], [1, 1, 2]])
    with pytest.raises(ValueError, match="^the method's graph names an edge twice"):
        reconstruction(twice, path_of_four)


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


def test_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    scores = np.array([[0.9, 0.1], [0.6, 0.4], [0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])
    truth = np.array([0, 0, 1, 1, 0])
    assert auc(scores, truth) == pytest.approx((3 + 1 + 0.5) / 6)  # six pairs: 3, 1 and a tie
    assert auc(scores, np.zeros(5, int)) is None


def test_auc_is_beside_accuracy_where_one_class_has_most_people(tmp_path: Path) -> None:
    people = load("generated", clients=60, seed=1)
    for share, key in ((0.7, False), (0.8, True)):
        labels = (np.arange(60) >= 60 * share).astype(np.int64)
        facts = replace(people.facts, classes=2, class_names=())
        write_npz_file(replace(people, labels=labels, facts=facts), tmp_path / "skewed.npz")
        for method in ("hogs", "fedavg-mlp"):
            rounds = {"rounds": "2"} if method != "hogs" else {"epochs": "2"}
            options = RunOptions(method=method, dataset=str(tmp_path / "skewed.npz"), out=None, settings=rounds)
            record = simulate(options).record
            assert ("auc" in record["accuracy"]) == key
            (line, *_) = lines_of(record)
            assert ("(AUC 0." in line.text) == key
