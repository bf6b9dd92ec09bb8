"""Edge lists: two names a line, divided by blanks or tabs; lines with # or % in front are comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ldpsim.strategies.importing.faults import FileFaults, and_more
from ldpsim.strategies.importing.parts import NamedEdges, named_edges

ENDS = ("source", "target")  # names of the columns in a first row


def read_edge_list(path: Path, faults: FileFaults) -> NamedEdges:
    """Read an edge list; a third field (a weight, or networkx's dict) is not read.

    pandas reads these lists no better: it knows one sign of comments, and it fills a short row without a word.

    Args:
        path: The file.
        faults: Where faults go: rows with too few fields, or with more or fewer than the first one.
    """
    with path.open(encoding="utf-8-sig") as file:
        widths: set[int] = set()
        found = named_edges(path.name, _edges(path.name, file, widths, faults))
    notes = (f"{path.name}: fields after the second are not read (an edge has no attributes)",)
    return NamedEdges(found.file, found.names, found.ends, found.lines, None, notes if widths - {2} else ())


def _edges(file: str, lines: Iterable[str], widths: set[int], faults: FileFaults) -> Iterator[tuple[int, str, str]]:
    """Yield (row of the file, one end, other end)."""
    width, short, other = 0, [], []
    for number, text in enumerate(lines, 1):
        fields = text.split()
        if not fields or fields[0][0] in "#%":
            continue
        if len(fields) > 2 and fields[2][0] in "#{":  # a comment, or networkx's attributes
            fields = fields[:2]
        if len(fields) < 2:
            short.append(number)
            continue
        if not width:
            width = len(fields)
            widths.add(width)
            if tuple(field.lower() for field in fields[:2]) == ENDS:
                continue
        if len(fields) != width:
            other.append((number, len(fields)))  # an adjacency list would lose its edges without a word
            continue
        yield number, fields[0], fields[1]
    if short:
        what = f"an edge is two names with a blank or a tab between them{and_more(len(short))}"
        faults.add(f"{file}: row {short[0]}, column 2", what, "a table with commas is named .csv")
    if other:
        number, size = other[0]
        what = f"row {number} has {size} fields, the first edge has {width}{and_more(len(other))}"
        faults.add(file, what, "correct the file: one edge a row")
