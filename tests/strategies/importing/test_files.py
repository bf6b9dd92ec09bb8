"""Tables, edge lists, GML and GraphML, as people and other programs write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from ldpsim.strategies.importing.files import EdgeTable, PeopleTable, read_tables
from ldpsim.strategies.importing.options import ImportOptions, WrongFiles


def _read(folder: Path, name: str, text: str | None = None, **options: Any) -> Any:
    """Return what a file holds: edges, people, or both of a graph."""
    if text is not None:
        (folder / name).write_text(text)
    faults: list[str] = []
    tables = read_tables(folder / name, ImportOptions(**options), faults)
    if faults:
        raise WrongFiles(faults)
    return tables if len(tables) > 1 else tables[0]


def test_edges_of_a_table_with_columns_that_are_not_read(tmp_path: Path) -> None:
    table = _read(tmp_path, "t.csv", "weight,target,source\n2,b, a \n\n1,c,a\n")
    assert isinstance(table, EdgeTable)
    assert [[table.names[k] for k in side] for side in table.ends] == [["a", "a"], ["b", "c"]]
    assert list(table.lines) == [2, 4]
    assert table.notes == ("t.csv: not read: weight (an edge has no attributes)",)


@pytest.mark.parametrize("divider", [",", ";", "\t"])
def test_people_of_a_table(tmp_path: Path, divider: str) -> None:
    text = 'id,label,age,tall\n"7",red,31,True\n8,,0,"a\nb"\n9,x,1,0\n'.replace(",", divider)
    table = _read(tmp_path, "t.csv", "\ufeff" + text)
    assert isinstance(table, PeopleTable)
    assert (table.names, list(table.cells), table.label) == (["7", "8", "9"], ["label", "age", "tall"], "label")
    assert [table.place(k) for k in range(3)] == ["t.csv: row 2", "t.csv: row 4", "t.csv: row 5"]
    assert _read(tmp_path, "t.csv", text, label="age", ignore=("label",)).label == "age"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,x\na\n", r"t\.csv: row 2 has 1 cells, the first row has 2; correct the file"),
        ("id,x\na,1,80\nb,1\nc,1,75\n", r"row 2 has 3 cells, the first row has 2 \(2 rows\)"),
        ('id,x\na,"1" 2\n', r"t\.csv: row 2: .*; correct the quotes there"),
        ("id,x,x\na,1,2\n", r"t\.csv: row 1: the column 'x' stands twice"),
        ("from,to\n1,2\n", "row 1 must name the columns source and target .* --source from --target to reads edges"),
        ("name,x,y\n1,2,3\n", r"row 1 must name the columns .* or id \(people\), found name, x, y; .*--id NAME reads"),
        ("", "row 1 must name the columns; the file is empty"),
        ("id,x\n,1\nb,2\n ,3\n", r"t\.csv: row 2, column id: is empty \(2 rows\); write the name there; --missing"),
        ("source,target\na,b\na,\n", r"t\.csv: row 3, column target: is empty; write the name there"),
    ],
)
def test_a_table_at_fault(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        _read(tmp_path, "t.csv", text)
    assert "\n" not in str(caught.value)


def test_rows_without_a_name_are_left_out_where_empty_cells_are_dealt_with(tmp_path: Path) -> None:
    people = _read(tmp_path, "t.csv", "id,x\n,1\nb,2\n ,3\n", missing="mark")
    assert (people.names, list(people.lines), people.cells["x"].tolist()) == (["b"], [3], ["2"])
    assert _read(tmp_path, "t.csv", "source,target\na,b\na,\n", missing="zero").ends.shape == (2, 1)


def test_comments_tabs_and_a_first_row_of_names(tmp_path: Path) -> None:
    table = _read(tmp_path, "g.txt", "# SNAP\n% konect\nSource\tTarget\n\n1\t2\n2 3 # friends\n")
    assert [[table.names[k] for k in side] for side in table.ends] == [["1", "2"], ["2", "3"]]
    assert table.notes == () and list(table.lines) == [5, 6]
    weighted = _read(tmp_path, "g.txt", "a b 3\nb c 1\n")
    assert weighted.notes == ("g.txt: fields after the second are not read (an edge has no attributes)",)


@pytest.mark.parametrize("data", [True, False])
def test_edge_lists_of_networkx(tmp_path: Path, data: bool) -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=3, kind="x y")
    graph.add_edge("b", "c")
    nx.write_edgelist(graph, tmp_path / "g.txt", data=data)
    assert _read(tmp_path, "g.txt").ends.shape == (2, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n3\n", r"g\.txt: row 2 has 1 fields, an edge has 2; an edge is two names"),
        ("1,2\n", "row 1 has 1 fields, an edge has 2; .*a table with commas is named .csv"),
        ("1 2 3\n2 4\n", "row 2 has 2 fields, an edge has 3"),
        ("1 2\n2 4 5 6\n3 4 5\n", r"row 2 has 4 fields, an edge has 2 \(2 rows\)"),
    ],
)
def test_a_row_that_is_no_edge(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _read(tmp_path, "g.txt", text)


def _graph(kind: Any = nx.Graph) -> Any:
    graph = kind()
    for name, label in (("ann", "red"), ("bob", "blue"), ("cy", "red")):
        graph.add_node(name, y=label, age=3, tall=name == "cy")
    graph.add_edges_from([("ann", "bob"), ("bob", "cy"), ("cy", "cy")])
    return graph


@pytest.mark.parametrize("form", ["gml", "graphml"])
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph])
def test_nodes_attributes_and_edges(tmp_path: Path, form: str, kind: Any) -> None:
    (nx.write_gml if form == "gml" else nx.write_graphml)(_graph(kind), tmp_path / f"g.{form}")
    edges, people = _read(tmp_path, f"g.{form}")
    assert people.names == edges.names == ["ann", "bob", "cy"] and edges.directed == (kind is nx.DiGraph)
    np.testing.assert_array_equal(edges.ends, [[0, 1, 2], [1, 2, 2]])
    assert people.label == "y" and people.cells["y"].tolist() == ["red", "blue", "red"]
    assert [str(value).lower() in ("true", "1") for value in people.cells["tall"]] == [False, False, True]


def test_lists_become_columns(tmp_path: Path) -> None:
    graph = nx.Graph([(0, 1)])
    nx.set_node_attributes(graph, {0: [1.0, 0.0], 1: [0.0, 2.5]}, "x")
    nx.write_gml(graph, tmp_path / "g.gml")
    _, people = _read(tmp_path, "g.gml")
    assert people.cells.astype(float).to_dict("list") == {"x[0]": [1, 0], "x[1]": [0, 2.5]}
    nx.set_node_attributes(graph, {1: [1.0, 2.0, 3.0]}, "x")
    nx.write_gml(graph, tmp_path / "g.gml")
    with pytest.raises(ValueError, match="node 1, column x: has 3 numbers, the first node has 2; --ignore x leaves"):
        _read(tmp_path, "g.gml")


GML = 'graph [\n node [ id 5 label "Zoë" value 1 ]\n node [ id 9 label "Al" value 0 ]\n{}]\n'


def test_gml_of_other_programs(tmp_path: Path) -> None:
    """Names with accents, a repeated edge without the word multigraph, and names that are not unique."""
    edge = " edge [ source 5 target 9 ]\n"
    edges, people = _read(tmp_path, "g.gml", GML.format(edge + edge), label="value")
    assert (people.names, people.label, edges.ends.shape) == (["Zoë", "Al"], "value", (2, 2))
    edges, people = _read(tmp_path, "g.gml", GML.format(edge).replace("Zoë", "Al"), ignore=("value",))
    assert (people.names, people.label, people.cells.shape) == (["5", "9"], None, (2, 0))
    assert _read(tmp_path, "g.gml", GML.format(edge), label="label")[1].cells["label"].tolist() == ["Zoë", "Al"]
    commented = '# a "graph [\nCreator "graph [ x"\n' + GML.format(edge + edge)
    assert _read(tmp_path, "g.gml", commented)[0].ends.shape == (2, 2)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g.gml", "graph [ node [ id 1 ] ", r"g\.gml cannot be read: "),
        ("g.gml", "graph [ edge [ source 1 target 2 ] ]", r"g\.gml cannot be read: .*undefined"),
        ("g.gml", "graph [ a " + "[ " * 50_000, r"g\.gml cannot be read: "),
        ("g.graphml", "<graphml><graph", r"g\.graphml cannot be read: "),
        ("g.graphml", "", r"g\.graphml cannot be read: no element found"),
        ("g.graphml", "<html/>", r"g\.graphml cannot be read: it has no graph"),
        ("g.graphml", "<graphml><graph><hyperedge/></graph></graphml>", "a hyperedge joins more than two people"),
    ],
)
def test_a_graph_at_fault(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        _read(tmp_path, name, text)
    assert "\n" not in str(caught.value)
