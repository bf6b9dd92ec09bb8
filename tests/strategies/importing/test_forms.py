"""Files of other programs in forms that were once read wrongly or without a telling word, each from a public report."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, save_npz

from ldpsim.devices.datasets import load
from ldpsim.strategies.importing.graph_import import import_graph
from ldpsim.strategies.importing.options import ImportOptions, WrongFiles
from ldpsim.strategies.importing.people import ImportedGraph
from tests.strategies.importing.reading import read


def faults_of(folder: Path, texts: dict[str, str], **options: Any) -> tuple[str, ...]:
    """Return the lines that refuse files of these texts, each without a line break."""
    with pytest.raises(WrongFiles) as caught:
        read(folder, texts, **options)
    assert not any("\n" in line for line in caught.value.faults)
    return caught.value.faults


def pairs(graph: ImportedGraph) -> list[tuple[str, str]]:
    """Return the names of each edge's ends."""
    assert graph.ids is not None
    return [(graph.ids[a], graph.ids[b]) for a, b in graph.arrays["edge_index"].T]


def dense(graph: ImportedGraph) -> list[list[float]]:
    """Return the features."""
    a = graph.arrays
    parts = (a["values"], a["indices"], a["indptr"])
    return csr_array(parts, shape=(len(a["labels"]), int(a["num_features"]))).toarray().tolist()


@pytest.mark.parametrize(
    ("heading", "numbers"),
    [("", "012"), ("", "123"), ('""', "012"), ("Unnamed: 0", "012"), ("", ["5", "0", "17"]), ("", ["", "", ""])],
    ids=str,
)
def test_a_column_of_row_numbers_is_no_feature(tmp_path: Path, heading: str, numbers: Any) -> None:
    """pandas writes its index in front, without a heading; rows that were left out leave gaps."""
    rows = ["ann,0,a", "bob,1,b", "cy,1,a"]
    people = "\n".join([f"{heading},id,f,label", *(f"{k},{row}" for k, row in zip(numbers, rows, strict=True))])
    graph, notes = read(tmp_path, {"e.csv": f"{heading},source,target\n0,ann,bob\n1,bob,cy\n", "p.csv": people + "\n"})
    assert (
        graph.columns == ("f",) and dense(graph) == [[0], [1], [1]] and pairs(graph) == [("ann", "bob"), ("bob", "cy")]
    )
    assert sum("column 1 has no name" in note for note in notes) == 2


def test_a_column_without_a_heading_that_counts_nothing_is_named(tmp_path: Path) -> None:
    texts = {"e.csv": "source,target\nann,bob\n", "p.csv": ",id,f\n0.5,ann,0\n0.5,bob,1\n"}
    (line,) = faults_of(tmp_path, texts)
    assert line.startswith("p.csv: row 1: column 1 has no name; write one there, --ignore '' leaves it out")
    assert dense(read(tmp_path, texts, ignore=("",))[0]) == [[0], [1]]
    names = {"e.csv": "source,target\nann,bob\n", "p.csv": ",f\nann,0\nbob,1\n"}
    assert dense(read(tmp_path, names, id="")[0]) == [[0], [1]]


@pytest.mark.parametrize(
    ("ends", "own"),
    [("Source,Target", "Id"), ("SOURCE,TARGET", "ID"), ("From,To", "id"), ("src,dst", "node_id"), ("a,b", "Node_ID"),
     ("src_id,dst_id", "node_id"), ("source_id,target_id", "id")],
)  # fmt: skip
def test_usual_headings_are_read_in_any_case(tmp_path: Path, ends: str, own: str) -> None:
    edges, people = f"\ufeff{ends},Type\r\n1,2,x\r\n2,3,x\r\n", f"\ufeff{own},Label,f\r\n1,A,1\r\n2,B,0\r\n3,A,1\r\n"
    options = {"source": "a", "target": "B"} if ends == "a,b" else {}
    for sign in ",;\t|":
        texts = {"e.csv": edges.replace(",", sign), "p.csv": people.replace(",", sign)}
        graph, notes = read(tmp_path, texts, **options)
        assert pairs(graph) == [("1", "2"), ("2", "3")] and dense(graph) == [[1], [0], [1]]
        assert graph.arrays["class_names"].tolist() == ["A", "B"]
        assert notes == ["e.csv: not read: Type (an edge has no attributes)"]


def test_an_id_beside_two_dates_is_a_person(tmp_path: Path) -> None:
    graph, _ = read(tmp_path, {"e.csv": "id,source,target\n7,a,b\n", "p.csv": "id,from,to\na,0,1\nb,1,1\n"})
    assert graph.columns == ("from", "to") and pairs(graph) == [("a", "b")]


def test_no_fault_follows_from_a_file_that_is_not_read(tmp_path: Path) -> None:
    """The file without headings is one line; what a join without it would miss is told by nobody."""
    people = "id,f,label\nann,x,a\nbob,1,b\n"
    told = faults_of(tmp_path, {"e.csv": "ann,bob\nbob,cy\n", "p.csv": people})
    assert len(told) == 2 and told[0].startswith("e.csv: row 1 holds data (ann, bob), not the names of columns")
    assert told[1].startswith("p.csv: row 2, column f: 'x' is not a number")
    (line,) = faults_of(tmp_path, {"e.csv": "1,2\n2,3\n", "p.csv": people.replace("x", "0")})
    assert line.startswith("e.csv: row 1 holds data (1, 2)")
    (line,) = faults_of(tmp_path, {"e.csv": "source,target\nann,bob\n", "p.csv": "ann,0,a\nbob,1,b\ncy,1,a\n"})
    assert line.startswith("p.csv: row 1 holds data (ann, 0, a)")


def test_the_hint_names_the_columns_that_hold_names(tmp_path: Path) -> None:
    (line,) = faults_of(tmp_path, {"e.csv": "giver,taker,weight\na,b,0.1\nb,c,0.2\n"})
    assert line.endswith("here perhaps --source giver --target taker")
    texts = {"e.csv": "source,target\na,b\n", "p.csv": "height,customer_id\n0.5,a\n0.75,b\n"}
    (line,) = faults_of(tmp_path, texts)
    assert line.endswith("here perhaps --id customer_id")


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;"])
def test_a_row_that_states_the_separator(tmp_path: Path, first: str) -> None:
    edges = f"{first}\r\nsource;target\r\n1,0;2\r\n2;3\r\n"
    graph, _ = read(tmp_path, {"e.csv": edges})
    assert sorted(pairs(graph)) == [("1,0", "2"), ("2", "3")]
    (line,) = faults_of(tmp_path, {"e.csv": edges + "2;\r\n"})
    assert line.startswith("e.csv: row 5, column target: is empty")


def test_an_adjacency_list_of_networkx(tmp_path: Path) -> None:
    """A ring: each row but the last has the same number of names, and one person stands alone."""
    graph = nx.Graph([("ada", "ben"), ("ada", "cy"), ("ben", "cy"), ("ben", "dan"), ("cy", "eve"), ("dan", "eve")])
    graph.add_node("alone")
    nx.write_adjlist(graph, tmp_path / "g.txt")
    text = (tmp_path / "g.txt").read_text()
    bare = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
    for name, content in (("g.txt", text), ("g.adjlist", bare), ("h.adjlist", text)):
        found, notes = read(tmp_path, {name: content})
        assert {frozenset(pair) for pair in pairs(found)} == {*map(frozenset, graph.edges)}
        assert set(found.ids or ()) == {*graph} and len(pairs(found)) == 6
        assert [note for note in notes if "adjacency list of networkx" in note] == notes[: name == "g.txt"]
    nx.write_multiline_adjlist(graph, tmp_path / "m.txt")
    (line,) = faults_of(tmp_path, {"m.txt": (tmp_path / "m.txt").read_text()})
    assert line.startswith("m.txt: a multiline adjacency list of networkx; write the graph with networkx.write_adjlist")


@pytest.mark.parametrize(
    ("text", "begin"),
    [
        ("a b c\nb dan\n", "row 2 has 2 fields, an edge has 3"),
        ("a b c\nb c a\nc a b\n", "'a' in the third field is a name ("),
    ],
)
def test_an_adjacency_list_is_no_list_of_weighted_edges(tmp_path: Path, text: str, begin: str) -> None:
    (line,) = faults_of(tmp_path, {"e.txt": text})
    assert line.startswith(f"e.txt: {begin.removesuffix('(')}".rstrip()) and "a row, .adjlist)" in line
    assert read(tmp_path, {"e.txt": "1 2 0.5\n2 3 1e-3\n"})[1][0].startswith(
        "e.txt: fields after the second are not read"
    )


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("e.txt", "Ada Low\tBen #2\nBen #2\tCy\t0.5\n", None),
        ("e.txt", "Ada Low\tBen #2\t{'w': 1}\nBen #2\tCy\n", [("Ada Low", "Ben #2"), ("Ben #2", "Cy")]),
        ("e.tsv", "# who\tand whom\nAda Low\tBen #2\r\nBen #2\tCy\r\n", [("Ada Low", "Ben #2"), ("Ben #2", "Cy")]),
        ("e.txt", "a, b\nb, c\n", [("a", "b"), ("b", "c")]),
        ("e.txt", "a; b c\nb c; d\n", [("a", "b c"), ("b c", "d")]),
        ("e.txt", "From To\n1 2\n2 3\n", [("1", "2"), ("2", "3")]),
        ("e.txt", "node1 node2\n1 2\n2 3\n", [("1", "2"), ("2", "3")]),
        ("e.txt", "a 2\n1 2\n2 3\n", [("1", "2"), ("2", "3"), ("a", "2")]),
        ("e.edges", "1 2\n2 3\n", [("1", "2"), ("2", "3")]),
    ],
    ids=str,
)
def test_one_look_at_the_separator_of_a_list(tmp_path: Path, name: str, text: str, found: Any) -> None:
    """Names with blanks or number signs stand between tabs; a row of headings is no edge."""
    if found is None:
        assert "row 2 has 3 fields, an edge has 2" in faults_of(tmp_path, {name: text})[0]
    else:
        assert sorted(pairs(read(tmp_path, {name: text})[0])) == found


@pytest.mark.parametrize("name", ["e.txt.gz", "e.tsv.GZ", "e.csv.gz", "g.gml.gz", "g.graphml.gz", "e.adjlist.gz"])
def test_packed_files(tmp_path: Path, name: str) -> None:
    graph = nx.Graph([("1", "2"), ("2", "3")])
    texts = {".csv": "source,target\n1,2\n2,3\n", ".gml": "\n".join(nx.generate_gml(graph)),
             ".graphml": "\n".join(nx.generate_graphml(graph))}  # fmt: skip
    content = texts.get(Path(Path(name).stem).suffix, "# FromNodeId\tToNodeId\n1\t2\n2\t3\n").encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content))
    assert import_graph([path])["edges"]["kept"] == 2
    large = gzip.compress(bytes(30_000_000))
    for wrong, words in ((content, "cannot be unpacked: "), (gzip.compress(content)[:-9], "cannot be unpacked: "),
                         (large, "bytes unpacked: too many for a file of this size")):  # fmt: skip
        path.write_bytes(wrong)
        with pytest.raises(WrongFiles, match=words) as caught:
            import_graph([path])
        assert len(caught.value.faults) == 1 and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("edges", "people", "changed"),
    [
        ("1.0,2.0\n2.0,3.0\n", "123", 2),
        ("1,2.0\n2,3.0\n", "123", 1),
        ("1,2.0\n2,3.0\n", "", 1),
        ("1,2\n2,3\n", ["1.0", "2.0", "3.0"], 1),
        ('"1,00","2,00"\n"2,00","3,00"\n', "123", 2),
        ("1.0,2.0\n2.0,3.0\n", ["1.0", "2.0", "3.0"], 0),
        ("1.0,2.0\n2.0,3.0\n", ["1.0", "2.0", "3.0", "1", "b"], 0),
        ("1.5,2.0\n2.0,3.0\n", ["1.5", "2.0", "3.0"], 0),
    ],
    ids=str,
)
def test_names_that_are_whole_numbers_with_decimals(tmp_path: Path, edges: str, people: Any, changed: int) -> None:
    """1.0 and 1 are one person where a whole column differs from the others in form alone."""
    texts = {"e.csv": f"source,target\n{edges}"}
    if people:
        texts["p.csv"] = "id,f\n" + "".join(f"{name},0.5\n" for name in people)
    graph, notes = read(tmp_path, texts)
    assert len(graph.ids or ()) == len(people or "123") and len(pairs(graph)) == 2
    assert sum("are read as" in note for note in notes) == changed


@pytest.mark.parametrize(
    ("edges", "options", "words"),
    [("x,y\n", {"without_row": "drop"}, "there is no edge between two people: nothing"),
     ("a,a\n", {}, "there is no edge between two people (self-loops: 1): nothing")],
)  # fmt: skip
def test_a_graph_without_edges_is_a_warning(tmp_path: Path, edges: str, options: Any, words: str) -> None:
    for name, text in {"e.csv": f"source,target\n{edges}", "p.csv": "id,f,label\na,0,x\nb,1,y\n"}.items():
        (tmp_path / name).write_text(text)
    document = import_graph([tmp_path / "e.csv", tmp_path / "p.csv"], options=ImportOptions(**options))
    assert any(line.startswith(words) for line in document["warnings"])


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_a_matrix_of_scipy(tmp_path: Path, form: str) -> None:
    """A stored 0 is no edge, and the last person has none; run --dataset reads the same people."""
    data, rows, columns = [1.0, 2.0, 1.0, 0.0], [0, 1, 3, 2], [1, 3, 1, 0]
    save_npz(tmp_path / "a.npz", coo_array((data, (rows, columns)), shape=(5, 5)).asformat(form))
    document = import_graph([tmp_path / "a.npz"], tmp_path / "mine.npz")
    people = load(str(tmp_path / "a.npz"))
    assert (document["people"], document["edges"]["kept"]) == (5, 2)
    assert people.edges.T.tolist() == [[0, 1], [1, 3]] and people.digest == load(str(tmp_path / "mine.npz")).digest


@pytest.mark.parametrize(
    ("matrix", "changes", "words"),
    [
        (csr_array((5, 4)), {}, "a scipy matrix of 5 rows and 4 columns has no edges"),
        (csr_array((4, 4)).tobsr(), {}, r"a scipy matrix of the form 'bsr'; save_npz\(file, matrix\.tocsr\(\)\)"),
        (csr_array(([1.0], ([0], [1])), shape=(4, 4)), {"indices": np.array([9])}, "do not fit: rows, columns"),
        (coo_array(([1.0], ([0], [1])), shape=(4, 4)), {"row": np.array([-1])}, "row, col and data do not fit: row"),
        (coo_array(([1.0], ([0], [1])), shape=(4, 4)), {"shape": np.array([10**9] * 2)}, "1,000,000,000 people: too"),
    ],
    ids=str,
)
def test_a_matrix_of_scipy_at_fault(tmp_path: Path, matrix: Any, changes: dict[str, Any], words: str) -> None:
    save_npz(tmp_path / "a.npz", matrix)
    np.savez(tmp_path / "b.npz", **{**np.load(tmp_path / "a.npz"), **changes})
    for read_file in (lambda path: import_graph([path]), lambda path: load(str(path))):
        with pytest.raises(ValueError, match=words) as caught:
            read_file(tmp_path / "b.npz")
        assert "\n" not in str(caught.value)


PAJEK = (
    '% made\n*Network team\n*Vertices 3\n1 "Ada Low" 0.1 0.2 ellipse\n2 "Ben"\n3 Cy\n'
    '*Arcs :1 "likes"\n1 2 1\n*Edges\n2 3 2\n'
)
GEXF = """<?xml version="1.0" encoding="UTF-8"?><gexf xmlns="{0}" xmlns:viz="{0}/viz" version="{1}">
<graph defaultedgetype="undirected"><attributes class="node"><attribute id="0" title="f" type="float">
<default>1</default></attribute></attributes><nodes><node id="0" label="Ada Low"><viz:size value="2"/>
<attvalues><attvalue for="0" value="0.5"/></attvalues></node><node id="1" label="Ben"/><node id="2" label="Cy"/></nodes>
<edges><edge id="0" source="0" target="1" weight="2"/><edge id="1" source="1" target="2"/></edges></graph></gexf>"""


@pytest.mark.parametrize("version", ["1.2", "1.3", "pajek"])
def test_gexf_and_pajek(tmp_path: Path, version: str) -> None:
    is_pajek = version == "pajek"
    place = {"1.2": "http://www.gexf.net/1.2draft"}.get(version, f"http://gexf.net/{version}")
    texts = {"g.net": PAJEK} if is_pajek else {"g.gexf": GEXF.format(place, version)}
    graph, notes = read(tmp_path, texts)
    assert sorted(pairs(graph)) == [("Ada Low", "Ben"), ("Ben", "Cy")] and graph.directed == is_pajek
    assert dense(graph) == ([[], [], []] if is_pajek else [[0.5], [1], [1]])
    left_out = "g.net: not read: id, shape, x, y" if is_pajek else "g.gexf: not read: viz"
    assert notes == [f"{left_out} (a picture of the nodes)"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (PAJEK.replace("Vertices 3", "Vertices 9"), r"\*Vertices states 9, 3 have a row"),
        (PAJEK.replace('"Ben"', "Cy"), "3 vertices have 2 names"),
        (PAJEK.replace("*Edges", "*Edgeslist"), r"the section \*edgeslist is not read"),
        ("<gexf", "cannot be read: "),
    ],
)
def test_gexf_and_pajek_at_fault(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(WrongFiles, match=words):
        read(tmp_path, {"g.gexf" if text.startswith("<") else "g.net": text})


@pytest.mark.parametrize("name", ["g.mtx", "g.edges", "g.txt", "g.mtx.gz"])
def test_matrix_market(tmp_path: Path, name: str) -> None:
    """The row of sizes is no edge, and people without an edge are there."""
    text = "%%MatrixMarket matrix coordinate pattern symmetric\n% by hand\n5 5 2\n2 1\n4 2\n"
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    (tmp_path / "p.csv").write_text("id,f\n" + "".join(f"{k},{k / 8}\n" for k in range(1, 6)))
    document = import_graph([tmp_path / name, tmp_path / "p.csv"])
    assert (document["people"], document["edges"]["kept"], document["features"]) == (5, 2, 1)
    assert import_graph([tmp_path / name])["people"] == 5
    for sizes, words in ("5 4 2", "a matrix of 5 rows and 4 columns"), (f"{10**9} {10**9} 2", "too many"):
        (tmp_path / "w.mtx").write_text(text.replace("5 5 2", sizes).replace("symmetric", "general"))
        with pytest.raises(WrongFiles, match=words):
            import_graph([tmp_path / "w.mtx"])


def test_numbers_of_gml_that_are_none(tmp_path: Path) -> None:
    """NaN is an empty cell, and an infinite number is refused with its node; texts and names stay as they are."""
    nodes = 'node [ id 0 label "x nan " score 0.5 nan 1 ]\n node [ id 1 label "b" score {} nan 0 ]\n'
    text = f"graph [\n{nodes} edge [ source 0 target 1 ]\n]\n"
    for none in ("NaN", "nan", "NAN", "-nan"):
        (tmp_path / "g.gml").write_text(text.format(none))
        (line,) = faults_of(tmp_path, {"g.gml": text.format(none)})
        assert line.startswith("g.gml: node b, column score: is empty or 'nan'; --missing") or none != none.lower()
        graph, _ = read(tmp_path, {"g.gml": text.format(none)}, missing="zero")
        assert graph.ids == ["x nan ", "b"] and graph.columns == ("score", "nan") and dense(graph) == [[0.5, 1], [0, 0]]
    for infinite in ("Inf", "-inf", "+Infinity", "INF"):
        (tmp_path / "g.gml").write_text(text.format(infinite))
        with pytest.raises(WrongFiles, match="g.gml: node b, column score: feature .*not") as caught:
            import_graph([tmp_path / "g.gml"])
        assert len(caught.value.faults) == 1


@pytest.mark.parametrize(
    "cells", [["0.0, 1.0, 0.5", "1, 0, .25"], ["[0 1 0.5]", "[ 1. 0.  2.5e-1]"], ["[0,1, 0.5]", "[1,0,0.25]"],
              ["0.0,1.0,0.5", "1.0,0.0,0.25"]], ids=str,
)  # fmt: skip
def test_a_list_of_numbers_in_a_cell_is_several_features(tmp_path: Path, cells: list[str]) -> None:
    """DGL's CSVDataset, whose masks and labels are read as they are; an empty cell is empty in each feature."""
    one, two = cells
    edges = "src_id,dst_id,weight\n0,1,0.5\n1,2,0.5\n"
    rows = f'0,0,True,False,False,"{one}",1\n1,1,False,True,False,"{two}",0\n2,0,False,False,True,"{one}",1\n'
    people = f"node_id,label,train_mask,val_mask,test_mask,feat,f\n{rows}"
    graph, _ = read(tmp_path, {"e.csv": edges, "p.csv": people})
    assert graph.columns == ("feat[0]", "feat[1]", "feat[2]", "f")
    assert dense(graph) == [[0, 1, 0.5, 1], [1, 0, 0.25, 0], [0, 1, 0.5, 1]]
    assert graph.arrays["labels"].tolist() == [0, 1, 0] and graph.arrays["val"].tolist() == [False, True, False]
    hole, _ = read(tmp_path, {"e.csv": edges, "p.csv": people.replace(f'"{two}"', "")}, missing="zero")
    assert dense(hole)[1] == [0, 0, 0, 0]
    (line,) = faults_of(tmp_path, {"e.csv": edges, "p.csv": people.replace(two, "0.5, 0.5")})
    assert line == (
        "p.csv: row 3, column feat: has 2 numbers, the first list has 3; --ignore feat leaves the column out"
    )
    assert read(tmp_path, {"e.csv": edges, "p.csv": people}, ignore=("feat",))[0].columns == ("f",)


def test_a_decimal_comma_is_no_list(tmp_path: Path) -> None:
    (line,) = faults_of(tmp_path, {"e.csv": "source;target\na;b\n", "p.csv": "id;f\na;0,5\nb;0,25\n"})
    assert "--decimal , reads such numbers" in line
