"""A whole import: round trips, choices, files that stay as they were, and files of a deployment."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import zipfile
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets import load
from ldpsim.devices.enrolment.record_file import read_own_data
from ldpsim.strategies.importing import graph_import
from ldpsim.strategies.importing.graph_import import import_graph, rescaled
from ldpsim.strategies.importing.options import ImportOptions, WrongFiles

CSV = {
    "edges.csv": "source,target\na,b\nb,a\nb,c\nc,c\nd,a\n",
    "people.csv": "id,age,tall,label\na,0.5,1,red\nb,1,0,blue\nc,0,1,\nd,0,0,red\n",
}


def _files(folder: Path, **changes: str) -> list[Path]:
    for name, text in {**CSV, **{f"{key}.csv": text for key, text in changes.items()}}.items():
        (folder / name).write_text(text)
    return [folder / "edges.csv", folder / "people.csv"]


def _people() -> Population:
    return load("generated", clients=40, seed=3)


def _as_data(population: Population) -> Data:
    x = np.zeros((len(population), population.facts.d), np.float32)
    rows = np.repeat(np.arange(len(x)), np.diff(population.feature_indptr))
    x[rows, population.feature_indices] = population.feature_values
    both = np.concatenate([population.edges, population.edges[::-1]], axis=1)
    masks = {part: torch.arange(len(x)) % 3 == k for k, part in enumerate(("train_mask", "val_mask", "test_mask"))}
    arrays = {"x": torch.from_numpy(x), "edge_index": torch.from_numpy(both), "y": torch.from_numpy(population.labels)}
    return Data(**arrays, **masks)


def _export(folder: Path, form: str, population: Population) -> list[Path]:
    data, path = _as_data(population), folder / f"graph.{form}"
    if form == "pt":
        torch.save(data, path)
    elif form == "npz":
        np.savez(path, **{name: value.numpy() for name, value in data.to_dict().items()})
    elif form == "csv":
        lines = ["id,label,train_mask,val_mask,test_mask," + ",".join(f"f{k}" for k in range(population.facts.d))]
        for node, row in enumerate(data.x.tolist()):
            masks = [bool(data[f"{part}_mask"][node]) for part in ("train", "val", "test")]
            lines.append(",".join(map(str, [node, int(data.y[node]), *masks, *row])))
        path.write_text("\n".join(lines) + "\n")
        np.savetxt(folder / "graph.edges", population.edges.T, fmt="%d")
        return [path, folder / "graph.edges"]
    else:
        names = ["y", "train_mask", "val_mask", "test_mask", *(["x"] if form == "gml" else [])]
        graph = to_networkx(data, node_attrs=names, to_undirected=True)
        if form == "graphml":
            for node, row in enumerate(data.x.tolist()):
                graph.nodes[node].update({f"f{k}": value for k, value in enumerate(row)})
        (nx.write_gml if form == "gml" else nx.write_graphml)(graph, path)
    return [path]


@pytest.mark.parametrize("form", ["pt", "npz", "csv", "gml", "graphml"])
def test_round_trip(tmp_path: Path, form: str) -> None:
    """Power: every number of the population and its split come back, by way of each form."""
    population = _people()
    found = import_graph(_export(tmp_path, form, population), tmp_path / "mine.npz")
    again = load(str(tmp_path / "mine.npz"))
    for name in ("feature_indptr", "feature_indices", "feature_values", "neighbour_indptr", "neighbour_indices"):
        np.testing.assert_array_equal(getattr(again, name), getattr(population, name))
    np.testing.assert_array_equal(again.labels, population.labels)
    assert again.own_split is not None and again.own_split.val.tolist() == list(range(1, 40, 3))
    assert found["homophily"] == pytest.approx(population.homophily)
    assert found["edges"]["kept"] == population.edges.shape[1]
    assert _digest(tmp_path / "mine.npz") == "54d6fe34c47cb2fd"
    import_graph([tmp_path / "mine.npz"], tmp_path / "two.npz", ImportOptions())
    assert _digest(tmp_path / "two.npz") == "54d6fe34c47cb2fd"
    assert found["next"] == f"ldpsim run --dataset {tmp_path / 'mine.npz'} --split file"
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("stated", [("1", "2", "3", "4"), ("4", "3", "2")])
def test_numbers_as_names_of_classes_come_back_from_the_file(tmp_path: Path, stated: tuple[str, ...]) -> None:
    """Nobody has the first class, so that the written numbers of classes look like the names of others."""
    people = "id,age,label\na,0,2\nb,1,3\nc,0,2\nd,0,\n"
    import_graph(_files(tmp_path, people=people), tmp_path / "mine.npz", ImportOptions(class_names=stated))
    found = load(str(tmp_path / "mine.npz"))
    assert [found.facts.class_names[label] if label >= 0 else "" for label in found.labels] == ["2", "3", "2", ""]


def test_names_are_in_no_file_unless_asked(tmp_path: Path) -> None:
    files = _files(tmp_path, people=CSV["people.csv"].replace("\na,", "\nannabelle,"), edges="source,target\nb,c\n")
    import_graph(files, tmp_path / "mine.npz")
    with np.load(tmp_path / "mine.npz") as stored:
        assert all("annabelle" not in str(stored[name]) for name in stored.files)


def test_files_that_are_there_stay(tmp_path: Path) -> None:
    out = tmp_path / "mine.npz"
    out.write_bytes(b"precious")
    with pytest.raises(ValueError, match=r"--out .*mine\.npz: it is there already; --force replaces it"):
        import_graph(_files(tmp_path), out)
    assert out.read_bytes() == b"precious"
    with pytest.raises(ValueError, match="row 2, column age"):
        import_graph(_files(tmp_path, people="id,age\na,x\n"), out, force=True)
    assert out.read_bytes() == b"precious"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    import_graph(_files(tmp_path), out, force=True)
    assert len(load(str(out))) == 4


@pytest.mark.parametrize(("ids", "vaults"), [("mine.npz", None), ("a/../mine.npz", None), ("w", "w")])
def test_two_outputs_of_one_name_are_refused(tmp_path: Path, ids: str, vaults: str | None) -> None:
    """The second one would replace the first one."""
    (tmp_path / "a").mkdir()
    folder = tmp_path / vaults if vaults else None
    with pytest.raises(ValueError, match="has the same name; give each its own"):
        import_graph(_files(tmp_path), tmp_path / "mine.npz", ids=tmp_path / ids, vaults=folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "edges.csv", "people.csv"]


def test_a_value_outside_the_range_names_row_column_and_remedy(tmp_path: Path) -> None:
    files = _files(tmp_path, people=CSV["people.csv"].replace("b,1,", "b,38,"))
    with pytest.raises(ValueError) as caught:
        import_graph(files)
    line = str(caught.value)
    assert line.startswith("people.csv: row 3, column age: feature outside [0, 1]; --feature-range LOW,HIGH states")
    assert "itself a release" in line and "\n" not in line
    found = import_graph(files, options=ImportOptions(feature_range=(0, 120)))
    assert found["public"]["feature_range"] == [0, 120] and found["public"]["feature_range_from"] == "stated"
    with pytest.raises(ValueError, match=r"people\.csv: row 3, column tall: feature 0 outside \[0.5, 120\]"):
        import_graph(files, options=ImportOptions(feature_range=(0.5, 120)))
    files = _files(tmp_path, people=CSV["people.csv"].replace("0.5", "inf"))
    for scale in (None, "minmax", "clip", "binary"):  # none hides a number that is none
        options = ImportOptions(scale=scale)
        with pytest.raises(ValueError, match="row 2, column age: feature that is not a finite number; .*"):
            import_graph(files, options=options)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("source", "a"), ("target", "b"), ("id", "c"), ("one_hot", ("z",)), ("decimal", ","), ("missing", "zero"),
        ("duplicates", "last"), ("without_row", "keep"), ("ignore_case", True),
    ],
)  # fmt: skip
def test_arrays_refuse_the_options_of_text(tmp_path: Path, option: str, value: Any) -> None:
    """They were ignored without a word."""
    np.savez(tmp_path / "g.npz", x=np.eye(3), edge_index=np.array([[0, 1], [1, 2]]), y=np.array([0, 1, 0]))
    read = {"label": "y", "class_names": ("a", "b"), "feature_range": (0, 2), "scale": "clip", "masks": "drop"}
    assert import_graph([tmp_path / "g.npz"], options=ImportOptions(**read))["people"] == 3
    with pytest.raises(ValueError) as caught:
        import_graph([tmp_path / "g.npz"], options=ImportOptions(**read, **{option: value}))
    assert str(caught.value) == (
        f"--{option.replace('_', '-')}: for files of text alone; g.npz is read with --label, --ignore, --class-names, "
        "--feature-range, --scale, --masks"
    )


@pytest.mark.parametrize("span", [["low", "high"], [0.0], [1.0, 0.0], 3.0, [[0.0, 1.0]]])
def test_a_range_that_is_none_is_told_before_values_are_clipped(tmp_path: Path, span: Any) -> None:
    arrays = {"x": np.eye(3), "edge_index": np.array([[0, 1], [1, 2]]), "y": np.array([0, 1, 0])}
    np.savez(tmp_path / "g.npz", **arrays, feature_range=np.array(span))
    for scale in (None, "clip"):
        with pytest.raises(
            ValueError, match=r"g\.npz: feature_range must be two finite numbers, the smaller one first"
        ):
            import_graph([tmp_path / "g.npz"], options=ImportOptions(scale=scale))


@pytest.mark.parametrize(
    ("edges", "people", "options", "line"),
    [
        ("source,target\n", None, {}, "edges.csv: there are no people: no edge, label or row of features has one"),
        ("source,target\n", "id,x\n", {}, "people.csv: there are no people: no edge, label or row of features has one"),
        ("source,target\na,b\n", "id,x\na,\nb,\n", {"missing": "drop"},
         "people.csv: nobody is left; --missing drop left out all who were there"),
        ("source,target\na,b\n", "id,x\n", {"without_row": "drop"},
         "people.csv: nobody is left; --without-row drop left out all who were there"),
    ],
)  # fmt: skip
def test_a_graph_of_nobody_is_told_with_its_file(
    tmp_path: Path, edges: str, people: str | None, options: dict[str, str], line: str
) -> None:
    files = _files(tmp_path, edges=edges, **({"people": people} if people else {}))[: 2 if people else 1]
    with pytest.raises(WrongFiles) as caught:
        import_graph(files, options=ImportOptions(**options))
    assert caught.value.faults == (line,)


def test_an_array_of_nobody_is_told_with_its_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", x=np.zeros((0, 2)), edge_index=np.zeros((2, 0), int), y=np.zeros(0, int))
    for read in (load, lambda path: import_graph([path])):
        with pytest.raises(ValueError, match=r"g\.npz: there are no people"):
            read(str(tmp_path / "g.npz"))


def test_masks(tmp_path: Path) -> None:
    people = "id,a,label,train_mask,val_mask,test_mask\na,1,x,1,0,0\nb,1,y,0,1,0\nc,1,,0,0,{}\nd,1,x,0,0,1\n"
    files = _files(tmp_path, people=people.format(0))
    assert import_graph(files)["masks"] == {"found": ["train", "val", "test"], "kept": True}
    assert import_graph(files, options=ImportOptions(masks="drop"))["masks"]["kept"] is False
    files = _files(tmp_path, people=people.format(1))
    with pytest.raises(ValueError, match="node 2 is in test but has no label; --masks drop leaves the masks out"):
        import_graph(files)
    files = _files(tmp_path, people=people.format(0).replace("val_mask", "other"))
    found = import_graph(files)
    assert found["masks"] == {"found": ["train", "test"], "kept": False}
    assert "masks: train, test found without val; left out, since --split file needs all" in found["warnings"]


def test_warnings_about_labels(tmp_path: Path) -> None:
    files = _files(tmp_path, people="id,a,label\n" + "".join(f"{name},1,{name * 2}\n" for name in "abcdefghijklm"))
    assert any("a class of their own" in line for line in import_graph(files)["warnings"])
    files = _files(tmp_path, people="id,a\na,1\nb,1\nc,1\nd,1\n")
    found = import_graph(files, tmp_path / "m.npz")
    assert found["next"] is None and any("nobody has a label" in line for line in found["warnings"])


def test_published_file_of_computers(tmp_path: Path, data_dir: Path) -> None:
    """The layout of Shchur et al. is what PyG's own loader makes of it: word counts become 0 and 1."""
    source = data_dir / "Computers" / "raw" / "amazon_electronics_computers.npz"
    import_graph([source], tmp_path / "c.npz", ImportOptions(scale="binary"))
    ours, theirs = load(str(tmp_path / "c.npz")), load("computers", data_dir=data_dir)
    for name in ("feature_indptr", "feature_indices", "neighbour_indptr", "neighbour_indices", "labels"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def _digest(path: Path) -> str:
    """Return the start of the SHA-256 of a file's names and bytes, whatever packed them."""
    with zipfile.ZipFile(path) as stored:
        parts = [name.encode() + stored.read(name) for name in sorted(stored.namelist())]
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def test_all_faults_of_all_files_at_once(tmp_path: Path) -> None:
    people = "id,age,city,label\na,31,Rome,red\nb,,Oslo,blue\na,31,Rome,red\nc,47,Rome,\n"
    files = _files(tmp_path, people=people, edges="source,target\na,b\nb,\nc,zed\n")
    with pytest.raises(WrongFiles) as caught:
        import_graph(files, tmp_path / "mine.npz", ids=tmp_path / "ids.csv")
    starts = (
        "edges.csv: row 3, column target: is empty",
        "people.csv: row 4, column id: 'a' is already the id",
        "people.csv: row 2, column city: 'Rome' is not a number",
        "edges.csv: row 4: 'zed' has no row in people.csv",
        "people.csv: row 3, column age: is empty",
        "people.csv: row 2, column age: feature outside [0, 1]",
    )
    lines = caught.value.faults
    assert len(lines) == len(starts) and all(map(str.startswith, lines, starts))
    assert all("; " in line and "--" in line for line in lines) and str(caught.value).splitlines() == list(lines)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "people.csv"]
    options = ImportOptions(missing="zero", one_hot=("city",), duplicates="first", without_row="drop", scale="minmax")
    found = import_graph(files, tmp_path / "mine.npz", options)
    assert (found["people"], found["features"], found["edges"]["kept"]) == (3, 3, 1)


TABLE = np.array([[0.0, -2.0, 5.0], [4.0, 2.0, 5.0], [1.0, 0.0, 5.0]])


def _scaled(table: np.ndarray, scale: str, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    matrix = csr_array(table)
    arrays = {"indptr": matrix.indptr, "indices": matrix.indices, "values": matrix.data,
              "num_features": table.shape[1], "feature_range": (low, high)}  # fmt: skip
    result = rescaled(arrays, scale)
    return csr_array((result["values"], result["indices"], result["indptr"]), shape=table.shape).toarray()


def test_each_scale() -> None:
    """The smallest and the largest value count zeros, and a column of one value becomes 0."""
    np.testing.assert_allclose(_scaled(TABLE, "minmax"), [[0, 0, 0], [1, 1, 0], [0.25, 0.5, 0]])
    table = np.array([[0.0, 3.0], [2.0, 0.0], [4.0, 0.0]])
    np.testing.assert_allclose(_scaled(table, "minmax"), [[0, 1], [0.5, 0], [1, 0]])
    np.testing.assert_array_equal(_scaled(TABLE, "clip", -1, 3), [[0, -1, 3], [3, 2, 3], [1, 0, 3]])
    np.testing.assert_array_equal(_scaled(TABLE, "binary"), [[0, 1, 1], [1, 1, 1], [1, 0, 1]])


def test_minmax_of_sparse_parts_is_that_of_a_dense_table() -> None:
    generator = np.random.default_rng(5)
    for _ in range(50):
        shape = tuple(generator.integers(1, 8, 2))
        table = np.where(generator.random(shape) < 0.5, 0, generator.normal(size=shape))
        table[0, 0] = -3.0
        least, most = table.min(axis=0), table.max(axis=0)
        dense = (table - least) / np.where(most > least, most - least, 1)
        np.testing.assert_array_equal(_scaled(table, "minmax"), dense.astype(np.float32))


def test_the_summary_has_counts_and_what_is_public(tmp_path: Path) -> None:
    found = import_graph(_files(tmp_path), options=ImportOptions(class_names=("red", "blue", "green")))
    counts = ("people", "isolated", "classes", "largest_class", "without_label", "features", "homophily")
    assert [found[name] for name in counts] == [4, 0, 3, 2, 1, 2, 0.5]
    assert found["edges"] == {"given": 5, "kept": 3, "self_loops_dropped": 1, "repeats_dropped": 1}
    assert found["public"] == {
        "people": 4, "features": 2, "feature_range": [0.0, 1.0], "feature_range_from": "default", "classes": 3,
        "classes_from": "stated", "class_names": ["red", "blue", "green"], "split": None,
    }  # fmt: skip
    bare = import_graph(_files(tmp_path)[:1])
    assert (bare["features"], bare["homophily"], bare["next"]) == (0, None, None)


@pytest.mark.parametrize(("columns", "method"), [("id,a,label\na,1,x\n", ""), ("id,label\na,x\n", " --method blink")])
def test_the_next_command(tmp_path: Path, columns: str, method: str) -> None:
    files = _files(tmp_path, people=columns, edges="source,target\na,a\n")
    found = import_graph(files, tmp_path / "a b.npz")
    assert found["next"] == f"ldpsim run --dataset '{tmp_path}/a b.npz'{method}"


FOUR_EDGES = "source,target\nann,bob\nbob,cy\ndee,ann\n"
FOUR_PEOPLE = (
    "id,age,tall,label,train_mask,val_mask,test_mask\n"
    "ann,0.1,1,x,1,0,0\nbob,0,1,y,0,1,0\ncy,0,0,,0,0,0\ndee,1,1,y,0,0,1\n"
)


def _with_vaults(folder: Path, people: str = FOUR_PEOPLE) -> dict[str, Any]:
    (folder / "edges.csv").write_text(FOUR_EDGES)
    (folder / "people.csv").write_text(people)
    return import_graph([folder / "edges.csv", folder / "people.csv"], vaults=folder / "vaults")


def test_every_device_gets_its_own_record(tmp_path: Path) -> None:
    found = _with_vaults(tmp_path)
    folder = tmp_path / "vaults"
    assert found["vaults"] == {
        "folder": str(folder), "records": 4, "public_labels": 2,
        "next": f"ldpsim device policy --facts {folder}/facts.json --method hogs --epsilon 8 > policy.json",
    }  # fmt: skip
    features = [{0: np.float32(0.1), 1: 1.0}, {1: 1.0}, {}, {0: 1.0, 1: 1.0}]
    for node, (near, label) in enumerate([([1, 3], 0), ([0, 2], 1), ([1], -1), ([0], 1)]):
        population, residents = read_own_data(folder / f"record-{node}.json")
        record = population.record(node)
        assert residents == (node,) and record.neighbours.tolist() == near and record.label == label
        assert dict(zip(record.feature_indices.tolist(), record.feature_values.tolist(), strict=True)) == features[node]
        assert len(population.feature_indices) == len(features[node])  # nobody else is in it
        assert len(population.neighbour_indices) == len(near) and sum(population.labels >= 0) == (label >= 0)
    assert (folder / "people.csv").read_text() == "node,id\n0,ann\n1,bob\n2,cy\n3,dee\n"
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_without_masks_no_label_is_public(tmp_path: Path) -> None:
    people = "".join(",".join(line.split(",")[:4]) + "\n" for line in FOUR_PEOPLE.splitlines())
    found = _with_vaults(tmp_path, people)["vaults"]
    assert found["public_labels"] == 0 and "--epsilon 8 --eps-labels 1 " in found["next"]
    assert json.loads((tmp_path / "vaults" / "facts.json").read_text())["labels"] == {}
    assert read_own_data(tmp_path / "vaults" / "record-0.json")[0].record(0).label == 0  # its own device has it


def test_a_folder_that_is_there_stays(tmp_path: Path) -> None:
    (tmp_path / "vaults").mkdir()
    with pytest.raises(ValueError, match="--vaults .*vaults: it is there already; give the name of a new folder"):
        _with_vaults(tmp_path)
    assert list((tmp_path / "vaults").iterdir()) == []
    with pytest.raises(ValueError, match="--vaults .*: no such folder: .*none"):
        import_graph([tmp_path / "edges.csv"], vaults=tmp_path / "none" / "vaults")


def test_a_fault_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="column age"):
        _with_vaults(tmp_path, FOUR_PEOPLE.replace("0.1", "x"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "people.csv"]


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(OSError, match="No space left"):
        _with_vaults(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "people.csv"]


@pytest.mark.parametrize("option", ["out", "ids"])
def test_a_folder_in_the_place_of_a_file_is_told_before_anything_is_written(tmp_path: Path, option: str) -> None:
    folder = tmp_path / "there.npz"
    folder.mkdir()
    with pytest.raises(ValueError, match=rf"--{option} .*there\.npz: a folder has this name; give the name of a file"):
        import_graph(_files(tmp_path), vaults=tmp_path / "v", force=True, **{option: folder})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "people.csv", "there.npz"]


def test_no_record_is_left_where_another_output_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(graph_import, "write_npz_file", full)
    with pytest.raises(OSError, match="No space left"):
        import_graph(_files(tmp_path), tmp_path / "mine.npz", vaults=tmp_path / "v")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "people.csv"]


def test_people_of_whom_nothing_can_be_asked_have_no_next_command(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(FOUR_EDGES)
    assert import_graph([tmp_path / "edges.csv"], vaults=tmp_path / "v")["vaults"]["next"] is None
