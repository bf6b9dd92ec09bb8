"""GML and GraphML as networkx writes them, and as other programs do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from ldpsim.strategies.importing.faults import FileFaults
from ldpsim.strategies.importing.graph_files import read_graph_file
from ldpsim.strategies.importing.options import ImportOptions
from ldpsim.strategies.importing.parts import NamedEdges, PeopleTable


def _read(path: Path, **options: Any) -> tuple[NamedEdges, PeopleTable]:
    faults = FileFaults()
    found = read_graph_file(path, ImportOptions(**options), faults)
    faults.end()
    return found


def _graph(kind: Any = nx.Graph) -> Any:
    graph = kind()
    for name, label in (("ann", "red"), ("bob", "blue"), ("cy", "red")):
        graph.add_node(name, y=label, age=3, tall=name == "cy", train_mask=name == "ann")
    graph.add_edges_from([("ann", "bob"), ("bob", "cy"), ("cy", "cy")])
    return graph


@pytest.mark.parametrize("form", ["gml", "graphml"])
@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph])
def test_nodes_attributes_and_edges(tmp_path: Path, form: str, kind: Any) -> None:
    path = tmp_path / f"g.{form}"
    (nx.write_gml if form == "gml" else nx.write_graphml)(_graph(kind), path)
    edges, people = _read(path)
    assert people.ids == edges.names == ["ann", "bob", "cy"]
    assert edges.directed == (kind is nx.DiGraph)
    np.testing.assert_array_equal(edges.ends, [[0, 1, 2], [1, 2, 2]])
    assert people.labels.tolist() == ["red", "blue", "red"]
    assert tuple(people.cells) == ("age", "tall")
    np.testing.assert_array_equal(people.cells, [[3, 0], [3, 0], [3, 1]])
    np.testing.assert_array_equal(people.masks["train"], [1, 0, 0])


def test_lists_become_columns(tmp_path: Path) -> None:
    graph = nx.Graph([(0, 1)])
    nx.set_node_attributes(graph, {0: [1.0, 0.0], 1: [0.0, 2.5]}, "x")
    nx.write_gml(graph, tmp_path / "g.gml")
    _, people = _read(tmp_path / "g.gml")
    assert tuple(people.cells) == ("x[0]", "x[1]") and people.sources == ("x", "x")
    np.testing.assert_array_equal(people.cells, [[1, 0], [0, 2.5]])
    nx.set_node_attributes(graph, {1: [1.0, 2.0, 3.0]}, "x")
    nx.write_gml(graph, tmp_path / "g.gml")
    with pytest.raises(
        ValueError, match=r"g\.gml: node 1, column x: has 3 numbers, the first node has 2; --ignore x leaves"
    ):
        _read(tmp_path / "g.gml")


GML = 'graph [\n node [ id 5 label "Zoë" value 1 ]\n node [ id 9 label "Al" value 0 ]\n{}]\n'


def test_gml_of_other_programs(tmp_path: Path) -> None:
    """Names with accents, a repeated edge without the word multigraph, and names that are not unique."""
    path = tmp_path / "g.gml"
    edge = " edge [ source 5 target 9 ]\n"
    path.write_text(GML.format(edge + edge))
    edges, people = _read(path, label="value")
    assert (people.ids, people.labels.tolist(), edges.ends.shape) == (["Zoë", "Al"], ["1", "0"], (2, 2))
    path.write_text(GML.format(edge).replace("Zoë", "Al"))
    edges, people = _read(path, ignore=("value",))
    assert (people.ids, people.labels, people.cells.shape) == (["5", "9"], None, (2, 0))
    assert _read(path, label="label", ignore=("value",))[1].labels.tolist() == ["Al", "Al"]


def test_repeated_edges_of_graphml_are_counted(tmp_path: Path) -> None:
    edge = '<edge source="a" target="b"/>'
    text = f'<graph edgedefault="undirected"><node id="a"/><node id="b"/>{edge}{edge}</graph>'
    (tmp_path / "g.graphml").write_text(f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{text}</graphml>')
    assert _read(tmp_path / "g.graphml")[0].ends.shape == (2, 2)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("g.gml", "graph [ node [ id 1 ] ", r"g\.gml cannot be read: "),
        ("g.gml", "graph [ edge [ source 1 target 2 ] ]", r"g\.gml cannot be read: .*undefined"),
        ("g.graphml", "<graphml><graph", r"g\.graphml cannot be read: "),
        ("g.graphml", "", r"g\.graphml cannot be read: no element found"),
        ("g.gml", GML.format("").replace("value 0", 'value "x"'), "node Al, column value: 'x' is not a number"),
    ],
)
def test_a_file_at_fault(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        _read(tmp_path / name)
    assert "\n" not in str(caught.value)
