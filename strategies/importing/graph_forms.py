"""Graphs of other programs: GML, GEXF and Pajek by networkx, GraphML by Python's XML reader, Matrix Market by scipy.

networkx reads no GraphML here: of several graphs it takes the first, and it leaves the defaults of attributes out.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import numpy as np

from ldpsim.devices.array_types import check_growth
from ldpsim.strategies.importing.options import ImportOptions

MATRIX_MARKET = "%%MatrixMarket"  # first word of a file, whatever its name
_DRAWING = {"id", "x", "y", "shape", "viz"}  # attributes for a picture, and Pajek's number of a vertex
# What networkx takes for the name of an attribute where a number has to stand.
_NO_NUMBER = re.compile(r"(\b[A-Za-z]\w*\s+)(?:[+-](?=nan))?(nan|[+-]?(?:inf|infinity))(?=\s|\]|$)", re.IGNORECASE)
_SECTIONS = ("network", "vertices", "arcs", "edges", "matrix")  # that networkx reads of a Pajek file


@dataclass(frozen=True)
class ForeignGraph:
    """Parts of a file that holds a graph.

    Args:
        nodes: Attributes of each node, by its name.
        edges: Names of the two ends.
        directed: Whether direction counts.
        defaults: Value of an attribute where a node has none.
        unread: Attributes of nodes that are left out, since they only draw a picture.
    """

    nodes: dict[str, dict[str, Any]]
    edges: list[tuple[str, str]]
    directed: bool
    defaults: dict[str, Any] = field(default_factory=dict)
    unread: tuple[str, ...] = ()


def gml(text: str, options: ImportOptions) -> ForeignGraph:
    """Return the parts of a GML; ``label`` is a node's name, unless it is chosen as the class or not unique."""
    parts = text.split('"')
    parts[::2] = [_NO_NUMBER.sub(r'\1"\2"', part) for part in parts[::2]]
    text = '"'.join(parts)
    # The graph's own bracket, outside of texts and comments; repeated edges are allowed, as in every other form.
    signs = re.finditer(r'"[^"]*"|^[ \t]*#.*|\bgraph\s*\[', text, re.MULTILINE)
    start = next((sign.end() for sign in signs if sign[0].startswith("graph")), 0)
    graph = nx.parse_gml((text[:start] + " multigraph 1 " + text[start:]).split("\n"), label="id")
    names = _names(graph, options)
    edges = [(names[one], names[other]) for one, other in graph.edges()]
    return ForeignGraph({names[node]: data for node, data in graph.nodes(data=True)}, edges, graph.is_directed())


def graphml(content: bytes) -> ForeignGraph:
    """Return all graphs of a file as one: a node that stands in several is one person."""
    root = ElementTree.fromstring(content)
    if root.find(".//{*}hyperedge") is not None:
        raise ValueError("a hyperedge joins more than two people")
    if root.find(".//{*}graph") is None:
        raise ValueError("it has no graph")
    names: dict[Any, str] = {}
    defaults: dict[str, Any] = {}
    for key in root.iterfind(".//{*}key"):
        if key.get("for", "all") in ("node", "all") and "yfiles.type" not in key.attrib:
            name = names[key.get("id")] = key.get("attr.name") or str(key.get("id"))
            default = key.findtext("{*}default")
            defaults |= {} if default is None else {name: default.strip()}
    nodes: dict[str, dict[str, Any]] = {}
    for node in root.iterfind(".//{*}node"):
        own = {names[data.get("key")]: (data.text or "").strip() for data in node.iterfind("{*}data")
               if data.get("key") in names}  # fmt: skip
        nodes.setdefault(node.attrib["id"], {}).update(own)
    edges = [(edge.attrib["source"], edge.attrib["target"]) for edge in root.iterfind(".//{*}edge")]
    for name in (name for edge in edges for name in edge):
        nodes.setdefault(name, {})
    directed = any(graph.get("edgedefault") == "directed" for graph in root.iterfind(".//{*}graph"))
    directed = directed or any(edge.get("directed") == "true" for edge in root.iterfind(".//{*}edge"))
    return ForeignGraph(nodes, edges, directed, defaults)


def gexf(content: bytes, options: ImportOptions) -> ForeignGraph:
    """Return the parts of a GEXF; ``label`` is a node's name as in GML."""
    graph = nx.read_gexf(io.BytesIO(content))
    return _of_networkx(graph, _names(graph, options))


def pajek(text: str) -> ForeignGraph:
    """Return the parts of a Pajek network, whose vertices stand in a row each."""
    lines = [line for line in text.split("\n") if line.strip() and not line.startswith("%")]
    sections = [(line.split()[0][1:].lower(), place) for place, line in enumerate(lines) if line.startswith("*")]
    unread = next((name for name, _ in sections if name not in _SECTIONS), None)
    if unread is not None:
        raise ValueError(f"the section *{unread} is not read; save it with {', *'.join(('*vertices', *_SECTIONS[2:]))}")
    vertices = 0
    for (name, place), (_, end) in zip(sections, [*sections[1:], ("", len(lines))], strict=True):
        rows, stated = end - place - 1, lines[place].split()[1:2]
        if name == "vertices" and stated != [str(rows)]:
            raise ValueError(f"*Vertices states {' '.join(stated) or 'no number'}, {rows} have a row")
        vertices += rows if name == "vertices" else 0
    graph = nx.parse_pajek("\n".join(lines))
    if len(graph) != vertices:
        raise ValueError(f"{vertices} vertices have {len(graph)} names; give each a name of its own")
    return _of_networkx(graph, {node: str(node) for node in graph})


def matrix_market(content: bytes) -> ForeignGraph:
    """Return the people and edges of a square matrix of Matrix Market; people are numbered from 1 as in the file."""
    from scipy.io import mminfo, mmread

    rows, columns, entries, form, *_ = mminfo(io.BytesIO(content))
    if form != "coordinate" or rows != columns:
        raise ValueError(f"a matrix of {rows} rows and {columns} columns ({form}); a graph is square, of coordinates")
    check_growth(f"{rows:,} people and {entries:,} edges", rows + entries, len(content))
    left, right = np.stack(mmread(io.BytesIO(content)).nonzero()) + 1
    edges = list(zip(map(str, left.tolist()), map(str, right.tolist()), strict=True))
    return ForeignGraph({str(number): {} for number in range(1, rows + 1)}, edges, False)


def _names(graph: Any, options: ImportOptions) -> dict[Any, str]:
    """Return each node's name: its ``label``, unless that is chosen as the class or not unique."""
    names = {node: str(node) for node in graph}
    if options.label != "label":
        shown = {node: str(data.pop("label", node)) for node, data in graph.nodes(data=True)}
        names = shown if len({*shown.values()}) == len(shown) else names
    return names


def _of_networkx(graph: Any, names: dict[Any, str]) -> ForeignGraph:
    """Return the parts of a graph of networkx, without what only draws it."""
    nodes = {names[node]: {name: value for name, value in data.items() if name not in _DRAWING}
             for node, data in graph.nodes(data=True)}  # fmt: skip
    unread = sorted({name for _, data in graph.nodes(data=True) for name in data if name in _DRAWING})
    edges = [(names[one], names[other]) for one, other in graph.edges()]
    return ForeignGraph(nodes, edges, graph.is_directed(), graph.graph.get("node_default", {}), tuple(unread))
