"""Layouts of arrays that other collections publish."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.array_layouts import classes_stated, numbered, of_layout
from ldpsim.devices.datasets.npz_file import population_of

X = np.array([[0, 1, 0], [0.5, 0, 0], [0, 0, 0], [1, 1, 1]])
EDGES = np.array([[0, 1, 1, 2], [1, 0, 2, 2]])
Y = np.array([0, 1, 2, -1])
MASKS = {"train": [True, False, False, False], "val": [False, True, False, False], "test": [False, False, True, False]}


def _csr(front: str, dense: np.ndarray) -> dict[str, Any]:
    made = csr_array(dense)
    parts = {"data": made.data, "indices": made.indices, "indptr": made.indptr, "shape": made.shape}
    return {f"{front}_{name}": np.asarray(part) for name, part in parts.items()}


def _adjacency() -> np.ndarray:
    dense = np.zeros((4, 4))
    dense[EDGES[0], EDGES[1]] = 1
    return dense


def _population(**arrays: Any) -> Population:
    return population_of("g", "g.npz", of_layout("g.npz", arrays)[0])


PYG = {"x": X, "edge_index": EDGES, "y": Y, **{f"{part}_mask": np.array(mask) for part, mask in MASKS.items()}}
LAYOUTS: dict[str, dict[str, Any]] = {
    "pyg": PYG,
    "dgl": {
        "ndata.feat": X, "ndata.label": Y, "src": EDGES[0], "dst": EDGES[1],
        **{f"ndata.{part}_mask": np.array(mask, np.uint8) for part, mask in MASKS.items()},
    },
    "tuple of ends": {
        "ndata/feat": X, "ndata/label": Y[:, None], "edges.0": EDGES[0], "edges.1": EDGES[1],
        "train_idx": [0], "val_idx": [1], "test_idx": [2],
    },
    "shchur": {
        **_csr("adj", _adjacency()), **_csr("attr", X), "labels": Y.astype(float), "train": [0], "val": [1], "test": [2]
    },
    "platonov": {
        "node_features": X, "node_labels": Y, "edges": EDGES.T,
        **{f"{part}_masks": np.array([mask, mask[::-1], mask]) for part, mask in MASKS.items()},
    },
    "own": {
        "edge_index": EDGES, "labels": Y, "indptr": csr_array(X).indptr, "indices": csr_array(X).indices,
        "values": csr_array(X).data, "num_features": 3, "train": [0], "val": [1], "test": [2],
    },
    "one-hot labels": {**PYG, "y": np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]])},
    "labels with nan": {**PYG, "y": np.array([0, 1, 2, np.nan])},
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_the_same_population(layout: str) -> None:
    population = _population(**LAYOUTS[layout])
    assert population.digest == _population(**PYG).digest
    assert population.own_split is not None
    split = population.own_split
    assert [part.tolist() for part in (split.train, split.val, split.test)] == [[0], [1], [2]]
    np.testing.assert_array_equal(population.edges, [[0, 1], [1, 2]])
    np.testing.assert_array_equal(population.labels, Y)


def test_notes_on_what_is_not_used() -> None:
    assert of_layout("g.npz", {**PYG, "pos": X, "edge_attr": X})[1] == ("g.npz: not read: pos, edge_attr",)
    assert of_layout("g.npz", LAYOUTS["platonov"])[1][0] == "g.npz: train_masks has 3 splits; the first is read"
    assert of_layout("g.npz", LAYOUTS["own"])[1] == ()


def test_classes_stated_or_counted() -> None:
    assert not classes_stated(PYG) and classes_stated({**PYG, "num_classes": 5})
    assert _population(**PYG, num_classes=5).facts.classes == 5
    assert _population(**PYG, class_names=["a", "b", "c"]).facts.class_names == ("a", "b", "c")
    made, _ = of_layout("g.npz", PYG, class_names=("a", "b", "c", "d"))
    assert made["class_names"].tolist() == ["a", "b", "c", "d"]


def test_labels_as_text() -> None:
    made, _ = of_layout("g.npz", {**PYG, "y": np.array(["red", "blue", "red", ""])})
    assert made["labels"].tolist() == [1, 0, 1, -1] and made["class_names"].tolist() == ["blue", "red"]
    assert of_layout("g.npz", {**PYG, "y": np.array([b"a", b"b", b"a", b""])})[0]["labels"].tolist() == [0, 1, 0, -1]
    with pytest.raises(ValueError, match="row 1, labels: 'blue' is none of the classes red; --class-names states all"):
        of_layout("g.npz", {**PYG, "y": np.array(["red", "blue", "red", ""])}, class_names=("red",))


@pytest.mark.parametrize(
    ("labels", "stated", "classes", "names"),
    [
        (["1", "0", "2", "-1"], (), [1, 0, 2, -1], ()),
        ([1.0, 0.0, float("nan"), None], (), [1, 0, -1, -1], ()),
        (["red", " blue ", "", "NaN", "None"], (), [2, 1, -1, -1, 0], ("None", "blue", "red")),
        (["10", "9", "2"], (), [2, 1, 0], ("2", "9", "10")),
        (["1", "2.0"], (), [0, 1], ("1", "2")),
        (["07", "7"], (), [0, 1], ("07", "7")),
        (["red", ""], ("green", "red", "blue"), [1, -1], ("green", "red", "blue")),
        (["2", "0"], ("a", "b", "c"), [2, 0], ("a", "b", "c")),
        (["5", "3"], ("3", "5"), [1, 0], ("3", "5")),
        (["", "-1"], (), [-1, -1], ()),
    ],
)
def test_classes_and_names(labels: list[Any], stated: tuple[str, ...], classes: list[int], names: Any) -> None:
    made, named = numbered(labels, stated)
    assert (made.tolist(), named) == (classes, names)


def test_other_array_for_the_labels_and_arrays_left_out() -> None:
    arrays = {**PYG, "team": np.array([1, 1, 0, 0])}
    assert of_layout("g.npz", arrays, label="team")[0]["labels"].tolist() == [1, 1, 0, 0]
    assert "train" not in of_layout("g.npz", PYG, ignore=("train_mask",))[0]
    with pytest.raises(ValueError, match="--label age: no such array; g.npz has x, edge_index"):
        of_layout("g.npz", PYG, label="age")


def test_no_features_and_no_labels() -> None:
    made, _ = of_layout("g.npz", {"edge_index": EDGES})
    assert made["labels"].tolist() == [-1, -1, -1] and int(made["num_features"]) == 0
    assert len(of_layout("g.npz", {"edge_index": EDGES, "num_nodes": 6})[0]["labels"]) == 6
    assert len(of_layout("g.npz", _csr("adj", _adjacency()))[0]["labels"]) == 4
    assert len(of_layout("g.npz", {"edge_index": EDGES, "y": Y})[0]["labels"]) == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edge_index": None}, "the edges are missing: edge_index, edges, .*; found x, y"),
        ({"edge_index": None, "edges": np.zeros((2, 2), int)}, r"edges of shape \(2, 2\) has two readings"),
        ({"edge_index": EDGES.astype(float)}, "edge_index must be whole numbers"),
        ({"edge_index": None, **_csr("adj", _adjacency()), "adj_indptr": [0, 1]}, "adj_indptr, adj_indices and adj_d"),
        ({"edge_index": None, "adj_indptr": [0, 1]}, "the array adj_indices is missing"),
        ({"x": np.array([["a"]])}, "x must be a table of numbers"),
        ({"y": np.array([[1, 1], [0, 1], [0, 0], [1, 0]])}, "labels must be 4 whole numbers"),
        ({"y": np.array([0.5, 1, 2, 0])}, "labels must be 4 whole numbers"),
        ({"y": np.array([0, 1])}, "labels must be 4 whole numbers"),
    ],
)
def test_arrays_at_fault(changes: dict[str, Any], message: str) -> None:
    arrays = {**{key: PYG[key] for key in ("x", "edge_index", "y")}, **changes}
    with pytest.raises(ValueError, match=message) as caught:
        _population(**{key: array for key, array in arrays.items() if array is not None})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [
    *({f"{front}_indices": np.array(columns)} for front in ("adj", "attr") for columns in (
        [1, 2_000_000_000, 2, 2, 1], [1, -1, 2, 2, 1], [1.0, 0.0, 2.0, 2.0, 1.0], [[1, 0, 2, 2, 1]], 1, ["1"] * 5)),
    *({f"{front}_indptr": np.array(starts)} for front in ("adj", "attr") for starts in (
        [0, 3, 1, 4, 4], [1, 1, 2, 4, 4], [0, 1, 2, 3], [0, 1, 2, 4, 400], [0.0, 1, 2, 4, 4])),
    *({f"{front}_shape": shape} for front in ("adj", "attr") for shape in (
        [4], [4, -4], [4.0, 4.0], 7, "ab", [4, 1], [1 << 40, 4])),
    *({f"{front}_data": data} for front in ("adj", "attr") for data in (np.ones(2), np.array(["a"] * 5), 1.0)),
], ids=str)  # fmt: skip
def test_parts_of_a_matrix_that_do_not_fit_are_one_line(wrong: dict[str, Any]) -> None:
    """scipy would read and write memory of something else."""
    with pytest.raises(ValueError, match=r"g\.npz: .* do not fit: ") as caught:
        of_layout("g.npz", {**LAYOUTS["shchur"], **wrong})
    assert "\n" not in str(caught.value)
