"""Edges and tables of people, joined by names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.strategies.importing.faults import FileFaults, WrongFiles
from ldpsim.strategies.importing.joining import join
from ldpsim.strategies.importing.options import ImportOptions
from ldpsim.strategies.importing.parts import FoundGraph, NamedEdges, PeopleTable, named_edges
from ldpsim.strategies.importing.tables import read_table

EDGES = "source,target\nc,a\na,b\n"
FEATURES = "id,x,y\nb,1,0\na,0,2\nc,0,0\n"
LABELS = "id,label\na,red\nc,blue\n"


def _join(folder: Path, *texts: str, **options: Any) -> FoundGraph:
    edges, tables, faults, chosen = [], [], FileFaults(), ImportOptions(**options)
    for name, text in zip(("one", "two", "three"), texts, strict=False):
        (folder / f"{name}.csv").write_text(text)
        part = read_table(folder / f"{name}.csv", chosen, faults)
        edges += [part] if isinstance(part, NamedEdges) else []
        tables += [part] if isinstance(part, PeopleTable) else []
    return join(edges, tables, chosen, faults)


def _dense(graph: FoundGraph) -> Any:
    a = graph.arrays
    return csr_array((a["values"], a["indices"], a["indptr"]), shape=(len(a["labels"]), int(a["num_features"])))


def test_people_are_the_rows_with_features(tmp_path: Path) -> None:
    graph = _join(tmp_path, EDGES, LABELS, FEATURES)
    assert (graph.ids, graph.columns) == (["b", "a", "c"], ("x", "y"))
    np.testing.assert_array_equal(_dense(graph).toarray(), [[1, 0], [0, 2], [0, 0]])
    np.testing.assert_array_equal(graph.arrays["labels"], [-1, 1, 0])
    np.testing.assert_array_equal(graph.arrays["edge_index"], [[2, 1], [1, 0]])
    assert graph.arrays["class_names"].tolist() == ["blue", "red"]
    assert graph.place(1, 1) == "three.csv: row 3, column y"


def test_two_tables_of_features_meet_by_id(tmp_path: Path) -> None:
    graph = _join(tmp_path, EDGES, FEATURES, "id,z\nc,7\na,8\nb,9\n")
    assert graph.columns == ("x", "y", "z")
    np.testing.assert_array_equal(_dense(graph).toarray(), [[1, 0, 9], [0, 2, 8], [0, 0, 7]])


def test_without_features_the_people_are_all_names() -> None:
    graph = join([named_edges("g.txt", [(1, "10", "9"), (2, "9", "2")])], [], ImportOptions(), FileFaults())
    assert graph.ids == ["2", "9", "10"]
    np.testing.assert_array_equal(graph.arrays["edge_index"], [[2, 1], [1, 0]])
    assert join([named_edges("g.txt", [(1, "10", "9"), (2, "9", "x")])], [], ImportOptions(), FileFaults()).ids == [
        "10",
        "9",
        "x",
    ]


def test_a_person_with_a_label_alone_has_no_edge(tmp_path: Path) -> None:
    graph = _join(tmp_path, EDGES, LABELS + "d,red\n")
    assert graph.ids == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(graph.arrays["labels"], [1, -1, 0, 1])


def test_masks_follow_the_ids(tmp_path: Path) -> None:
    graph = _join(tmp_path, EDGES, FEATURES, "id,train_mask\nc,1\na,0\n")
    np.testing.assert_array_equal(graph.arrays["train"], [False, False, True])


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ((FEATURES,), {}, r"no edges: one\.csv lists people"),
        ((EDGES + "b,zed\n", FEATURES), {}, r"one\.csv: row 4, column target: 'zed' is no id in two\.csv"),
        ((EDGES + "zed,b\n", FEATURES), {}, r"one\.csv: row 4, column source: 'zed' is no id"),
        ((EDGES, FEATURES, LABELS + "zed,red\n"), {}, r"three\.csv: row 4, column id: 'zed' is no id in two\.csv"),
        ((EDGES, FEATURES + "a,1,1\n"), {}, r"two\.csv: row 5, column id: 'a' is already the id of two\.csv: row 3"),
        ((EDGES, FEATURES, "id,z\na,1\nb,1\n"), {}, r"three\.csv: no row for the id 'c' of two\.csv"),
        ((EDGES, LABELS, LABELS), {}, r"three\.csv: two\.csv has labels too"),
        ((EDGES, FEATURES), {"label": "team"}, "--label team: no such column; there are id, x, y"),
        ((EDGES, FEATURES), {"ignore": ("age",)}, "--ignore age: no such column"),
        ((EDGES, FEATURES, LABELS), {"class_names": ("red",)}, r"three\.csv: row 3, column label: 'blue' is none of"),
    ],
)
def test_each_fault_is_named(tmp_path: Path, texts: tuple[str, ...], options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        _join(tmp_path, *texts, **options)
    assert "\n" not in str(caught.value)


def test_a_value_of_the_second_table_has_its_place_there(tmp_path: Path) -> None:
    graph = _join(tmp_path, EDGES, FEATURES, "id,z\nc,7\na,8\nb,9\n")
    assert graph.place(1, 2) == "three.csv: row 3, column z"


REPEATED = "id,x,y,label\nb,1,,red\na,0,2,\nb,3,4,blue\nc,0,0,\nb,,6,blue\n"


@pytest.mark.parametrize(
    ("duplicates", "row", "label"), [("first", [1, 0], "red"), ("last", [0, 6], "blue"), ("merge", [1, 4], "red")]
)
def test_duplicates(tmp_path: Path, duplicates: str, row: list[float], label: str) -> None:
    graph = _join(tmp_path, EDGES, REPEATED, duplicates=duplicates, missing="zero")
    order = ["a", "c", "b"] if duplicates == "last" else ["b", "a", "c"]
    assert graph.ids == order
    at = order.index("b")
    assert _dense(graph).toarray()[at].tolist() == row
    assert graph.arrays["class_names"][graph.arrays["labels"][at]] == label
    assert f"two.csv: rows of people who have one already: 2; --duplicates {duplicates}" in graph.notes


def test_merge_takes_masks_and_categories_too(tmp_path: Path) -> None:
    text = "id,city,train_mask\nb,,0\na,Rome,1\nb,Oslo,1\nc,Rome,\n"
    graph = _join(tmp_path, EDGES, text, duplicates="merge", missing="zero", one_hot=("city",))
    assert graph.columns == ("city=Oslo", "city=Rome") and _dense(graph).toarray().tolist() == [[1, 0], [0, 1], [0, 1]]
    assert graph.arrays["train"].tolist() == [False, True, False]
    with pytest.raises(
        WrongFiles, match="row 5, column train_mask: is empty; write 0 or 1 there; --missing zero takes 0"
    ):
        _join(tmp_path, EDGES, text, duplicates="merge", one_hot=("city",))


def test_people_without_a_row(tmp_path: Path) -> None:
    edges = "source,target\na,zed\nb,c\nyan,zed\n"
    dropped = _join(tmp_path, edges, FEATURES, without_row="drop")
    assert dropped.ids == ["b", "a", "c"] and dropped.arrays["edge_index"].tolist() == [[0], [2]]
    assert dropped.notes == (
        "one.csv: people without a row of features, left out: 2", "edges left out with their people: 2"
    )  # fmt: skip
    kept = _join(tmp_path, edges, FEATURES, LABELS + "zed,red\n", without_row="keep", missing="mark")
    assert kept.ids == ["b", "a", "c", "zed", "yan"] and kept.columns == ("x", "y", "x is empty", "y is empty")
    assert _dense(kept).toarray()[3:].tolist() == [[0, 0, 1, 1]] * 2
    assert kept.arrays["edge_index"].shape == (2, 3) and kept.arrays["labels"].tolist() == [-1, 1, 0, 1, -1]
    with pytest.raises(WrongFiles, match=r"two\.csv: no row for 'zed', column x: is empty \(2 rows\)"):
        _join(tmp_path, edges, FEATURES, without_row="keep")


def test_a_person_whom_the_second_table_lacks(tmp_path: Path) -> None:
    second = "id,z\na,1\nb,2\n"
    assert _join(tmp_path, EDGES, FEATURES, second, without_row="drop").ids == ["b", "a"]
    kept = _join(tmp_path, EDGES, FEATURES, second, without_row="keep", missing="zero")
    assert kept.ids == ["b", "a", "c"] and _dense(kept).toarray()[:, 2].tolist() == [2, 1, 0]


def test_all_faults_at_once(tmp_path: Path) -> None:
    people = "id,x,label\na,1,red\na,1,blue\nb,,pink\nc,1,\n"
    with pytest.raises(WrongFiles) as caught:
        _join(tmp_path, EDGES + "b,zed\n", people, ignore=("age",), class_names=("red",))
    assert [fault.change for fault in caught.value.faults] == [
        {}, {"duplicates": "first"}, {"without_row": "drop"}, {"missing": "zero"}, {"class_names": ("red", "pink")}
    ]  # fmt: skip
