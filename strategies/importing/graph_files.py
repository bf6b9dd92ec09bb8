"""GML and GraphML files, parsed by networkx."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np

from ldpsim.strategies.importing.faults import FileFaults, and_more
from ldpsim.strategies.importing.options import ImportOptions
from ldpsim.strategies.importing.parts import NamedEdges, PeopleTable
from ldpsim.strategies.importing.people import read_people

LABELS = ("label", "y", "class")  # attributes that hold the class where --label names none
_ID = "name of the node"  # heading of the names beside the attributes


def read_graph_file(path: Path, options: ImportOptions, faults: FileFaults) -> tuple[NamedEdges, PeopleTable]:
    """Read nodes with their attributes, and edges.

    Args:
        path: The file.
        options: The choices. Without a label the class is ``label``, ``y`` or ``class``; in GML ``label`` is
            the node's name, unless it is chosen as the class.
        faults: Where the faults of attributes go.

    Raises:
        ValueError: one line: what the parser says.
    """
    import networkx as nx

    gml = path.suffix.lower() == ".gml"
    try:
        graph = _parse_gml(path.read_text(encoding="utf-8")) if gml else nx.read_graphml(path)
    except UnicodeDecodeError:
        raise
    except (nx.NetworkXException, SyntaxError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} cannot be read: {' '.join(str(error).split())}") from error
    numbers_of = {node: number for number, node in enumerate(graph)}
    data = [dict(attributes) for _, attributes in graph.nodes(data=True)]
    ids = [str(node) for node in graph]
    if gml and options.label != "label":
        names = [str(attributes.pop("label", node)) for node, attributes in zip(ids, data, strict=True)]
        ids = names if len(set(names)) == len(names) else ids
    pairs = np.array([(numbers_of[a], numbers_of[b]) for a, b in graph.edges()], np.int64).reshape(-1, 2).T
    edges = NamedEdges(path.name, ids, pairs, np.arange(pairs.shape[1]), graph.is_directed())
    return edges, _people(path.name, ids, data, options, faults)


def _parse_gml(text: str) -> Any:
    """Return the graph; repeated edges are allowed, as in every other form."""
    import networkx as nx

    # No \s before the word: it also takes line ends, and a search over many blank lines would never end.
    if not re.search(r"^[ \t]*multigraph\s", text, re.MULTILINE):
        text = re.sub(r"^([ \t]*graph\s*\[)", r"\1 multigraph 1 ", text, count=1, flags=re.MULTILINE)
    return nx.parse_gml(text.split("\n"), label="id")


def _people(
    file: str, ids: list[str], data: list[dict[str, Any]], options: ImportOptions, faults: FileFaults
) -> PeopleTable:
    found = list(dict.fromkeys(name for attributes in data for name in attributes))
    label = options.label or next((name for name in LABELS if name in found and name not in options.ignore), None)
    label = label if label in found else None
    left_out = set(options.ignore)
    used = [name for name in found if name not in left_out]
    widths = {name: len(data[0][name]) for name in used if isinstance(data[0].get(name), list)}
    sources = {part: name for name in used for part in _names(name, widths)}
    rows: list[tuple[str, list[Any]]] = []
    other: dict[str, list[tuple[str, int]]] = {}
    for name_of, attributes in zip(ids, data, strict=True):
        cells: list[Any] = [name_of]
        for name in used:
            value = attributes.get(name)
            many = value if isinstance(value, list) else [value]
            want = widths.get(name, 1)
            if len(many) != want:
                other.setdefault(name, []).append((name_of, len(many)))
                many = [None] * want
            cells += many
        rows.append((name_of, cells))
    for name, nodes in other.items():
        node, size = nodes[0]
        what = f"has {size} numbers, the first node has {widths.get(name, 1)}{and_more(len(nodes), 'nodes')}"
        remedy = f"--ignore {shlex.quote(name)} leaves the attribute out"
        faults.add(f"{file}: node {node}, column {name}", what, remedy, ignore=(name,))
    return read_people(
        file, [_ID, *sources], rows, options, faults, id=_ID, label=label, found=found, sources=sources, row_word="node"
    )


def _names(name: str, widths: dict[str, int]) -> list[str]:
    """Return the names of the columns that one attribute fills."""
    return [f"{name}[{k}]" for k in range(widths[name])] if name in widths else [name]
