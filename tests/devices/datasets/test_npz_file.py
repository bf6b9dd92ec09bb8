"""A person's own graph, ``.npz`` or ``.pt``, in any layout: what is read, and what is refused with which line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets import load
from ldpsim.devices.datasets.array_layouts import classes_stated, numbered, of_layout
from ldpsim.devices.datasets.npz_file import population_of, write_npz_file

X = np.array([[0, 1, 0], [0.5, 0, 0], [0, 0, 0], [1, 1, 1]])
EDGES = np.array([[0, 1, 1, 2], [1, 0, 2, 2]])
Y = np.array([0, 1, 2, -1])
GOOD: dict[str, Any] = {"x": X, "edge_index": EDGES, "labels": Y}


def _write(folder: Path, **changes: Any) -> str:
    arrays = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    np.savez(folder / "mine.npz", **arrays)
    return str(folder / "mine.npz")


def test_what_is_written_reads_as_the_same_population(tmp_path: Path) -> None:
    for changes in ({}, {**SPLIT, "class_names": ["a", "b", "c"], "feature_range": [-1.0, 2.0]}, {"x": GOOD["x"] > 0}):
        population = load(_write(tmp_path, **changes))
        write_npz_file(population, tmp_path / "again.npz")
        again = load(str(tmp_path / "again.npz"))
        assert again.digest == population.digest
        assert (again.own_split is None) == ("train" not in changes)
    with np.load(tmp_path / "again.npz") as stored:
        assert "values" not in stored.files


@pytest.mark.parametrize("end", ["NPZ", "Pt", "PTH"])
def test_the_end_of_a_name_is_read_in_any_case(tmp_path: Path, end: str) -> None:
    path = Path(_write(tmp_path)) if end == "NPZ" else _save(tmp_path, {key: torch.tensor(GOOD[key]) for key in GOOD})
    assert load(str(Path(path).rename(tmp_path / f"MINE.{end}"))).facts.n == 4


def _adjacency() -> dict[str, Any]:
    dense = np.zeros((4, 4))
    dense[EDGES[0], EDGES[1]] = 1
    return _csr("adj", dense)


def _csr(front: str, dense: np.ndarray) -> dict[str, Any]:
    made = csr_array(dense)
    parts = {"data": made.data, "indices": made.indices, "indptr": made.indptr, "shape": made.shape}
    return {f"{front}_{name}": np.asarray(part) for name, part in parts.items()}


SPARSE = {"x": None, "indptr": [0, 1, 2, 2, 5], "indices": [1, 0, 2, 0, 1], "num_features": 3}
SPLIT = {"train": [0], "val": [1], "test": [2]}
# What `build_population` refuses is in tests/devices/data/test_population.py.
BAD: list[tuple[dict[str, Any], str]] = [
    ({**SPARSE, "num_features": 1 << 31}, "num_features: a number is outside"),
    ({"num_classes": 1 << 62}, "num_classes: a number is outside"),
    ({"x": np.where(X == 0.5, np.nan, X)}, "row 1, column 0: feature that is not a finite number"),
    ({"x": 1.01 * X}, r"row 0, column 1: feature outside \[0, 1\]"),
    ({"feature_range": [1, 0]}, "feature_range must be two finite numbers"),
    ({"x": X[0]}, r"x must be a table of numbers \(n, d\)"), ({"x": np.array([["a"]])}, "x must be a table of numbers"),
    ({**SPARSE, "indices": [1, 0, 2, 0, 3]}, r"do not fit: rows, columns: a number is outside 0\.\.2"),
    ({**SPARSE, "indptr": [0, 2, 1, 2, 5]}, "do not fit: rows: the rows do not follow"),
    ({**SPARSE, "indptr": [0, 1, 2, 2, 4.5]}, "do not fit: rows, row starts: an array of the type float64"),
    ({**SPARSE, "num_features": [3]}, "do not fit: num_features: an array"),
    ({"edge_index": np.array([[0, 1], [1, 4]])}, r"edge 1 joins 1 and 4, but nodes are 0\.\.3"),
    ({"edge_index": np.zeros((3, 3), int)}, r"edge_index must be whole numbers of shape \(2, m\)"),
    ({"edge_index": EDGES.astype(float)}, "edge_index must be whole numbers"),
    ({"edge_index": None}, "the edges are missing: edge_index, edges or .*; found x, labels"),
    ({"edge_index": None, "edges": np.zeros((2, 2), int)}, r"edges of shape \(2, 2\) has two readings"),
    ({"edge_index": None, **_adjacency(), "adj_indptr": [0, 1]}, "adj_indptr, adj_indices and adj_d"),
    ({"edge_index": None, "adj_indptr": [0, 1]}, "the array adj_indices is missing"),
    ({"labels": np.array([0, 1])}, "labels must be 4 whole numbers"),
    ({"labels": np.array([0.0, 1.5, np.nan, 0.0])}, "labels must be 4 whole numbers"),
    ({"labels": np.array([[1, 1], [0, 1], [0, 0], [1, 0]])}, "labels must be 4 whole numbers"),
    ({"num_classes": 2}, r"node 2 has label 2, but classes are 0\.\.1"),
    ({"train": [0], "val": [1]}, "a split has the arrays train, val, test; found train, val alone"),
    ({**SPLIT, "val": [0]}, "node 0 is in train and in val"), ({**SPLIT, "test": [4]}, "test names node 4"),
    ({**SPLIT, "test": [3]}, "node 3 is in test but has no label"),
    ({**SPLIT, "test": np.zeros(4, bool)}, "test must be a mask or a list of node numbers"),
    ({**SPLIT, "train": np.ones(3, bool)}, r"train mask has shape \(3,\)"),
]  # fmt: skip


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


def test_another_file_than_a_npz_is_not_taken_for_a_pickle(tmp_path: Path) -> None:
    (tmp_path / "mine.npz").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"^\S*mine\.npz is no \.npz file; `ldpsim import` makes one of CSV") as caught:
        load(str(tmp_path / "mine.npz"))
    assert "pickle" not in str(caught.value)


torch = pytest.importorskip("torch")


def _data(**changes: Any) -> Any:
    from torch_geometric.data import Data

    values = {
        "x": torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]),
        "edge_index": torch.tensor([[0, 1, 1, 3], [1, 0, 2, 3]]),
        "y": torch.tensor([0, 1, 2, 1]),
        **changes,
    }
    return Data(**{key: value for key, value in values.items() if value is not None})


def _save(folder: Path, what: Any) -> str:
    torch.save(what, folder / "graph.pt")
    return str(folder / "graph.pt")


def test_data_object(tmp_path: Path) -> None:
    mask = torch.eye(4, dtype=torch.bool)
    data = _data(train_mask=mask[0] | mask[3], val_mask=mask[1], test_mask=mask[2], num_classes=3)
    population = load(_save(tmp_path, data))
    assert (population.name, population.facts.n, population.facts.d, population.facts.classes) == ("graph", 4, 2, 3)
    np.testing.assert_array_equal(population.edges, [[0, 1], [1, 2]])
    np.testing.assert_array_equal(population.own_split.train, [0, 3])


class _Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("evil"),))


def test_code_in_the_file_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="cannot be read safely") as caught:
        load(_save(tmp_path, {"x": _Evil()}))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "evil").exists()


def test_not_a_data_object_and_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds a list, not a PyG Data object or a dict of tensors"):
        load(_save(tmp_path, [torch.zeros(2)]))
    with pytest.raises(ValueError, match="no such file"):
        load(str(tmp_path / "other.pt"))


MASKS = {"train": [True, False, False, False], "val": [False, True, False, False], "test": [False, False, True, False]}


def _population(**arrays: Any) -> Population:
    return population_of("g", "g.npz", of_layout("g.npz", arrays)[0])


PYG = {"x": X, "edge_index": EDGES, "y": Y, **{f"{part}_mask": np.array(mask) for part, mask in MASKS.items()}}
LAYOUTS: dict[str, dict[str, Any]] = {
    "pyg": PYG,
    "dgl, by from_dgl of PyG": {
        "feat": X, "label": Y[:, None], "edge_index": EDGES,
        **{f"{part}_mask": np.array(mask, np.uint8) for part, mask in MASKS.items()},
    },
    "places of the parts": {
        "x": X, "y": Y, "edge_index": EDGES, "train_idx": [0], "val_idx": [1], "test_idx": [2],
    },
    "shchur": {
        **_adjacency(), **_csr("attr", X), "labels": Y.astype(float), **SPLIT
    },
    "platonov": {
        "node_features": X, "node_labels": Y, "edges": EDGES.T,
        **{f"{part}_masks": np.array([mask, mask[::-1], mask]) for part, mask in MASKS.items()},
    },
    "own": {
        "edge_index": EDGES, "labels": Y, "indptr": csr_array(X).indptr, "indices": csr_array(X).indices,
        "values": csr_array(X).data, "num_features": 3, **SPLIT,
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
    notes = of_layout("g.npz", {**LAYOUTS[layout], "pos": X})[1]
    assert "g.npz: not read: pos" in notes
    assert ("g.npz: train_masks has 3 splits; the first is read" in notes) == (layout == "platonov")


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


@pytest.mark.parametrize(("labels", "stated", "classes", "names"), [
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
])  # fmt: skip
def test_classes_and_names(labels: list[Any], stated: tuple[str, ...], classes: list[int], names: Any) -> None:
    made, named = numbered(labels, stated)
    assert (made.tolist(), named) == (classes, names)


@pytest.mark.parametrize(("labels", "stated", "classes"), [
    (["-1", "1", "-1", ""], ("-1", "1"), [0, 1, 0, -1]),
    (["nan", "x", "NaN", "-1"], ("nan", "x"), [0, 1, -1, -1]),
    ([-1, 1, -1, 1], ("1", "-1"), [1, 0, 1, 0]),
    ([-1.0, 1.0, np.nan, 1.0], ("-1", "1"), [0, 1, -1, 1]),
    ([0, 1, -1, 2], ("-1", "0", "1", "2"), [1, 2, 0, 3]),
])  # fmt: skip
def test_a_class_that_is_stated_is_one_whatever_it_is_called(
    labels: list[Any], stated: tuple[str, ...], classes: list[int]
) -> None:
    """-1 and nan are no label otherwise; an empty text and the number nan never are one."""
    made, _ = of_layout("g.npz", {**PYG, "y": np.array(labels)}, class_names=stated)
    assert made["labels"].tolist() == classes and made["class_names"].tolist() == [*stated]


def test_a_row_without_a_1_is_no_label_also_where_the_class_minus_1_is_stated() -> None:
    coded = {**PYG, "y": np.array([[1, 0], [0, 0], [1, 0], [0, 0]])}
    assert of_layout("g.npz", coded, class_names=("0", "-1"))[0]["labels"].tolist() == [0, -1, 0, -1]


def test_minus_1_in_numbers_is_no_label_where_the_file_alone_has_such_a_class() -> None:
    """`import` writes class numbers beside the names, and -1 where a person has no label."""
    written = {**PYG, "y": np.array([-1, 1, 1, -1]), "class_names": np.array(["-1", "1"])}
    assert of_layout("g.npz", written)[0]["labels"].tolist() == [-1, 1, 1, -1]


@pytest.mark.parametrize(("labels", "stated", "classes"), [
    ([0, 1, 0, 1], ("1", "0"), [1, 0, 1, 0]),
    ([0.0, 1.0, np.nan, 0.0], ("1", "0"), [1, 0, -1, 1]),
    ([0, 1, 0, -1], ("a", "b"), [0, 1, 0, -1]),
    ([1, 1, 0, 0], ("0", "a"), [1, 1, 0, 0]),
    ([-2, 1, -2, 1], ("-2", "1"), [0, 1, 0, 1]),
])  # fmt: skip
def test_stated_names_mean_the_same_for_numbers_and_for_texts(
    labels: list[Any], stated: tuple[str, ...], classes: list[int]
) -> None:
    """Numbers that are all among the stated names are names; else they are places in that list."""
    made, _ = of_layout("g.npz", {**PYG, "y": np.array(labels)}, class_names=stated)
    assert made["labels"].tolist() == classes
    texts = ["" if label == -1 or label != label else f"{label:.0f}" for label in labels]
    assert of_layout("g.npz", {**PYG, "y": np.array(texts)}, class_names=stated)[0]["labels"].tolist() == classes


def test_columns_of_coded_labels_are_places_in_the_stated_list() -> None:
    coded = np.array([[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 1]])
    for stated in (("2", "1", "0"), ("a", "b", "c")):
        assert of_layout("g.npz", {**PYG, "y": coded}, class_names=stated)[0]["labels"].tolist() == [0, 2, -1, 2]


@pytest.mark.parametrize("labels", [[0, 1, 2, 1], [-2, 0, 1, 0]])
def test_numbers_that_are_neither_names_nor_places_are_one_line(labels: list[int]) -> None:
    with pytest.raises(ValueError, match=f"row 0, labels: '{labels[0]}' is none of the classes a, b; --class-names"):
        of_layout("g.npz", {**PYG, "y": np.array(labels)}, class_names=("a", "b"))


@pytest.mark.parametrize("shape", [(4, 0), (0, 4), (0, 0)])
def test_a_mask_of_no_split_is_one_line(shape: tuple[int, int]) -> None:
    arrays = {**PYG, "val_mask": np.zeros(shape, bool)}
    with pytest.raises(ValueError, match=r"g\.npz: val_mask has the shape \(\d, \d\), no split; --ignore val_mask"):
        of_layout("g.npz", arrays)
    assert "val" not in of_layout("g.npz", arrays, ignore=("val_mask",))[0]


@pytest.mark.parametrize(("arrays", "message"), [
    ({"format": np.array(["csr", "csr"]), "shape": [4, 4], "data": [1.0]}, r"format must be one text.*shape \(2,\)"),
    ({"format": np.array([], str), "shape": [4, 4], "data": [1.0]}, r"format must be one text.*shape \(0,\)"),
    ({**PYG, "y": np.zeros((4, 0))}, r"labels must be 4 whole numbers or texts, not float64 \(4, 0\)"),
])  # fmt: skip
def test_an_array_that_is_no_form_and_no_label_is_told_with_its_file(arrays: dict[str, Any], message: str) -> None:
    """numpy's own words name neither."""
    with pytest.raises(ValueError, match=rf"g\.npz: {message}"):
        of_layout("g.npz", arrays)


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
    assert len(of_layout("g.npz", _adjacency())[0]["labels"]) == 4
    assert len(of_layout("g.npz", {"edge_index": EDGES, "y": Y})[0]["labels"]) == 4


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
