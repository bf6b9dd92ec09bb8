"""Ten files of each kind of fault that was once read wrongly: read as meant, or refused in one line that says why.

Each file is made here. What is right is a picture of the graph, people with edges and features, or the begin of a line.
"""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array, csc_array, csr_array, dia_array, save_npz

from ldpsim.devices.datasets import load
from ldpsim.strategies.importing.graph_import import import_graph
from ldpsim.strategies.importing.options import ImportOptions, WrongFiles

PEOPLE = "id,f\nann,1\nbob,0\ncy,1\n"
TABLE = "source,target\nann,bob\nbob,cy\n"
ROW = ("ann-bob,bob-cy", 3)


class Case(NamedTuple):
    """Files, what is right, and the options: edges by their names and the number of people, or a line that refuses."""

    files: dict[str, str | bytes]
    right: tuple[str, int] | str
    options: dict[str, Any] = {}  # noqa: RUF012
    told: str = ""  # part of what is told as left out or changed
    columns: str | None = None  # of the features


def of(text: str | bytes, right: tuple[str, int] | str, name: str = "e.txt", **more: Any) -> Case:
    """One file."""
    return Case({name: text}, right, **more)


def with_people(edges: str, people: str, right: tuple[str, int] | str, **more: Any) -> Case:
    """Two tables."""
    return Case({"e.csv": edges, "p.csv": people}, right, **more)


def packed(text: str) -> bytes:
    """Return a gzip file."""
    return gzip.compress(text.encode())


def matrix(sparse: Any) -> bytes:
    """Return the file of ``save_npz``."""
    save_npz(file := io.BytesIO(), sparse)
    return file.getvalue()


def market(sparse: Any, **more: Any) -> bytes:
    """Return a file of Matrix Market."""
    mmwrite(file := io.BytesIO(), sparse, **more)
    return file.getvalue()


def xml(nodes: str, edges: str, more: str = "", kind: str = "undirected") -> str:
    """Return a GEXF."""
    head = '<gexf xmlns="http://gexf.net/1.3" version="1.3">'
    return f'{head}<graph defaultedgetype="{kind}">{more}<nodes>{nodes}</nodes><edges>{edges}</edges></graph></gexf>'


NODES = '<node id="0" label="ann"/><node id="1" label="bob"/><node id="2" label="cy"/>'
LINKS = '<edge id="0" source="0" target="1"/><edge id="1" source="1" target="2"/>'
BLANKS = ("Ann Low-Bob B,Bob B-Cy", 3)
CHAIN = coo_array(([1.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3))
NUMBERS = ("0-1,1-2", 3)
FROM_1 = ("1-2,2-3", 3)
VERTICES = '*Vertices 3\n1 "ann"\n2 "bob"\n3 "cy"\n'
TRIANGLE = nx.Graph([("ann", "bob"), ("bob", "cy")])

KINDS: dict[str, list[Case]] = {
    "names with blanks in tab files": [
        of("Ann Low\tBob B\nBob B\tCy\n", BLANKS),
        of("Ann Low\tBob B\nBob B\tCy\n", BLANKS, "e.tsv"),
        of("Ann Low\tBob B\nBob B\tCy\n", BLANKS, "e.edgelist"),
        of("Ann Low\tBob B\t3\nBob B\tCy\t4\n", BLANKS, told="fields after the second are not read"),
        of("# people\nAnn Low\tBob B\n\nBob B\tCy\n", BLANKS),
        of(" Ann Low \t Bob B \r\nBob B\tCy\r\n", BLANKS),
        of("source\ttarget\nAnn Low\tBob B\nBob B\tCy\n", BLANKS),
        of("\ufeffAnn Low\tBob B\nBob B\tCy\n", BLANKS),
        of("Ann Low\tBob B\nBob B Cy\n", "e.txt: row 2 has 3 fields, an edge has 4"),
        of("Ann Low\tBob B\t\nBob B\tCy\t\n", BLANKS),
    ],
    "adjacency lists": [
        of("ann bob\nbob cy\ncy\n", ROW, "g.adjlist"),
        of("ann bob cy\nbob\ncy\n", ("ann-bob,ann-cy", 3), "g.adjlist"),
        of("# made\nann bob\nbob cy\n", ROW, "g.adjlist"),
        of("ann bob\nbob cy\ndee\n", ("ann-bob,bob-cy", 4), "g.adjlist"),
        of("#x.py\n# GMT Mon\n#\nann bob\nbob cy\ncy\n", ROW, told="read as an adjacency list of networkx"),
        of("ann bob cy\nbob cy ann\ncy ann bob\n", "e.txt: 'ann' in the third field is a name"),
        of("ann bob cy dee\nbob\n", "e.txt: row 2 has 1 fields, an edge has 4"),
        of("ann: bob cy\nbob: cy\n", "e.txt: row 2 has 2 fields, an edge has 3"),
        of("1 2 3\n2 3\n3\n", "e.txt: row 2 has 2 fields, an edge has 3"),
        of("ann\tbob\tcy\nbob\tcy\tann\n", "e.txt: 'ann' in the third field is a name"),
    ],
    "row numbers as a feature": [
        with_people(TABLE, ",id,f\n0,ann,1\n1,bob,0\n2,cy,1\n", ROW, columns="f", told="counts the rows"),
        with_people(TABLE, ",id,f\n1,ann,1\n2,bob,0\n3,cy,1\n", ROW, columns="f", told="counts the rows"),
        with_people(TABLE, "Unnamed: 0,id,f\n0,ann,1\n1,bob,0\n2,cy,1\n", ROW, columns="f", told="counts the rows"),
        with_people(TABLE, "Unnamed: 0.1,id,f\n0,ann,1\n1,bob,0\n2,cy,1\n", ROW, columns="f", told="counts the rows"),
        with_people(TABLE, "id,f,\nann,1,0\nbob,0,1\ncy,1,2\n", ROW, columns="f", told="counts the rows"),
        with_people(f",{TABLE}".replace("\na", "\n0,a").replace("\nb", "\n1,b"), PEOPLE, ROW, columns="f"),
        with_people(TABLE, "id,f,\nann,1,\nbob,0,\ncy,1,\n", ROW, columns="f", told="no name and no cells"),
        with_people(TABLE, "id;f;;\nann;1;;\nbob;0;;\ncy;1;;\n", ROW, columns="f", told="no name and no cells"),
        with_people(TABLE, ",id,f\n0.5,ann,1\n0.5,bob,0\n1,cy,1\n", "p.csv: row 1: column 1 has no name"),
        with_people(TABLE, "index,id,f\n0,ann,1\n1,bob,0\n2,cy,1\n", ROW, columns="f", told="counts the rows"),
    ],
    "headerless files": [
        of("ann,bob\nbob,cy\n", "e.csv: row 1 holds data (ann, bob)", "e.csv"),
        of("1,2\n2,3\n", "e.csv: row 1 holds data (1, 2)", "e.csv"),
        of("ann;bob\nbob;cy\n", "e.csv: row 1 holds data (ann, bob)", "e.csv"),
        of("ann\tbob\nbob\tcy\n", ROW, "e.tsv"),
        of("ann,bob,0.5\nbob,cy,0.5\n", "e.csv: row 1 holds data (ann, bob, 0.5)", "e.csv"),
        with_people(TABLE, "ann,0,red\nbob,1,red\ncy,1,blue\n", "p.csv: row 1 holds data (ann, 0, red)"),
        with_people(TABLE, "1,0.5\n2,0.25\n3,0.5\n", "p.csv: row 1 holds data (1, 0.5)"),
        with_people(TABLE, "ann,34,Rome\nbob,31,Oslo\ncy,28,Paris\n", "p.csv: row 1 holds data (ann, 34, Rome)"),
        of("ann,bob\ncy,dee\n", "found ann, bob (if these are data, write a first row)", "e.csv"),
        of("1\t2\n2\t3\n", FROM_1, "e.tsv"),
    ],
    "heading hints": [
        of("giver,taker\nann,bob\nbob,cy\n", "e.csv: row 1 must .*--source giver --target taker$", "e.csv"),
        of("A;B;weight\nann;bob;1\nbob;cy;2\n", "e.csv: row 1 must .*--source A --target B$", "e.csv"),
        of("user_a,user_b\nann,bob\ncy,dee\n", "e.csv: row 1 must .*--source user_a --target user_b$", "e.csv"),
        of("node1,node2\nann,bob\nbob,cy\n", "e.csv: row 1 must .*--source node1 --target node2$", "e.csv"),
        with_people(TABLE, "name,f\nann,1\nbob,0\ncy,1\n", "p.csv: row 1 must .*--id name$"),
        with_people(TABLE, "f,Customer No\n1,ann\n0,bob\n1,cy\n", "p.csv: row 1 must .*--id 'Customer No'$"),
        with_people(TABLE, "user_id,f\nann,1\nbob,0\ncy,1\n", "p.csv: row 1 must .*--id user_id$"),
        with_people(TABLE, "user_id,f\nann,1\nbob,0\ncy,1\ncy,1\n", "p.csv: row 1 must .*--id user_id$",
                    options={"duplicates": "first"}),
        with_people("TO,FROM\nbob,ann\ncy,bob\n", PEOPLE.upper().replace("ANN", "ann").replace("BOB", "bob").replace(
            "CY", "cy"), ROW),
        with_people("Src,Dst,Kind\nann,bob,x\nbob,cy,y\n", PEOPLE.replace("id", "NODE_ID"), ROW, told="not read: Kind"),
    ],
    "ids 1.0": [
        with_people("source,target\n1.0,2.0\n2.0,3.0\n", "id,f\n1,0\n2,1\n3,1\n", FROM_1, told="are read as 1"),
        with_people("source,target\n1,2.0\n2,3.0\n", "id,f\n1,0\n2,1\n3,1\n", FROM_1, told="are read as 2"),
        with_people("source,target\n1,2\n2,3\n", "id,f\n1.0,0\n2.0,1\n3.0,1\n", FROM_1, told="are read as 1"),
        with_people("source,target\n1.00,2.00\n2.00,3.00\n", "id,f\n1,0\n2,1\n3,1\n", FROM_1, told="are read as 1"),
        with_people("source;target\n1,0;2,0\n2,0;3,0\n", "id;f\n1;0\n2;1\n3;1\n", FROM_1, told="are read as 1"),
        with_people("source,target\n1.0,2.0\n2.0,3.0\n", "id,f\n1.0,0\n2.0,1\n3.0,1\n", ("1.0-2.0,2.0-3.0", 3)),
        with_people("source,target\n1.5,2.0\n2.0,3.0\n", "id,f\n1.5,0\n2.0,1\n3.0,1\n", ("1.5-2.0,2.0-3.0", 3)),
        of("1.0 2.0\n2.0 3.0\n", ("1.0-2.0,2.0-3.0", 3)),
        Case({"e.txt": "1.0 2.0\n2.0 3.0\n", "p.csv": "id,f\n1,0\n2,1\n3,1\n"}, FROM_1, told="are read as 1"),
        with_people("source,target\n10.0,20.0\n20.0,30.0\n", "id,f\n10,0\n20,1\n30,1\n", ("10-20,20-30", 3)),
    ],
    "sep=": [
        of("sep=;\nsource;target\nann;bob\nbob;cy\n", ROW, "e.csv"),
        of("sep=,\nsource,target\nann,bob\nbob,cy\n", ROW, "e.csv"),
        of("sep=\t\nsource\ttarget\nann\tbob\nbob\tcy\n", ROW, "e.csv"),
        of("SEP=;\r\nsource;target\r\nann;bob\r\nbob;cy\r\n", ROW, "e.csv"),
        of('"sep=;"\nsource;target\nann;bob\nbob;cy\n', ROW, "e.csv"),
        of("\ufeffsep=;\nsource;target\nann;bob\nbob;cy\n", ROW, "e.csv"),
        of("sep=|\nsource|target\nann|bob\nbob|cy\n", ROW, "e.csv"),
        of("sep=;\nann;bob\nbob;cy\n", "e.csv: row 2 holds data (ann, bob)", "e.csv"),
        of("sep=;\nsource;target\nann;\n", "e.csv: row 3, column target: is empty", "e.csv"),
        of("sep = ;\nsource;target\nann;bob\nbob;cy\n", ROW, "e.csv"),
    ],
    "size rows of Matrix Market": [
        of(market(CHAIN), FROM_1, "g.mtx"),
        of(market(CHAIN, field="pattern"), FROM_1, "g.mtx"),
        of(market(CHAIN + CHAIN.T, symmetry="symmetric"), FROM_1, "g.mtx"),
        of(market(CHAIN), FROM_1, "g.txt"),
        of(market(CHAIN), FROM_1, "g.edges"),
        of(market(coo_array(([1], ([0], [1])), shape=(4, 4))), ("1-2", 4), "g.mtx"),
        of(market(CHAIN, comment="made by hand\nsecond line"), FROM_1, "g.mtx"),
        of(market(coo_array(([1], ([0], [1])), shape=(3, 4))), "a matrix of 3 rows and 4 columns", "g.mtx"),
        of(market(np.eye(3)), "g.mtx cannot be read: a matrix of 3 rows and 3 columns (array)", "g.mtx"),
        of("3 3 2\n1 2\n2 3\n", "g.mtx cannot be read: ", "g.mtx"),
    ],
    "gz": [
        of(packed("ann bob\nbob cy\n"), ROW, "e.txt.gz"),
        of(packed("ann\tbob\nbob\tcy\n"), ROW, "e.tsv.gz"),
        of(packed(TABLE), ROW, "e.csv.gz"),
        of(packed("ann bob\nbob cy\n"), ROW, "e.edgelist.gz"),
        Case({"e.csv.gz": packed(TABLE), "p.csv.gz": packed(PEOPLE)}, ROW, columns="f"),
        of(gzip.compress(market(CHAIN)), FROM_1, "g.mtx.gz"),
        of(packed("\n".join(nx.generate_gml(TRIANGLE))), ROW, "g.gml.gz"),
        of(packed(xml(NODES, LINKS)), ROW, "g.gexf.gz"),
        of(b"ann bob\n", "e.txt.gz cannot be unpacked", "e.txt.gz"),
        of(gzip.compress(matrix(CHAIN)), "a packed .npz is not read; unpack it: gunzip", "g.npz.gz"),
    ],
    "npz": [
        of(matrix(csr_array(CHAIN)), NUMBERS, "g.npz"),
        of(matrix(csc_array(CHAIN)), NUMBERS, "g.npz"),
        of(matrix(CHAIN), NUMBERS, "g.npz"),
        of(matrix(csr_array(CHAIN + CHAIN.T)), NUMBERS, "g.npz"),
        of(matrix(csr_array(CHAIN, dtype=bool)), NUMBERS, "g.npz"),
        of(matrix(coo_array(([1, 1, 0], ([0, 1, 0], [1, 2, 2])), shape=(3, 3))), NUMBERS, "g.npz"),
        of(matrix(coo_array(([1, 1, 1], ([0, 1, 2], [1, 2, 2])), shape=(4, 4))), ("0-1,1-2", 4), "g.npz"),
        of(matrix(dia_array(np.eye(3))), "a scipy matrix of the form 'dia'", "g.npz"),
        of(matrix(csr_array((3, 4))), "a scipy matrix of 3 rows and 4 columns has no edges", "g.npz"),
        of(b"no npz", "g.npz ", "g.npz"),
    ],
    "Pajek and GEXF": [
        of(f"*Network n\n{VERTICES}*Edges\n1 2\n2 3\n", ROW, "g.net"),
        of(f"{VERTICES}*Arcs\n1 2 1\n2 3 1\n", ROW, "g.net"),
        of(f"% made\r\n{VERTICES}*edges\n1 2 0.5\n2 3 0.5\n".replace("\n", "\r\n"), ROW, "g.net"),
        of(f"{VERTICES}*Matrix\n0 1 0\n1 0 1\n0 1 0\n", ROW, "g.net"),
        of("*Vertices 3\n*Edges\n1 2\n2 3\n", "g.net cannot be read: *Vertices states 3, 0 have a row", "g.net"),
        of(xml(NODES, LINKS), ROW, "g.gexf"),
        of(xml(NODES, LINKS, kind="directed"), ROW, "g.gexf"),
        of(xml(NODES.replace('"cy"', '"ann"'), LINKS), NUMBERS, "g.gexf"),
        of(xml(NODES.replace('"ann"/>', '"ann"><attvalues><attvalue for="0" value="1"/></attvalues></node>'), LINKS,
               '<attributes class="node"><attribute id="0" title="f" type="integer"/></attributes>'),
           "g.gexf: node bob, column f: is empty (2 rows)", "g.gexf"),
        of("<gexf><graph/>", "g.gexf cannot be read: ", "g.gexf"),
    ],
}  # fmt: skip
CASES = [
    pytest.param(case, id=f"{kind} {number}") for kind, cases in KINDS.items() for number, case in enumerate(cases)
]


def test_there_are_ten_of_each() -> None:
    assert len(KINDS) == 11 and {len(cases) for cases in KINDS.values()} == {10}


@pytest.mark.parametrize("case", CASES)
def test_a_file_is_read_as_meant_or_refused_in_one_line(case: Case, tmp_path: Path) -> None:
    for name, text in case.files.items():
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    files, out, ids = [tmp_path / name for name in case.files], tmp_path / "out.npz", tmp_path / "ids.csv"
    if isinstance(case.right, str):
        with pytest.raises(ValueError) as caught:
            import_graph(files, out, ImportOptions(**case.options))
        (line,) = getattr(caught.value, "faults", (str(caught.value),))
        words = case.right if ".*" in case.right else re.escape(case.right)
        assert re.search(words, line) and "\n" not in line, line
        assert not out.exists()
        return
    try:
        found = import_graph(files, out, ImportOptions(**case.options), ids=None if ".npz" in files[0].name else ids)
    except WrongFiles as wrong:
        pytest.fail(f"refused: {wrong}")
    people = load(str(out))
    names = {str(k): str(k) for k in range(len(people))}
    if ids.exists():
        names = dict(line.split(",", 1) for line in ids.read_text().splitlines()[1:])
    pairs = {frozenset(names[str(end)] for end in pair) for pair in people.edges.T.tolist()}
    edges, number = case.right
    assert pairs == {frozenset(pair.split("-")) for pair in edges.split(",")} and len(people) == number
    assert case.told in " ".join([*found["left_out"], *found["warnings"]]), found["left_out"]
    if case.columns is not None:
        assert " ".join(column["name"] for column in found["read"]["columns"][:-1]) == case.columns
