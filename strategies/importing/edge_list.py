"""Edge lists: two names a line, divided by blanks or tabs; lines with # or % in front are comments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from strategies.importing.parts import NamedEdges, named_edges
from strategies.importing.tables import ENDS


def read_edge_list(path: Path) -> NamedEdges:
    """Read an edge list; a third field (a weight, or networkx's dict) is not read.

    Raises:
        ValueError: one line about the first row that is no edge, or has other fields than the first one.
    """
    with path.open(encoding="utf-8-sig") as file:
        widths: set[int] = set()
        found = named_edges(path.name, _edges(path.name, file, widths))
    notes = (f"{path.name}: fields after the second are not read (an edge has no attributes)",)
    return NamedEdges(found.file, found.names, found.ends, found.lines, None, notes if widths - {2} else ())


def _edges(file: str, lines: Iterator[str], widths: set[int]) -> Iterator[tuple[int, str, str]]:
    """Yield (row of the file, one end, other end)."""
    width = 0
    for number, text in enumerate(lines, 1):
        fields = text.split()
        if not fields or fields[0][0] in "#%":
            continue
        if len(fields) > 2 and fields[2][0] in "#{":  # a comment, or networkx's attributes
            fields = fields[:2]
        if len(fields) < 2:
            raise ValueError(f"{file}: row {number}, column 2: an edge is two names with a blank or a tab between them")
        if not width:
            width = len(fields)
            widths.add(width)
            if tuple(field.lower() for field in fields[:2]) == ENDS:
                continue
        if len(fields) != width:
            # an adjacency list would lose its edges without a word
            raise ValueError(f"{file}: row {number} has {len(fields)} fields, the first edge has {width}")
        yield number, fields[0], fields[1]
