"""A whole import: round trips, choices, and files that stay as they were."""

from __future__ import annotations

import hashlib
import json
import re
import stat
import zipfile
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx

from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets import FORMS, load
from ldpsim.devices.datasets.npz_file import write_npz_file
from ldpsim.strategies.importing import ImportOptions, WrongFiles, import_graph

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
    assert found["next"] == f"ldpsim run --dataset {tmp_path / 'mine.npz'} --split file"
    json.dumps(found, allow_nan=False)


def test_csv_with_names(tmp_path: Path) -> None:
    found = import_graph(_files(tmp_path), tmp_path / "mine.npz", ids=tmp_path / "ids.csv")
    population = load(str(tmp_path / "mine.npz"))
    assert population.facts.class_names == ("blue", "red")
    np.testing.assert_array_equal(population.labels, [1, 0, -1, 1])
    np.testing.assert_array_equal(population.edges, [[0, 0, 1], [1, 3, 2]])
    assert (tmp_path / "ids.csv").read_text() == "node,id\n0,a\n1,b\n2,c\n3,d\n"
    assert found["edges"]["self_loops_dropped"] == 1 and found["without_label"] == 1
    for name in ("mine.npz", "ids.csv"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600


def test_names_are_in_no_file_unless_asked(tmp_path: Path) -> None:
    files = _files(tmp_path, people=CSV["people.csv"].replace("\na,", "\nannabelle,"), edges="source,target\nb,c\n")
    import_graph(files, tmp_path / "mine.npz")
    with np.load(tmp_path / "mine.npz") as stored:
        assert all("annabelle" not in str(stored[name]) for name in stored.files)


def test_without_out_nothing_is_written(tmp_path: Path) -> None:
    files = _files(tmp_path)
    before = sorted(tmp_path.iterdir())
    found = import_graph(files)
    assert sorted(tmp_path.iterdir()) == before
    assert (found["out"], found["next"], found["people"]) == (None, None, 4)


def test_files_that_are_there_stay(tmp_path: Path) -> None:
    out = tmp_path / "mine.npz"
    out.write_bytes(b"precious")
    with pytest.raises(ValueError, match=r"--out .*mine\.npz: the file is there already; --force replaces it"):
        import_graph(_files(tmp_path), out)
    assert out.read_bytes() == b"precious"
    with pytest.raises(ValueError, match="row 2, column age"):
        import_graph(_files(tmp_path, people="id,age\na,x\n"), out, force=True)
    assert out.read_bytes() == b"precious"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    import_graph(_files(tmp_path), out, force=True)
    assert len(load(str(out))) == 4


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
    with pytest.raises(ValueError, match="row 2, column age: feature that is not a finite number; .* --ignore NAME$"):
        import_graph(_files(tmp_path, people=CSV["people.csv"].replace("0.5", "inf")))


def test_scales(tmp_path: Path) -> None:
    files = _files(tmp_path, people=CSV["people.csv"].replace("b,1,", "b,40,"))
    found = import_graph(files, tmp_path / "m.npz", ImportOptions(scale="minmax"))
    assert found["public"]["feature_range_from"] == "data"
    assert any("itself a release" in line for line in found["warnings"])
    np.testing.assert_allclose(load(str(tmp_path / "m.npz")).record(0).feature_values, [0.0125, 1])
    for scale, values in (("clip", [0.5, 1]), ("binary", [1, 1])):
        found = import_graph(files, tmp_path / "m.npz", ImportOptions(scale=scale), force=True)
        assert not any("release" in line for line in found["warnings"])
        np.testing.assert_allclose(load(str(tmp_path / "m.npz")).record(0).feature_values, values)


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


def test_a_written_file_can_be_imported_again(tmp_path: Path) -> None:
    population = _people()
    write_npz_file(population, tmp_path / "one.npz")
    import_graph([tmp_path / "one.npz"], tmp_path / "two.npz")
    assert (tmp_path / "two.npz").read_bytes() == (tmp_path / "one.npz").read_bytes()


def test_edges_of_a_list_with_people_of_a_table_and_of_tabs(tmp_path: Path) -> None:
    _files(tmp_path)
    (tmp_path / "e.tsv").write_text("source\ttarget\na\tb\n")
    (tmp_path / "f.tsv").write_text("b\tc\n")
    found = import_graph([tmp_path / "e.tsv", tmp_path / "f.tsv", tmp_path / "people.csv"])
    assert found["edges"]["kept"] == 2


@pytest.mark.parametrize("name", ["g.gpickle", "g.pkl", "G.PICKLE"])
def test_a_pickle_is_refused_with_the_reason(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"a pickle runs code when it is opened.*networkx\.write_graphml"):
        import_graph([tmp_path / name])


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        (["g.xlsx"], re.escape(f"g.xlsx: the form of this file is not known; accepted are {FORMS}")),
        (["graph"], "graph: the form of this file is not known"),
        (["none.csv"], "no such file: .*none.csv"),
        (["none.npz", "edges.csv"], "no such file: .*none.npz"),
        (["edges.csv", "g.npz"], r"g\.npz: a \.npz or \.pt holds a whole graph; give it alone"),
        (["bytes.csv"], r"bytes\.csv: is not text in UTF-8 \(invalid start byte at byte 0\)"),
        (["bytes.gml"], r"bytes\.gml: is not text in UTF-8"),
    ],
)
def test_sources_at_fault(tmp_path: Path, sources: list[str], message: str) -> None:
    _files(tmp_path)
    np.savez(tmp_path / "g.npz", edge_index=np.zeros((2, 1), int))
    for name in ("bytes.csv", "bytes.gml"):
        (tmp_path / name).write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=message) as caught:
        import_graph([tmp_path / name for name in sources])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": "log"}, "--scale log: must be one of clip, binary, minmax"),
        ({"masks": "all"}, "--masks all: must be one of keep, drop"),
        ({"scale": "minmax", "feature_range": (0, 1)}, "--scale minmax: the range is then 0 to 1"),
        ({"feature_range": (1, 0)}, "--feature-range 1,0: two finite numbers, the smaller one first"),
        ({"feature_range": (0, float("inf"))}, "--feature-range 0,inf: two finite numbers"),
        ({"class_names": ("a", "a")}, "--class-names: a name is given twice"),
        ({"one_hot": ("city=A,A",)}, "--one-hot city: a value is given twice"),
        ({"missing": "guess"}, "--missing guess: must be one of refuse, zero, mean, mark, drop"),
    ],
)
def test_options_at_fault(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ImportOptions(**options)


def test_output_names_at_fault(tmp_path: Path) -> None:
    files = _files(tmp_path)
    with pytest.raises(ValueError, match=r"--out .*mine\.csv: the name of the file must end with \.npz"):
        import_graph(files, tmp_path / "mine.csv")
    with pytest.raises(ValueError, match="--out .*: no such folder: .*none"):
        import_graph(files, tmp_path / "none" / "mine.npz")
    np.savez(tmp_path / "g.npz", edge_index=np.array([[0], [1]]))
    with pytest.raises(ValueError, match=r"--ids .*: g\.npz numbers its people and has no names"):
        import_graph([tmp_path / "g.npz"], ids=tmp_path / "ids.csv")


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


@pytest.mark.parametrize(
    ("options", "stored", "population"),
    [
        ({}, "de3edf65bc2ff18e", "f313395635f19a45"),
        ({"scale": "binary"}, "05e22fb73111b493", "8f2df06686e3576b"),
        ({"feature_range": (-1.0, 1.5)}, "7440da624f371bee", "0dcf91a03391f60b"),
        ({"class_names": ("red", "green", "blue")}, "2d98b19a367df675", "404188a604e7695c"),
        ({"label": "tall", "ignore": ("label",)}, "a475287939a6fe45", "fd57ba0dde0f4ddd"),
        ({"ignore": ("age",)}, "e865e271aee07d8a", "3fbaf31868b93ff2"),
    ],
)
def test_bytes_of_clean_tables_stay(tmp_path: Path, options: dict[str, Any], stored: str, population: str) -> None:
    """The digests were written by an earlier version, whose readers were other ones."""
    import_graph(_files(tmp_path), tmp_path / "mine.npz", ImportOptions(**options))
    assert (_digest(tmp_path / "mine.npz"), load(str(tmp_path / "mine.npz")).digest[:16]) == (stored, population)


def test_bytes_of_several_clean_tables_stay(tmp_path: Path) -> None:
    (tmp_path / "two.csv").write_text("id;z\nc; 7e-1\na;0.8123456789012345\nb;TRUE\nd;0\n")
    (tmp_path / "label.csv").write_text("id\tlabel\ttrain_mask\nb\tx\t1\na\ty\t0\n")
    files = _files(tmp_path, people="id,age,tall\na,0.5,1\nb,1,0\nc,0,1\nd,.1,0\n")
    import_graph([*files, tmp_path / "two.csv", tmp_path / "label.csv"], tmp_path / "mine.npz")
    assert _digest(tmp_path / "mine.npz") == "a7551b855a7d242a"
    assert load(str(tmp_path / "mine.npz")).digest.startswith("5ceeeba1bb9aa8ce")
    (tmp_path / "e.txt").write_text("# c\n10 9\n9 2 # x\n9 9\n2 10\n")
    import_graph([tmp_path / "e.txt"], tmp_path / "mine.npz", force=True)
    assert _digest(tmp_path / "mine.npz") == "be247bbad61620ca"


@pytest.mark.parametrize("form", ["pt", "npz", "csv", "gml", "graphml"])
def test_bytes_of_clean_files_of_each_form_stay(tmp_path: Path, form: str) -> None:
    import_graph(_export(tmp_path, form, _people()), tmp_path / "mine.npz")
    assert _digest(tmp_path / "mine.npz") == "54d6fe34c47cb2fd"
    assert load(str(tmp_path / "mine.npz")).digest.startswith("eec1bfb1850c7c02")


MESSY = {
    "people": "name,age,city,since,label\na,31,Rome,2020-01-02,red\nb,,Oslo,2021-03-04,blue\na,31,Rome,2020-01-02,red\n"
    "c,47,Rome,2021-03-05,\n",
    "edges": "from,to\na,b\nb,\nc,zed\na,c\n",
}


def test_all_faults_of_all_files_at_once_and_a_command_that_works(tmp_path: Path) -> None:
    files, out = _files(tmp_path, **MESSY), tmp_path / "mine.npz"
    with pytest.raises(WrongFiles) as caught:
        import_graph(files, out, ids=tmp_path / "my ids.csv")
    assert [(fault.place, fault.change) for fault in caught.value.faults] == [
        ("edges.csv", {"source": "from", "target": "to"}),
        ("people.csv", {"id": "name"}),
        ("edges.csv: row 3, column to", {"missing": "zero"}),
        ("people.csv: row 2, column city", {"one_hot": ("city",)}),
        ("people.csv: row 2, column since", {"one_hot": ("since",)}),
        ("people.csv: row 4, column name", {"duplicates": "first"}),
        ("edges.csv: row 4, column to", {"without_row": "drop"}),
        ("people.csv: row 3, column age", {"missing": "zero"}),
        ("people.csv: row 2, column age", {"scale": "minmax"}),
    ]
    assert str(caught.value).splitlines() == [fault.line for fault in caught.value.faults]
    assert caught.value.command == (
        f"ldpsim import {files[0]} {files[1]} --source from --target to --id name --one-hot city --one-hot since "
        f"--scale minmax --missing zero --duplicates first --without-row drop --out {out} --ids '{tmp_path}/my ids.csv'"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "people.csv"]
    changes = (fault.change for fault in caught.value.faults)
    found = import_graph(files, out, ImportOptions().changed(changes))
    assert (found["people"], found["features"], found["edges"]["kept"]) == (3, 6, 2)


def test_a_fault_that_no_option_mends_leaves_no_command(tmp_path: Path) -> None:
    with pytest.raises(WrongFiles) as caught:
        import_graph(_files(tmp_path, people="name,age\na,x\nb\n"))
    first, second, *_ = caught.value.faults
    assert caught.value.command is None
    assert first.change == {"id": "name"} and second.what == "row 3 has 1 cells, the first row has 2"


def test_a_range_names_all_columns(tmp_path: Path) -> None:
    files = _files(tmp_path, people="id,a,b,c\na,1,2,-3\nb,0,0,0\nc,1,0,0\nd,0,0,9\n")
    with pytest.raises(WrongFiles, match=r"row 2, column b: feature outside \[0, 1\] \(columns b, c\)") as caught:
        import_graph(files)
    assert caught.value.faults[0].change == {"scale": "minmax"}
    with pytest.raises(WrongFiles) as caught:
        import_graph(files, options=ImportOptions(feature_range=(-1, 5)))
    assert caught.value.faults[0].change == {"scale": "clip"} and "--scale clip" in (caught.value.command or "")


def test_one_hot_from_the_data_is_said_to_be_a_release(tmp_path: Path) -> None:
    files = _files(tmp_path, people="id,tall,label\na,yes,x\nb,no,y\nc,yes,x\nd,no,y\n")
    (line,) = import_graph(files, options=ImportOptions(one_hot=("tall",)))["warnings"]
    assert line.startswith(
        "--one-hot tall: its values are read from the data, which is itself a release; --one-hot tall=A"
    )
    assert import_graph(files, options=ImportOptions(one_hot=("tall=yes,no",)))["warnings"] == []


def test_two_tables_whose_names_of_people_have_different_columns(tmp_path: Path) -> None:
    """One option cannot mend both: each is told once, and no command is proposed."""
    (tmp_path / "more.csv").write_text("user_id,z,w\na,1,0\n")
    files = _files(tmp_path, people="name,x,y\na,1,0\n")
    with pytest.raises(WrongFiles) as caught:
        import_graph([*files, tmp_path / "more.csv"])
    assert [fault.change for fault in caught.value.faults] == [{"id": "name"}, {"id": "user_id"}]
    assert caught.value.command is None
