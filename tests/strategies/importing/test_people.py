"""Cells as numbers, categories, labels and masks; edges and tables of people joined by names; empty cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.strategies.importing.graph_import import read_graph
from ldpsim.strategies.importing.options import ImportOptions, WrongFiles
from ldpsim.strategies.importing.people import ImportedGraph

EDGES = "source,target\nc,a\na,b\n"
FEATURES = "id,x,y\nb,1,0\na,0,2\nc,0,0\n"
LABELS = "id,label\na,red\nc,blue\n"


def _join(folder: Path, *texts: str, **options: Any) -> ImportedGraph:
    paths = [folder / f"{name}.csv" for name, _ in zip(("one", "two", "three"), texts, strict=False)]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text)
    faults: list[str] = []
    graph = read_graph(paths, ImportOptions(**options), faults)
    if faults:
        raise WrongFiles(faults)
    return graph


def _faults(folder: Path, *texts: str, **options: Any) -> tuple[str, ...]:
    with pytest.raises(WrongFiles) as caught:
        _join(folder, *texts, **options)
    return caught.value.faults


def _dense(graph: ImportedGraph) -> Any:
    a = graph.arrays
    return csr_array((a["values"], a["indices"], a["indptr"]), shape=(len(a["labels"]), int(a["num_features"])))


PAIR = "source,target\na,b\n"


def test_numbers_words_and_empty_cells(tmp_path: Path) -> None:
    people = "id,x,y,z\na,1, 2.5,-3e2\nb,True,false,4\nc,, N/A,NULL\nd,nan,?,-\n"
    graph = _join(tmp_path, PAIR, people, missing="zero")
    np.testing.assert_array_equal(_dense(graph).toarray(), [[1, 2.5, -300], [1, 0, 4], [0, 0, 0], [0, 0, 0]])
    assert graph.notes == ("empty cells, --missing zero: 2 in x, 2 in y, 2 in z",)
    exact = "0.8123456789012345678"
    assert _dense(_join(tmp_path, PAIR, f"id,x\na,{exact}\nb,0\n"))[0, 0] == float(exact)


def test_a_column_of_text_is_one_fault_with_the_option_that_mends_it(tmp_path: Path) -> None:
    rows = [f"p{k},{['Rome', 'Oslo'][k % 2]},2024-01-{k},7,{k or 'many'},1.5" for k in range(30)]
    rows[3] = rows[3].replace("Oslo", "").replace("1.5", "")
    people = "\n".join(["id,city,day,x,most,late", *rows]) + "\n"
    assert _faults(tmp_path, "source,target\np0,p1\n", people) == (
        "two.csv: row 2, column city: 'Rome' is not a number (29 rows, 2 different texts); --one-hot city --missing "
        "zero makes each value a feature of 0 and 1, --ignore city leaves the column out, --label city takes it as "
        "the class",
        "two.csv: row 2, column day: '2024-01-0' is not a number (30 rows); --ignore day leaves the column out, "
        "--label day takes it as the class",
        "two.csv: row 2, column most: 'many' is not a number; write numbers there (with a point), or empty these "
        "cells and choose --missing, or --ignore most leaves the column out",
        "two.csv: row 5, column late: is empty; --missing zero puts 0 there, mean the column's mean (a release), mark "
        "0 and a 1 in one more feature, drop leaves the person out",
    )
    (mask,) = _faults(tmp_path, PAIR, "id,x,val_mask\na,1,yes\nb,1,1\n")
    assert mask.endswith("'yes' is not a number; write 0 or 1 there, or --ignore val_mask leaves the column out")


def test_categories(tmp_path: Path) -> None:
    people = "id,my city,x\na,Rome,1\nb, Oslo ,2\nc,,3\n"
    (line,) = _faults(tmp_path, PAIR, people)
    assert "--one-hot 'my city' --missing zero makes" in line
    zero = _join(tmp_path, PAIR, people, one_hot=("my city",), missing="zero")
    assert zero.columns == ("my city=Oslo", "my city=Rome", "x")
    assert _dense(zero).toarray().tolist() == [[0, 1, 1], [1, 0, 2], [0, 0, 3]]
    assert "its values are read from the data, which is itself a release" in zero.notes[1]
    stated = _join(tmp_path, PAIR, people, one_hot=("my city=Rome,Bonn, Oslo",), missing="mean")
    assert _dense(stated).toarray()[:, :3].tolist() == [[1, 0, 0], [0, 0, 1], [0.5, 0, 0.5]]
    (line,) = _faults(tmp_path, PAIR, people, one_hot=("my city=Rome",), missing="zero")
    assert line == (
        "two.csv: row 3, column my city: 'Oslo' is none of the values of --one-hot; write one of them, or state all "
        "(none with a comma): --one-hot 'my city=Rome,Oslo'"
    )


HOLES = "id,x,y,city\na,1,,B\nb,3,5,\nc,,,A\n"


@pytest.mark.parametrize(
    ("missing", "rows"),
    [
        ("zero", [[1, 0, 0, 1], [3, 5, 0, 0], [0, 0, 1, 0]]),
        ("mean", [[1, 5, 0, 1], [3, 5, 0.5, 0.5], [2, 5, 1, 0]]),
        ("mark", [[1, 0, 0, 1, 0, 1, 0], [3, 5, 0, 0, 0, 0, 1], [0, 0, 1, 0, 1, 1, 0]]),
        ("drop", np.zeros((0, 2))),
    ],
)
def test_empty_cells(tmp_path: Path, missing: str, rows: Any) -> None:
    graph = _join(tmp_path, PAIR, HOLES, missing=missing, one_hot=("city",))
    np.testing.assert_array_equal(_dense(graph).toarray(), rows if missing != "drop" else np.zeros((0, 2)))
    assert graph.notes[0].startswith(f"empty cells, --missing {missing}: 1 in x, 2 in y, 1 in city")
    assert ("itself a release" in graph.notes[0]) == (missing == "mean")
    assert missing != "mark" or graph.columns[4:] == ("x is empty", "y is empty", "city is empty")


def test_people_with_empty_cells_are_left_out(tmp_path: Path) -> None:
    graph = _join(tmp_path, PAIR, "id,x\na,1\nb,\nc,3\n", missing="drop")
    assert graph.ids == ["a", "c"] and graph.arrays["edge_index"].shape == (2, 0)
    assert graph.notes[0].endswith("people left out: 1")


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


def test_without_features_the_people_are_all_names(tmp_path: Path) -> None:
    graph = _join(tmp_path, "source,target\n10,9\n9,2\n")
    assert graph.ids == ["2", "9", "10"] and graph.arrays["edge_index"].tolist() == [[2, 1], [1, 0]]
    assert _join(tmp_path, "source,target\n10,9\n9,x\n").ids == ["10", "9", "x"]


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
    lines = _faults(tmp_path, EDGES + "b,zed\n", people, ignore=("age",), class_names=("red",))
    assert [line.split(";")[0] for line in lines] == [
        "--ignore age: no such column",
        "two.csv: row 3, column id: 'a' is already the id of two.csv: row 2",
        "one.csv: row 4, column target: 'zed' is no id in two.csv",
        "two.csv: row 4, column x: is empty",
        "two.csv: row 4, column label: 'pink' is none of the classes red",
    ]
    assert lines[-1].endswith("--class-names red,pink states all")
