"""Files of text: tables by ``csv``, edge lists by blanks, GML by networkx, GraphML by Python's XML reader.

``pandas.read_csv`` reads no table here: it fills a short row without a word. networkx reads no GraphML here: of several
graphs it takes the first, and it leaves the defaults of attributes out.
"""

from __future__ import annotations

import csv
import re
import shlex
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from ldpsim.devices.array_types import IntArray
from ldpsim.strategies.foreign_text import from_csv_cell
from ldpsim.strategies.importing.options import REFUSE, ImportOptions, and_more

ENDS = ("source", "target")  # usual columns of an edge
# Names that other programs give to the ends of an edge. They are proposed, never taken unasked.
LIKELY_ENDS = (
    ("from", "to"), ("src", "dst"), ("source_id", "target_id"), ("from_id", "to_id"), ("node1", "node2"), ("a", "b")
)  # fmt: skip
LABELS = ("label", "y", "class")  # attributes of a graph that hold the class where --label names none
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-")  # texts of an empty cell, in small letters
_BLOCK = 20_000  # rows whose texts are Python objects at once
NAMELESS = "write the name there; --missing zero, or any other choice but refuse, leaves such rows out"


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Edges between people who have names.

    Args:
        file: Name of the file.
        names: The different names.
        ends: int64 (2, m), positions in ``names``.
        lines: Row of the file for each edge.
        columns: Names of the two ends.
        directed: Whether the file says that direction counts; None: it does not say.
        notes: Further facts for the person who imports.
    """

    file: str
    names: list[str]
    ends: IntArray
    lines: Any = field(repr=False)
    columns: tuple[str, str] = ENDS
    directed: bool | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class PeopleTable:
    """Rows of people.

    Args:
        file: Name of the file.
        names: Name of each row's person.
        lines: Number of each row in the file, or name of the node.
        cells: DataFrame of all other columns but those that are left out, as read.
        label: Column of the class; None where the table has none.
        columns: Names of all columns or attributes of the file.
        row_word: What a row is called: ``row`` or ``node``.
        id: Column of the names.
    """

    file: str
    names: list[str]
    lines: Any = field(repr=False)
    cells: Any = field(repr=False)
    label: str | None
    columns: tuple[str, ...]
    row_word: str = "row"
    id: str = "id"

    def place(self, row: int) -> str:
        """Return the words for a row: file and row."""
        return f"{self.file}: {self.row_word} {self.lines[row]}"

    def place_of(self, name: str) -> str:
        """Return the words for the first row of a person, or for the file where the person has none."""
        return self.place(self.names.index(name)) if name in self.names else f"{self.file}: no row for {name!r}"


Tables = tuple[EdgeTable | PeopleTable, ...]


def read_tables(path: Path, options: ImportOptions, faults: list[str]) -> Tables:
    """Return what a file holds, by the end of its name; its faults are added to ``faults``.

    Raises:
        ValueError: one line, where nothing can be read.
    """
    kind = path.suffix.lower()
    if kind in (".gml", ".graphml"):
        return _read_graph(path, options, faults)
    if kind == ".tsv":
        with path.open(encoding="utf-8-sig") as file:
            header = set(file.readline().split())
        kind = ".csv" if header & {"id", options.id} or any(set(ends) <= header for ends in _ends_of(options)) else kind
    return _read_table(path, options, faults) if kind == ".csv" else _read_edge_list(path, faults)


def _edge_table(file: str, ends: Sequence[Sequence[str]], lines: Any, **more: Any) -> EdgeTable:
    """Return edges, given the names of all first and of all second ends."""
    both = np.array([*ends], object).reshape(2, -1)
    numbers, names = pd.factorize(both.T.ravel())
    return EdgeTable(file, list(names), numbers.reshape(-1, 2).T.astype(np.int64), lines, **more)


def _read_edge_list(path: Path, faults: list[str]) -> Tables:
    """Read two names a line, with blanks or tabs; lines with # or % in front are comments."""
    left, right, lines = [], [], array("q")
    width, wrong = 0, list[tuple[int, int]]()
    with path.open(encoding="utf-8-sig") as file:
        for number, text in enumerate(file, 1):
            fields = text.split()
            if not fields or fields[0][0] in "#%":
                continue
            if len(fields) > 2 and fields[2][0] in "#{":  # a comment, or networkx's attributes
                fields = fields[:2]
            if not width and tuple(name.lower() for name in fields[:2]) == ENDS:
                width = len(fields)
                continue
            width = width or max(len(fields), 2)
            if len(fields) != width:
                wrong.append((number, len(fields)))  # an adjacency list would lose its edges without a word
                continue
            left.append(fields[0])
            right.append(fields[1])
            lines.append(number)
    if wrong:
        number, size = wrong[0]
        faults.append(
            f"{path.name}: row {number} has {size} fields, an edge has {width}{and_more(len(wrong))}; an edge is two "
            "names with a blank or a tab between them (a table with commas is named .csv)"
        )
    notes = (f"{path.name}: fields after the second are not read (an edge has no attributes)",) if width > 2 else ()
    return (_edge_table(path.name, (left, right), lines, notes=notes),)


def _ends_of(options: ImportOptions) -> tuple[tuple[str, str], ...]:
    """Return the names of the two columns that make a table one of edges."""
    return (options.source or ENDS[0], options.target or ENDS[1]), ENDS


def _read_table(path: Path, options: ImportOptions, faults: list[str]) -> Tables:
    """Read a table with a first row of names; cells are divided by comma, semicolon or tab."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        divider = next((sign for sign in (",", ";", "\t") if sign in first), ",")
        file.seek(0)
        header, rows, lines = _rows(path.name, csv.reader(file, delimiter=divider, strict=True), faults)
    if not header:
        return ()
    ends = next((ends for ends in _ends_of(options) if set(ends) <= set(header)), None)
    id = next((name for name in (options.id, "id") if name in header), None)
    if ends is None and id is None:
        likely = "--source NAME --target NAME reads edges, --id NAME reads people"
        pair = next((pair for pair in LIKELY_ENDS if set(pair) <= set(header)), header if len(header) == 2 else None)
        if pair is not None:
            likely = (
                f"--source {shlex.quote(pair[0])} --target {shlex.quote(pair[1])} reads edges, --id NAME reads people"
            )
        wanted = f"{' and '.join(_ends_of(options)[0])} (edges) or {options.id or 'id'} (people)"
        named = ", ".join(name or "''" for name in header)
        faults.append(f"{path.name}: row 1 must name the columns {wanted}, found {named}; {likely}")
        return ()
    names = rows[list(ends) if ends else [str(id)]].map(from_csv_cell).apply(lambda column: column.str.strip())
    nameless = (names == "").to_numpy()
    whole = np.flatnonzero(~nameless.any(axis=1))
    if len(whole) < len(rows) and options.missing == REFUSE:
        row, column = np.argwhere(nameless)[0]
        more = and_more(len(rows) - len(whole))
        faults.append(f"{path.name}: row {lines[row]}, column {names.columns[column]}: is empty{more}; {NAMELESS}")
    names, places = names.iloc[whole], np.array(lines, np.int64)[whole]
    if ends:
        unread = [name for name in header if name not in ends]
        notes = (f"{path.name}: not read: {', '.join(unread)} (an edge has no attributes)",) if unread else ()
        return (_edge_table(path.name, [names[end] for end in ends], places, columns=ends, notes=notes),)
    cells = rows.iloc[whole][[name for name in header if name != id and name not in options.ignore]]
    label = options.label or "label"
    own = label if label in cells else None
    return (PeopleTable(path.name, names[id].tolist(), places, cells, own, tuple(header), id=str(id)),)


def _rows(file: str, reader: Any, faults: list[str]) -> tuple[list[str], Any, list[int]]:
    """Return the names of the columns, a DataFrame of the rows below, and their lines; no columns after a fault."""
    header: list[str] = []
    blocks: list[Any] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    wrong: list[tuple[int, int]] = []
    try:
        for cells in reader:
            if not header:
                header = [name.strip() for name in cells]
            elif len(cells) == len(header):
                rows.append(cells)
                lines.append(reader.line_num)
                if len(rows) == _BLOCK:
                    blocks.append(pd.DataFrame(rows, dtype=str))
                    rows = []
            elif cells:
                wrong.append((reader.line_num, len(cells)))
    except csv.Error as error:
        faults.append(f"{file}: row {reader.line_num}: {error}; correct the quotes there")
        return [], None, []
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        faults.append(f"{file}: row 1: the column {twice[0]!r} stands twice; give each column its own name")
    if wrong:
        more = and_more(len(wrong))
        faults.append(
            f"{file}: row {wrong[0][0]} has {wrong[0][1]} cells, the first row has {len(header)}{more}; correct the "
            "file: a cell that holds the dividing sign stands in double quotes"
        )
    if not header:
        faults.append(f"{file}: row 1 must name the columns; the file is empty")
    if twice or wrong or not header:
        return [], None, []
    table = pd.concat([*blocks, pd.DataFrame(rows, columns=range(len(header)), dtype=str)], ignore_index=True)
    return header, table.set_axis(header, axis=1), lines


def _read_graph(path: Path, options: ImportOptions, faults: list[str]) -> Tables:
    """Read nodes with their attributes, and edges.

    Without a label the class is ``label``, ``y`` or ``class``; in GML ``label`` is the node's name, unless it is chosen
    as the class.
    """
    reader = _graphml if path.suffix.lower() == ".graphml" else _gml
    try:
        nodes, edges, directed = reader(path, options)
    except UnicodeDecodeError:
        raise
    except Exception as error:  # what networkx and the XML reader say of a file that is none of theirs
        raise ValueError(f"{path.name} cannot be read: {' '.join(str(error).split())}") from error
    ends = [[edge[side] for edge in edges] for side in (0, 1)]
    table = _edge_table(path.name, ends, range(1, len(edges) + 1), directed=directed)
    attributes = tuple(dict.fromkeys(name for values in nodes.values() for name in values))
    label = next((name for name in ([options.label] if options.label else LABELS)
                  if name in attributes and name not in options.ignore), None)  # fmt: skip
    columns: dict[str, list[Any]] = {}
    for name in attributes:
        if name not in options.ignore:
            columns |= _columns(path.name, name, {node: values.get(name) for node, values in nodes.items()}, faults)
    cells = pd.DataFrame(columns, index=range(len(nodes)), dtype=object)
    return table, PeopleTable(path.name, list(nodes), list(nodes), cells, label, attributes, "node", "id")


def _columns(file: str, name: str, values: dict[str, Any], faults: list[str]) -> dict[str, list[Any]]:
    """Return the columns of an attribute: several where its values are lists."""
    if not any(isinstance(value, list) for value in values.values()):
        return {name: list(values.values())}
    lists = {node: value if isinstance(value, list) else [value] for node, value in values.items()}
    width = len(next(iter(lists.values())))
    wrong = [node for node, value in lists.items() if len(value) != width]
    if wrong:
        faults.append(
            f"{file}: node {wrong[0]}, column {name}: has {len(lists[wrong[0]])} numbers, the first node has {width}"
            f"{and_more(len(wrong), 'nodes')}; --ignore {shlex.quote(name)} leaves the attribute out"
        )
        return {}
    return {f"{name}[{k}]": [value[k] for value in lists.values()] for k in range(width)}


_GraphParts = tuple[dict[str, dict[str, Any]], list[tuple[str, str]], bool]  # nodes with attributes, edges, directed


def _gml(path: Path, options: ImportOptions) -> _GraphParts:
    import networkx as nx

    text = path.read_text(encoding="utf-8")
    # The graph's own bracket, outside of texts and comments; repeated edges are allowed, as in every other form.
    signs = re.finditer(r'"[^"]*"|^[ \t]*#.*|\bgraph\s*\[', text, re.MULTILINE)
    start = next((sign.end() for sign in signs if sign[0].startswith("graph")), 0)
    graph = nx.parse_gml((text[:start] + " multigraph 1 " + text[start:]).split("\n"), label="id")
    data = {str(node): dict(attributes) for node, attributes in graph.nodes(data=True)}
    names = {node: node for node in data}
    if options.label != "label":
        shown = {node: str(attributes.pop("label", node)) for node, attributes in data.items()}
        names = shown if len(set(shown.values())) == len(shown) else names
    edges = [(names[str(one)], names[str(other)]) for one, other in graph.edges()]
    return {names[node]: attributes for node, attributes in data.items()}, edges, graph.is_directed()


def _graphml(path: Path, _options: ImportOptions) -> _GraphParts:
    """Return all graphs of a file as one: a node that stands in several is one person."""
    root = ElementTree.parse(path).getroot()
    if root.find(".//{*}hyperedge") is not None:
        raise ValueError("a hyperedge joins more than two people")
    if root.find(".//{*}graph") is None:
        raise ValueError("it has no graph")
    names: dict[Any, str] = {}
    defaults: dict[str, str] = {}
    for key in root.iterfind(".//{*}key"):
        if key.get("for", "all") in ("node", "all") and "yfiles.type" not in key.attrib:
            name = names[key.get("id")] = key.get("attr.name") or str(key.get("id"))
            default = key.findtext("{*}default")
            defaults |= {} if default is None else {name: default.strip()}
    nodes: dict[str, dict[str, Any]] = {}
    for node in root.iterfind(".//{*}node"):
        own = {names[data.get("key")]: (data.text or "").strip() for data in node.iterfind("{*}data")
               if data.get("key") in names}  # fmt: skip
        nodes.setdefault(node.attrib["id"], dict(defaults)).update(own)
    edges = [(edge.attrib["source"], edge.attrib["target"]) for edge in root.iterfind(".//{*}edge")]
    for name in (name for edge in edges for name in edge):
        nodes.setdefault(name, dict(defaults))
    directed = any(graph.get("edgedefault") == "directed" for graph in root.iterfind(".//{*}graph"))
    return nodes, edges, directed or any(edge.get("directed") == "true" for edge in root.iterfind(".//{*}edge"))
