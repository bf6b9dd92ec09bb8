"""Edges and tables of people, joined by names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from strategies.importing.joining import join
from strategies.importing.parts import FoundGraph, NamedEdges, PeopleTable, named_edges
from strategies.importing.tables import read_table

EDGES = "source,target\nc,a\na,b\n"
FEATURES = "id,x,y\nb,1,0\na,0,2\nc,0,0\n"
LABELS = "id,label\na,red\nc,blue\n"


def _join(folder: Path, *texts: str, **options: Any) -> FoundGraph:
    edges, tables = [], []
    for name, text in zip(("one", "two", "three"), texts, strict=False):
        (folder / f"{name}.csv").write_text(text)
        part = read_table(folder / f"{name}.csv", label=options.get("label"), ignore=options.get("ignore", ()))
        edges += [part] if isinstance(part, NamedEdges) else []
        tables += [part] if isinstance(part, PeopleTable) else []
    return join(edges, tables, **options)


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
    graph = join([named_edges("g.txt", [(1, "10", "9"), (2, "9", "2")])], [])
    assert graph.ids == ["2", "9", "10"]
    np.testing.assert_array_equal(graph.arrays["edge_index"], [[2, 1], [1, 0]])
    assert join([named_edges("g.txt", [(1, "10", "9"), (2, "9", "x")])], []).ids == ["10", "9", "x"]


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
def test_the_first_fault_is_named(tmp_path: Path, texts: tuple[str, ...], options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        _join(tmp_path, *texts, **options)
    assert "\n" not in str(caught.value)
