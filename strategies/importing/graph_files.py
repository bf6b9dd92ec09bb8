"""GML and GraphML files, parsed by networkx."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from strategies.importing.cells import MASKS, number, numbers
from strategies.importing.parts import FeatureRows, NamedEdges, PeopleTable

LABELS = ("label", "y", "class")  # attributes that hold the class where --label names none


def read_graph_file(
    path: Path, *, label: str | None = None, ignore: Collection[str] = ()
) -> tuple[NamedEdges, PeopleTable]:
    """Read nodes with their attributes, and edges.

    Args:
        path: The file.
        label: Attribute of the class; None: ``label``, ``y`` or ``class``. In GML ``label`` is
            the node's name, unless it is given here.
        ignore: Attributes to leave out.

    Raises:
        ValueError: one line: what the parser says, or the first node and attribute at fault.
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
    if gml and label != "label":
        names = [str(attributes.pop("label", node)) for node, attributes in zip(ids, data, strict=True)]
        ids = names if len(set(names)) == len(names) else ids
    pairs = np.array([(numbers_of[a], numbers_of[b]) for a, b in graph.edges()], np.int64).reshape(-1, 2).T
    edges = NamedEdges(path.name, ids, pairs, np.arange(pairs.shape[1]), graph.is_directed())
    return edges, _people(path.name, ids, data, label, ignore)


def _parse_gml(text: str) -> Any:
    """Return the graph; repeated edges are allowed, as in every other form."""
    import networkx as nx

    if not re.search(r"^\s*multigraph\s", text, re.MULTILINE):
        text = re.sub(r"^(\s*graph\s*\[)", r"\1 multigraph 1 ", text, count=1, flags=re.MULTILINE)
    return nx.parse_gml(text.split("\n"), label="id")


def _people(
    file: str, ids: list[str], data: list[dict[str, Any]], label: str | None, ignore: Collection[str]
) -> PeopleTable:
    found = list(dict.fromkeys(name for attributes in data for name in attributes))
    label = label or next((name for name in LABELS if name in found and name not in ignore), None)
    label = label if label in found else None
    features = [name for name in found if name not in {label, *MASKS, *ignore}]
    widths = {name: len(data[0][name]) for name in features if isinstance(data[0].get(name), list)}
    sources = [name for name in features for _ in _names(name, widths)]
    columns = [part for name in features for part in _names(name, widths)]
    masks = {part: name for name, part in MASKS.items() if name in found and name not in ignore}
    places = [f"{file}: node {name}" for name in ids]
    rows, masked = FeatureRows(), []
    for place, attributes in zip(places, data, strict=True):
        cells: list[Any] = []
        for name in features:
            value = attributes.get(name)
            many = value if isinstance(value, list) else [value]
            if len(many) != widths.get(name, 1):
                want = widths.get(name, 1)
                raise ValueError(f"{place}, column {name}: has {len(many)} numbers, the first node has {want}")
            cells += many
        rows.add(numbers(cells, place, columns, sources))
        masked.append([number(attributes.get(name), place, name) != 0 for name in masks.values()])
    parts = np.array(masked, bool).reshape(len(ids), len(masks)).T
    labels = [attributes.get(label) for attributes in data] if label else None
    return PeopleTable(
        file, ids, places, tuple(found), tuple(columns), rows.matrix(len(columns)), labels,
        dict(zip(masks, parts, strict=True)),
    )  # fmt: skip


def _names(name: str, widths: dict[str, int]) -> list[str]:
    """Return the names of the columns that one attribute fills."""
    return [f"{name}[{k}]" for k in range(widths[name])] if name in widths else [name]
