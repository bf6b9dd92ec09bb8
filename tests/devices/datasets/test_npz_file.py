"""A person's own ``.npz``: what is read, and what is refused with which line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.datasets import load
from ldpsim.devices.datasets.npz_file import write_npz_file

GOOD: dict[str, Any] = {
    "x": np.array([[0, 1, 0], [0.5, 0, 0], [0, 0, 0], [1, 1, 1]], np.float64),
    "edge_index": np.array([[0, 1, 1, 2], [1, 0, 2, 2]]),
    "labels": np.array([0, 1, 2, -1]),
}


def _write(folder: Path, **changes: Any) -> str:
    arrays = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    np.savez(folder / "mine.npz", **arrays)
    return str(folder / "mine.npz")


def test_dense(tmp_path: Path) -> None:
    population = load(_write(tmp_path))
    assert (population.name, population.facts.n, population.facts.d, population.facts.classes) == ("mine", 4, 3, 3)
    np.testing.assert_array_equal(population.edges, [[0, 1], [1, 2]])
    np.testing.assert_array_equal(population.record(1).feature_values, [0.5])
    assert population.own_split is None


def test_sparse_is_the_same_population(tmp_path: Path) -> None:
    parts = {"indptr": [0, 1, 2, 2, 5], "indices": [1, 0, 2, 0, 1], "values": [1, 0.5, 1, 1, 1], "num_features": 3}
    dense = load(_write(tmp_path))
    assert load(_write(tmp_path, x=None, **parts)).digest == dense.digest


def test_optional_facts_and_split(tmp_path: Path) -> None:
    masks = {"train": np.array([True, False, False, False]), "val": np.array([1]), "test": np.array([2])}
    extra = {"num_classes": 4, "feature_range": [-1.0, 2.0], "class_names": ["a", "b", "c", "d"]}
    population = load(_write(tmp_path, **masks, **extra))
    facts = population.facts
    assert (facts.classes, facts.feature_low, facts.feature_high) == (4, -1.0, 2.0)
    assert facts.class_names == ("a", "b", "c", "d")
    assert population.own_split is not None
    assert [part.tolist() for part in (population.own_split.train, population.own_split.test)] == [[0], [2]]


def test_what_is_written_reads_as_the_same_population(tmp_path: Path) -> None:
    masks = {"train": [0], "val": [1], "test": [2]}
    for changes in ({}, {**masks, "class_names": ["a", "b", "c"], "feature_range": [-1.0, 2.0]}, {"x": GOOD["x"] > 0}):
        population = load(_write(tmp_path, **changes))
        write_npz_file(population, tmp_path / "again.npz")
        again = load(str(tmp_path / "again.npz"))
        assert again.digest == population.digest
        assert (again.own_split is None) == ("train" not in changes)
    with np.load(tmp_path / "again.npz") as stored:
        assert "values" not in stored.files


def _table(row: int, column: int, value: float) -> np.ndarray:
    table = GOOD["x"].copy()
    table[row, column] = value
    return table


SPARSE = {"x": None, "indptr": [0, 1, 2, 2, 5], "indices": [1, 0, 2, 0, 1], "num_features": 3}
BAD = [
    ({**SPARSE, "num_features": 1 << 62}, "num_features: a number is outside"),
    ({**SPARSE, "num_features": 1 << 31}, "num_features: a number is outside"),
    ({"num_classes": 1 << 62}, "num_classes: a number is outside"),
    ({"x": _table(2, 1, np.nan)}, "row 2, column 1: feature that is not a finite number"),
    ({"x": _table(3, 2, np.inf)}, "row 3, column 2: feature that is not a finite number"),
    ({"x": _table(1, 0, -0.01)}, r"row 1, column 0: feature outside \[0, 1\]"),
    ({"x": _table(0, 2, 1.01)}, r"row 0, column 2: feature outside \[0, 1\]"),
    ({"x": _table(0, 2, 1.01), "feature_range": [1, 0]}, "feature_range must be two finite numbers"),
    ({"x": GOOD["x"][0]}, r"x must be a table of numbers \(n, d\)"),
    ({"x": np.array([["a"]])}, "x must be a table of numbers"),
    (
        {"x": None, "indptr": [0, 1, 1, 1, 2], "indices": [0, 3], "num_features": 3},
        r"do not fit: rows, columns: a number is outside 0\.\.2",
    ),
    (
        {"x": None, "indptr": [0, 2, 1, 1, 2], "indices": [0, 1], "num_features": 3},
        "do not fit: rows: the rows do not follow",
    ),
    (
        {"x": None, "indptr": [0, 0, 0, 0, 0.5], "indices": [0], "num_features": 3},
        "do not fit: rows, row starts: an array of the type float64",
    ),
    ({"x": None, "indptr": [0, 0, 0, 0, 1], "indices": [0], "num_features": [3]}, "do not fit: num_features: an array"),
    ({"edge_index": np.array([[0, 1], [1, 4]])}, r"edge 1 joins 1 and 4, but nodes are 0\.\.3"),
    ({"edge_index": np.array([[0, -1], [1, 2]])}, "edge 1 joins -1 and 2"),
    (
        {"edge_index": np.array([[0, 1, 2], [1, 2, 3], [0, 0, 0]])},
        r"edge_index must be whole numbers of shape \(2, m\)",
    ),
    ({"edge_index": np.array([[0.0], [1.0]])}, "edge_index must be whole numbers"),
    ({"edge_index": None}, "the edges are missing: edge_index, .*; found x, labels"),
    ({"labels": np.array([0, 1])}, "labels must be 4 whole numbers"),
    ({"labels": np.array([0.0, 1.5, np.nan, 0.0])}, "labels must be 4 whole numbers"),
    ({"labels": np.array([0, 1, -2, 0])}, "node 2 has label -2"),
    ({"num_classes": 2}, r"node 2 has label 2, but classes are 0\.\.1"),
    ({"class_names": ["a", "b"], "num_classes": 3}, "2 class names for 3 classes"),
    ({"train": [0], "val": [1]}, "a split has the arrays train, val, test; found train, val alone"),
    ({"train": [0], "val": [0], "test": [1]}, "node 0 is in train and in val"),
    ({"train": [0], "val": [1], "test": [4]}, "test names node 4"),
    ({"train": [0], "val": [1], "test": [3]}, "node 3 is in test but has no label"),
    ({"train": [0], "val": [1], "test": np.zeros(4, bool)}, "test must be a mask or a list of node numbers"),
    ({"train": np.ones(3, bool), "val": [1], "test": [2]}, r"train mask has shape \(3,\)"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_bad_arrays_get_one_line(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = _write(tmp_path, **changes)
    with pytest.raises(ValueError, match=message) as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_object_arrays_are_not_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "mine.npz", x=np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"cannot be read as a \.npz of plain arrays"):
        load(str(tmp_path / "mine.npz"))
