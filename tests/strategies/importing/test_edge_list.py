"""Edge lists: comments, fields that are not read, and rows that are no edge."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from ldpsim.strategies.importing.edge_list import read_edge_list
from ldpsim.strategies.importing.faults import FileFaults
from ldpsim.strategies.importing.parts import NamedEdges


def _read(path: Path) -> NamedEdges:
    faults = FileFaults()
    found = read_edge_list(path, faults)
    faults.end()
    return found


def _write(folder: Path, text: str) -> Path:
    (folder / "g.txt").write_text(text)
    return folder / "g.txt"


def test_comments_tabs_and_a_first_row_of_names(tmp_path: Path) -> None:
    found = _read(_write(tmp_path, "# SNAP\n% konect\nSource\tTarget\n\n1\t2\n2 3 # friends\n"))
    assert found.names == ["1", "2", "3"] and found.notes == ()
    np.testing.assert_array_equal(found.ends, [[0, 1], [1, 2]])
    np.testing.assert_array_equal(found.lines, [5, 6])


def test_weights_are_not_read_and_that_is_said(tmp_path: Path) -> None:
    found = _read(_write(tmp_path, "a b 3\nb c 1\n"))
    assert found.names == ["a", "b", "c"]
    assert found.notes == ("g.txt: fields after the second are not read (an edge has no attributes)",)


@pytest.mark.parametrize("data", [True, False])
def test_what_networkx_writes(tmp_path: Path, data: bool) -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", weight=3, kind="x y")
    graph.add_edge("b", "c")
    nx.write_edgelist(graph, tmp_path / "g.txt", data=data)
    found = _read(tmp_path / "g.txt")
    assert found.names == ["a", "b", "c"] and found.ends.shape == (2, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2\n3\n", r"g\.txt: row 2, column 2: an edge is two names"),
        ("1,2\n", "row 1, column 2: an edge is two names"),
        ("1 2 3\n2 4\n", "row 2 has 2 fields, the first edge has 3"),
        ("1 2\n2 4 5 6\n", "row 2 has 4 fields, the first edge has 2"),
        ("1 2\n2 4 5 6\n3 4 5\n", r"row 2 has 4 fields, the first edge has 2 \(2 rows\)"),
        ("1 2\n2\n3 4 5\n", r"(?s)row 2, column 2.*\n.*row 3 has 3 fields"),
    ],
)
def test_a_row_that_is_no_edge(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _read(_write(tmp_path, text))


def test_a_first_row_of_names_may_have_more_fields(tmp_path: Path) -> None:
    found = _read(_write(tmp_path, "source TARGET weight\na b 3\nb c 1\n"))
    assert found.names == ["a", "b", "c"] and found.lines.tolist() == [2, 3]
    with pytest.raises(ValueError, match="row 2 has 2 fields, the first edge has 3"):
        _read(_write(tmp_path, "source target weight\na b\n"))
