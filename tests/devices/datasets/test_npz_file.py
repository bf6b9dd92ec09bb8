"""A person's own ``.npz``: what is read, and what is refused with which line."""

from __future__ import annotations

import struct
import zipfile
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
HUGE = r"facts need sizes up to 2147483647"
BAD = [
    ({**SPARSE, "num_features": 1 << 62}, HUGE),
    ({**SPARSE, "num_features": 1 << 31}, HUGE),
    ({"num_classes": 1 << 62}, HUGE),
    ({"labels": np.array([0, 1, 1 << 62, -1])}, HUGE),
    ({"x": _table(2, 1, np.nan)}, "row 2, column 1: feature that is not a finite number"),
    ({"x": _table(3, 2, np.inf)}, "row 3, column 2: feature that is not a finite number"),
    ({"x": _table(1, 0, -0.01)}, r"row 1, column 0: feature outside \[0, 1\]"),
    ({"x": _table(0, 2, 1.01)}, r"row 0, column 2: feature outside \[0, 1\]"),
    ({"x": _table(0, 2, 1.01), "feature_range": [1, 0]}, "feature_range must be two finite numbers"),
    ({"x": GOOD["x"][0]}, r"x must be a table of numbers \(n, d\)"),
    ({"x": np.array([["a"]])}, "x must be a table of numbers"),
    ({"x": None}, "the features are missing"),
    ({"x": None, "indptr": [0, 1, 1, 1, 1], "num_features": 3}, "the array indices is missing"),
    (
        {"x": None, "indptr": [0, 1, 1, 1, 2], "indices": [0, 3], "num_features": 3},
        r"row 3, column 3: feature column outside 0\.\.2",
    ),
    ({"x": None, "indptr": [0, 2, 1, 1, 2], "indices": [0, 1], "num_features": 3}, "do not describe 4 people"),
    ({"x": None, "indptr": [0, 0, 0, 0, 0.5], "indices": [0], "num_features": 3}, "indptr must be a list of whole"),
    ({"x": None, "indptr": [0, 0, 0, 0, 1], "indices": [0], "num_features": [3]}, "num_features must be one whole"),
    ({"edge_index": np.array([[0, 1], [1, 4]])}, r"edge 1 joins 1 and 4, but nodes are 0\.\.3"),
    ({"edge_index": np.array([[0, -1], [1, 2]])}, "edge 1 joins -1 and 2"),
    (
        {"edge_index": np.array([[0, 1, 2], [1, 2, 3], [0, 0, 0]])},
        r"edge_index must be whole numbers of shape \(2, m\)",
    ),
    ({"edge_index": np.array([[0.0], [1.0]])}, "edge_index must be whole numbers"),
    ({"edge_index": None}, "the array edge_index is missing; found labels, x"),
    ({"labels": np.array([0, 1])}, "labels must be 4 whole numbers"),
    ({"labels": np.array([0.0, 1.0, np.nan, 0.0])}, "labels must be 4 whole numbers"),
    ({"labels": np.array([0, 1, -2, 0])}, "node 2 has label -2"),
    ({"num_classes": 2}, r"node 2 has label 2, but classes are 0\.\.1"),
    ({"class_names": ["a", "b"], "num_classes": 3}, "2 class names for 3 classes"),
    ({"train": [0], "val": [1]}, "the array test is missing"),
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


def _with_header(folder: Path, shape: str, *, data: bytes = b"") -> str:
    """Write a file whose edges have a header that says more than is there."""
    path = _write(folder, edge_index=None)
    head = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}}}".encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("edge_index.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data)
    return path


@pytest.mark.parametrize("shape", ["(2, 1152921504606846976)", f"(2, {10**12})", "(2, 2)", "(0, 0)", "(2, -1)"])
def test_a_size_takes_no_memory_before_it_is_checked(tmp_path: Path, shape: str) -> None:
    _with_header(tmp_path, "(2, 1)", data=bytes(16))
    load(str(tmp_path / "mine.npz"))
    with pytest.raises(ValueError, match="edge_index.npy does not hold what its header says"):
        load(_with_header(tmp_path, shape, data=bytes(16)))
