"""Lists of edges, two names a line, and of neighbours, a name and its neighbours in each line."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import networkx as nx
import pandas as pd

from ldpsim.strategies.importing.headings import key_columns
from ldpsim.strategies.importing.options import ImportOptions, and_more

_COMMENT = re.compile(r"(^\s*[#%]|\s[#{]).*", re.DOTALL)  # networkx writes attributes in braces
_COMMENT_BESIDE_TABS = re.compile(r"(^\s*[#%]|\t\s*[#{]).*", re.DOTALL)  # a name may have a blank and a number sign
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")
_SIGN = re.compile(r"\s*[,;]\s*")
_SIGN_AND_BLANK = re.compile(r"\S[,;]\s+\S")
_NEIGHBOURS = "# GMT "  # networkx writes the time before an adjacency list, and before no list of edges


def edge_list(file: str, text: str, faults: list[str], notes: list[str]) -> tuple[Any, Any]:
    """Return edges and people without any of a list of two names a line; its faults and notes are added to the lists.

    Names have tabs between them where every line has one, commas or semicolons with a blank, or blanks. Lines with # or
    % in front are comments. A list of neighbours that networkx wrote is read as such.

    Returns:
        DataFrame of ``source`` and ``target``, its index is the number of the line, and a list of more names.
    """
    if any(line.startswith(_NEIGHBOURS) for line in text.split("\n", 3)):
        if _is_multiline(text):
            faults.append(
                f"{file}: a multiline adjacency list of networkx; write the graph with networkx.write_adjlist or "
                "networkx.write_graphml"
            )
        notes.append(f"{file}: read as an adjacency list of networkx: a name and its neighbours in each row")
        return neighbours(text)
    left, right, lines, width = [], [], array("q"), 0
    wrong: list[str] = []
    more: set[str] = set()  # what stands in the third field, where it is no number
    for number, fields in _rows(text):
        if not width and len(key_columns(fields[:2], ImportOptions()) or ()) == 2:
            continue
        width = width or max(len(fields), 2)
        if len(fields) != width:  # an adjacency list would lose its edges without a word
            wrong.append(f"row {number} has {len(fields)} fields, an edge has {width}")
            continue
        left.append(fields[0])
        right.append(fields[1])
        lines.append(number)
        if width > 2 and not _NUMBER.fullmatch(fields[2]):
            more.add(fields[2])
    if not wrong and more & {*left, *right}:
        wrong.append(f"{sorted(more & {*left, *right})[0]!r} in the third field is a name")
    if wrong:
        faults.append(
            f"{file}: {wrong[0]}{and_more(len(wrong))}; an edge is two names with a blank or a tab between them "
            "(a table with commas is named .csv; an adjacency list, a name and its neighbours a row, .adjlist)"
        )
    if width > 2:
        notes.append(
            f"{file}: fields after the second are not read (an edge has no attributes; names with blanks have tabs "
            "between them, and an adjacency list is named .adjlist)"
        )
    cells = pd.DataFrame({"source": left, "target": right}, lines, dtype=str)
    if len(cells) > 1 and _is_number(cells.iloc[1:]) and not cells.iloc[0].str.isdecimal().any():
        notes.append(f"{file}: row {lines[0]} ({left[0]}, {right[0]}) is read as headings: all other names are numbers")
        cells = cells.iloc[1:]
    return cells, []


def neighbours(text: str) -> tuple[Any, Any]:
    """Return edges and names of an adjacency list: each row has a name and its neighbours, none for a person alone."""
    rows = ["\t".join(fields) for _, fields in _rows(text)]
    graph = nx.parse_adjlist(rows, comments="\0", delimiter="\t", create_using=nx.MultiDiGraph)
    edges = pd.DataFrame(list(graph.edges()), columns=["source", "target"], dtype=str)
    return edges.set_axis(range(1, len(edges) + 1)), list(graph)


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the names of each line that is no comment."""
    bare = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith(("#", "%"))]
    comment, split = _COMMENT, _splitter(bare)
    if split is _by_tabs:
        comment = _COMMENT_BESIDE_TABS
    for number, line in enumerate(text.split("\n"), 1):
        if fields := split(comment.sub("", line)):
            yield number, fields


def _splitter(lines: Iterable[str]) -> Callable[[str], list[str]]:
    """Return what divides a line: the same sign for all lines."""
    if all("\t" in line.strip() for line in lines):
        return _by_tabs
    if all(_SIGN_AND_BLANK.search(line) for line in lines):
        return _by_signs
    return str.split


def _by_tabs(line: str) -> list[str]:
    return [name.strip() for name in line.strip().split("\t")] if line.strip() else []


def _by_signs(line: str) -> list[str]:
    return _SIGN.split(line.strip()) if line.strip() else []


def _is_multiline(text: str) -> bool:
    """Return whether each name has a number, and as many rows of one name after it."""
    rows = [fields for _, fields in _rows(text)]
    place = 0
    while place < len(rows) and len(rows[place]) == 2 and rows[place][1].isdecimal():
        place += 1 + int(rows[place][1])
    return place == len(rows)


def _is_number(names: Any) -> bool:
    """Return whether all names are whole numbers."""
    return bool(names.apply(lambda column: column.str.isdecimal()).all(axis=None))
