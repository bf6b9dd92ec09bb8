"""Tables, lists of edges and graphs of other programs: what their cells become, and each fault in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.strategies.importing.options import WrongFiles
from ldpsim.strategies.importing.people import ImportedGraph
from tests.strategies.importing.reading import read

PAIR = "source,target\na,b\n"
EDGES = "source,target\nc,a\na,b\n"
FEATURES = "id,x,y\nb,1,0\na,0,2\nc,0,0\n"
LABELS = "id,label\na,red\nc,blue\n"


def _csv(folder: Path, *texts: str, **options: Any) -> tuple[ImportedGraph, list[str]]:
    return read(folder, dict(zip(("one.csv", "two.csv", "three.csv"), texts, strict=False)), **options)


def _faults(folder: Path, *texts: str, **options: Any) -> tuple[str, ...]:
    with pytest.raises(WrongFiles) as caught:
        _csv(folder, *texts, **options)
    return caught.value.faults


def _dense(graph: ImportedGraph) -> Any:
    a = graph.arrays
    return csr_array(
        (a["values"], a["indices"], a["indptr"]), shape=(len(a["labels"]), int(a["num_features"]))
    ).toarray()


def _pairs(graph: ImportedGraph) -> list[tuple[str, ...]]:
    return [tuple(graph.ids[k] for k in pair) for pair in graph.arrays["edge_index"].T]


@pytest.mark.parametrize("divider", [",", ";", "\t"])
def test_cells(tmp_path: Path, divider: str) -> None:
    """Words for true and false, empty cells in many spellings, quotes, a byte order mark and blank lines."""
    people = '\ufeffid,x,y,"z\nz"\na,1, 2.5,-3e2\n\nb,True,false,4\nc,, N/A,NULL\nd,nan,?,-\n'.replace(",", divider)
    edges = "weight,target,source\n2,b, a \n\n1,c,a\n".replace(",", divider)
    graph, notes = _csv(tmp_path, edges, people, missing="zero")
    np.testing.assert_array_equal(_dense(graph), [[1, 2.5, -300], [1, 0, 4], [0, 0, 0], [0, 0, 0]])
    assert _pairs(graph) == [("a", "b"), ("a", "c")] and graph.columns == ("x", "y", "z\nz")
    assert notes == ["one.csv: not read: weight (an edge has no attributes)",
                     "empty cells, --missing zero: 2 in x, 2 in y, 2 in z\nz"]  # fmt: skip
    assert graph.place(1, 0) == "two.csv: row 4, column x"  # as a spreadsheet counts: blank rows, too
    exact = "0.8123456789012345678"
    assert _dense(_csv(tmp_path, PAIR, f"id,x\na,{exact}\nb,0\n")[0])[0, 0] == float(exact)


def test_a_comma_before_decimals(tmp_path: Path) -> None:
    people = "id;x;a, b\na;0,5;1\nb;1;0,25\n"
    (line, _) = _faults(tmp_path, PAIR, people.replace("a, b", "y"))
    assert line.startswith("two.csv: row 2, column x: '0,5' is not a number; --decimal , reads such numbers")
    assert _dense(_csv(tmp_path, PAIR, people, decimal=",")[0]).tolist() == [[0.5, 1], [1, 0.25]]


def test_categories(tmp_path: Path) -> None:
    """A value with a comma stands in double quotes, in the option and in what a fault proposes."""
    people = 'id,my city,x\na,"Rome, Lazio",1\nb, Oslo ,2\nc,,3\n'
    graph, notes = _csv(tmp_path, PAIR, people, one_hot=("my city",), missing="zero")
    assert graph.columns == ("my city=Oslo", "my city=Rome, Lazio", "x")
    assert _dense(graph).tolist() == [[0, 1, 1], [1, 0, 2], [0, 0, 3]]
    assert "its values are read from the data, which is itself a release" in notes[1]
    stated, _ = _csv(tmp_path, PAIR, people, one_hot=('my city="Rome, Lazio",Bonn, Oslo',), missing="mean")
    assert _dense(stated)[:, :3].tolist() == [[1, 0, 0], [0, 0, 1], [0.5, 0, 0.5]]
    (line,) = _faults(tmp_path, PAIR, people, one_hot=("my city=Oslo",), missing="zero")
    assert line == (
        "two.csv: row 2, column my city: 'Rome, Lazio' is none of the values of --one-hot; write one of them, or "
        "state all: --one-hot 'my city=Oslo,\"Rome, Lazio\"'"
    )


@pytest.mark.parametrize(
    ("missing", "ids", "rows"),
    [
        ("zero", "abc", [[1, 0, 0, 1], [3, 5, 0, 0], [0, 0, 1, 0]]),
        ("mean", "abc", [[1, 5, 0, 1], [3, 5, 0.5, 0.5], [2, 5, 1, 0]]),
        ("drop", "", np.zeros((0, 2))),
    ],
)
def test_empty_cells(tmp_path: Path, missing: str, ids: str, rows: Any) -> None:
    holes = "id,x,y,city\na,1,,B\nb,3,5,\nc,,,A\n"
    graph, notes = _csv(tmp_path, PAIR, holes, missing=missing, one_hot=("city",))
    np.testing.assert_array_equal(_dense(graph), rows)
    assert graph.ids == [*ids] and notes[0].startswith(f"empty cells, --missing {missing}: 1 in x, 2 in y, 1 in city")
    assert ("itself a release" in notes[0]) == (missing == "mean")
    assert (missing == "drop") == notes[0].endswith("people left out: 3")


def test_people_are_the_rows_with_features(tmp_path: Path) -> None:
    """Two tables of features, labels and a mask meet by the names; masks of others are 0."""
    more = "id,z,label,train_mask\nc,7,blue,1\na,8,red,\nb,9,,0\n"
    graph, _ = _csv(tmp_path, EDGES, FEATURES, more)
    assert (graph.ids, graph.columns) == (["b", "a", "c"], ("x", "y", "z"))
    np.testing.assert_array_equal(_dense(graph), [[1, 0, 9], [0, 2, 8], [0, 0, 7]])
    assert graph.arrays["labels"].tolist() == [-1, 1, 0] and graph.arrays["class_names"].tolist() == ["blue", "red"]
    assert _pairs(graph) == [("c", "a"), ("a", "b")] and graph.arrays["train"].tolist() == [False, False, True]
    assert graph.place(1, 1) == "two.csv: row 3, column y" and graph.place(1, 2) == "three.csv: row 3, column z"


def test_without_features_the_people_are_all_names(tmp_path: Path) -> None:
    graph, _ = _csv(tmp_path, "source,target\n10,9\n9,2\n")
    assert graph.ids == ["2", "9", "10"] and _pairs(graph) == [("10", "9"), ("9", "2")]
    graph, _ = _csv(tmp_path, "source,target\n10,9\n9,x\n", "id,label\nd,red\n")
    assert graph.ids == ["10", "9", "d", "x"] and graph.arrays["labels"].tolist() == [-1, -1, 0, -1]


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ((FEATURES,), {}, r"no edges: one\.csv lists people"),
        ((EDGES + "b,zed\nzed,b\n", FEATURES), {}, r"one\.csv: row 4: 'zed' has no row in two\.csv"),
        ((EDGES, FEATURES, LABELS + "zed,red\n"), {}, r"three\.csv: row 4: 'zed' has no row in two\.csv"),
        ((EDGES, FEATURES, "id,z\na,1\nb,1\n"), {}, r"two\.csv: row 4: 'c' has no row in three\.csv"),
        ((EDGES, FEATURES + "a,1,1\n"), {}, r"two\.csv: row 5, column id: 'a' is already the id of two\.csv: row 3"),
        ((EDGES, LABELS, LABELS), {}, r"three\.csv: two\.csv has labels too; --ignore or --label"),
        ((EDGES, FEATURES, "id,x\na,1\nb,1\nc,1\n"), {}, r"three\.csv: two\.csv has a column x too"),
        ((EDGES, FEATURES), {"label": "team"}, "--label team: no such column; there are id, x, y"),
        ((EDGES, FEATURES), {"ignore": ("age",)}, "--ignore age: no such column"),
        ((EDGES, FEATURES, LABELS), {"class_names": ("red",)}, r"three\.csv: row 3, column label: 'blue' is none of"),
        ((EDGES, "id,x\na,1,80\nb,1,7\nc,1,75\n"), {}, r"two\.csv: row 2 has more cells than the first row"),
        ((EDGES, "id,x\na,1\nb,1,2\n"), {}, r"two\.csv: Expected 2 fields in line 3, saw 3; a cell that holds"),
        ((EDGES, 'id,x\na,"1\n'), {}, r"two\.csv: EOF inside string"),
        ((EDGES, "id,x,x\na,1,2\n"), {}, r"two\.csv: row 1: the column 'x' stands twice"),
        (
            (EDGES, "name,x,y\na,1,0\nb,1,0\nc,0,0\n"),
            {},
            r"row 1 must name the columns .* or id \(people\), found name, x, y .*--id",
        ),
        ((EDGES, ""), {}, r"two\.csv: row 1 must name the columns; the file is empty"),
        ((PAIR, "id,x\n,1\na,1\nb,2\n ,3\n"), {}, r"two\.csv: row 2, column id: is empty \(2 rows\); write the name"),
        ((EDGES + "a,\n",), {}, r"one\.csv: row 4, column target: is empty; write the name there"),
    ],
)
def test_each_fault_is_one_line(tmp_path: Path, texts: tuple[str, ...], options: Any, message: str) -> None:
    with pytest.raises(WrongFiles, match=message) as caught:
        _csv(tmp_path, *texts, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("option", "others", "there"),
    [("source", "x", "source, target, since"), ("target", "id", "source, target, since"), ("id", "since", "id, x, y")],
)
def test_a_stated_name_that_no_heading_has(tmp_path: Path, option: str, others: str, there: str) -> None:
    """Usual names are read where another file has the stated one; a name in no file of that kind is told."""
    for name in ("nobody", others):
        (line,) = _faults(tmp_path, "source,target,since\na,b,1\n", FEATURES, **{option: name})
        assert line == f"--{option} {name}: no such column; there are {there}"
    names = {"source": "giver", "target": "taker", "id": "NAME"}
    texts = (EDGES, FEATURES, "giver,taker\nc,a\n", "name,z\na,1\nb,1\nc,1\n")
    graph, _ = read(tmp_path, {f"{place}.csv": text for place, text in enumerate(texts)}, **names)
    assert len(_pairs(graph)) == 3 and graph.columns == ("x", "y", "z")


@pytest.mark.parametrize("ignore", ["weight", "Weight"])
def test_a_column_of_edges_may_be_ignored(tmp_path: Path, ignore: str) -> None:
    """It is never read; the names of an edge's ends cannot be left out."""
    edges = "source,target,weight\nc,a,2\na,b,1\n"
    graph, notes = _csv(tmp_path, edges, FEATURES, ignore=(ignore, "y"))
    assert graph.columns == ("x",) and len(_pairs(graph)) == 2
    assert "one.csv: not read: weight (an edge has no attributes)" in notes
    (line,) = _faults(tmp_path, edges, FEATURES, ignore=("target",))
    assert line.startswith("--ignore target: no such column; there are id, x, y")


def test_names_of_ends_that_a_file_lacks_are_told_once(tmp_path: Path) -> None:
    (line,) = _faults(tmp_path, "giver,taker\na,b\n", FEATURES, source="given", target="taker")
    assert line.startswith("one.csv: row 1 must name the columns given and taker (edges)")


@pytest.mark.parametrize(("duplicates", "ids", "row", "label"), [
    ("first", ["b", "a", "c"], [1, 0], "red"), ("last", ["a", "c", "b"], [0, 6], "blue"),
])  # fmt: skip
def test_duplicates(tmp_path: Path, duplicates: str, ids: list[str], row: list[float], label: str) -> None:
    text = "id,x,y,label\nb,1,,red\na,0,2,\nb,3,4,blue\nc,0,0,\nb,,6,blue\n"
    graph, notes = _csv(tmp_path, EDGES, text, duplicates=duplicates, missing="zero")
    at = ids.index("b")
    assert graph.ids == ids and _dense(graph)[at].tolist() == row
    assert graph.arrays["class_names"][graph.arrays["labels"][at]] == label
    assert "two.csv: rows of people who have one already: 2, left out" in notes


def test_people_without_a_row(tmp_path: Path) -> None:
    edges, second = "source,target\na,zed\nb,c\nyan,zed\n", "id,z,label\na,1,\nb,2,red\nzed,3,red\n"
    dropped, notes = _csv(tmp_path, edges, FEATURES, second, without_row="drop")
    assert dropped.ids == ["b", "a"] and _pairs(dropped) == []
    assert notes == ["people without a row of features, left out: 3", "edges left out with their people: 3"]
    all_of_them, _ = _csv(tmp_path, edges, FEATURES, second, without_row="keep", missing="zero")
    assert all_of_them.ids == ["b", "a", "c", "zed", "yan"] and len(_pairs(all_of_them)) == 3
    assert _dense(all_of_them)[2:].tolist() == [[0, 0, 0], [0, 0, 3], [0, 0, 0]]
    assert all_of_them.arrays["labels"].tolist() == [0, -1, -1, 0, -1]
    assert (
        "two.csv: no row for 'yan', column x: is empty (2 rows)"
        in _faults(tmp_path, edges, FEATURES, without_row="keep")[0]
    )


@pytest.mark.parametrize(
    ("name", "text", "pairs"),
    [
        ("e.txt", "# c\n% c\n10 9\n9 2 # x\n9\t9\n", [("10", "9"), ("9", "2"), ("9", "9")]),
        ("e.edges", "a b {'weight': 1}\n b c {}\n", [("a", "b"), ("b", "c")]),
        ("e.tsv", "Source\tTarget\tWeight\na\tb\t1\n", [("a", "b")]),
        ("e.tsv", "source\ttarget\tw\na b\tc\t1\n", [("a b", "c")]),
    ],
)
def test_lists_of_edges(tmp_path: Path, name: str, text: str, pairs: list[tuple[str, str]]) -> None:
    assert _pairs(read(tmp_path, {name: text})[0]) == pairs


def test_a_list_of_neighbours_is_no_list_of_edges(tmp_path: Path) -> None:
    with pytest.raises(WrongFiles, match=r"e\.txt: row 2 has 4 fields, an edge has 2 \(2 rows\); an edge is two names"):
        read(tmp_path, {"e.txt": "a b\na b c d\nb c d\n"})


def test_gml_of_other_programs(tmp_path: Path) -> None:
    """Names with accents, a repeated edge without the word multigraph, and names that are not unique."""
    gml, edge = (
        'graph [\n node [ id 5 label "Zoë" value 1 ]\n node [ id 9 label "Al" value 0 ]\n{}]\n',
        (" edge [ source 5 target 9 ]\n"),
    )
    graph, _ = read(tmp_path, {"g.gml": '# a "graph [\nCreator "graph [ x"\n' + gml.format(2 * edge)}, label="value")
    assert _pairs(graph) == [("Zoë", "Al")] * 2 and graph.arrays["labels"].tolist() == [0, 1]
    graph, _ = read(tmp_path, {"g.gml": gml.format(edge).replace("Zoë", "Al")}, ignore=("value",))
    assert (graph.ids, graph.columns) == (["5", "9"], ())
    assert read(tmp_path, {"g.gml": gml.format(edge)}, label="label")[0].arrays["class_names"].tolist() == [
        "Al",
        "Zoë",
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g.gml", "graph [ node [ id 1 ] ", r"g\.gml cannot be read: "),
        ("g.gml", "graph [ edge [ source 1 target 2 ] ]", r"g\.gml cannot be read: .*undefined"),
        ("g.gml", "graph [ a " + "[ " * 50_000, r"g\.gml cannot be read: "),
        ("g.graphml", "<graphml><graph", r"g\.graphml cannot be read: "),
        ("g.graphml", "<html/>", r"g\.graphml cannot be read: it has no graph"),
        ("g.graphml", "<graphml><graph><hyperedge/></graph></graphml>", "a hyperedge joins more than two people"),
    ],
)
def test_a_graph_at_fault(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(WrongFiles, match=message) as caught:
        read(tmp_path, {name: text})
    assert "\n" not in str(caught.value)
