"""CSV files: edges (two columns of names) or people (one column of names), told apart by their first row.

The rows come from Python's ``csv`` and not from ``pandas.read_csv``: that one does not tell the row of the file, fills
a short row without a word and stops at the first long one. pandas does what comes after (:mod:`.people`).
"""

from __future__ import annotations

import csv
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ldpsim.strategies.foreign_text import from_csv_cell
from ldpsim.strategies.importing.edge_list import ENDS
from ldpsim.strategies.importing.faults import FileFaults, and_more
from ldpsim.strategies.importing.options import ImportOptions
from ldpsim.strategies.importing.parts import NamedEdges, PeopleTable, named_edges
from ldpsim.strategies.importing.people import NAMELESS, read_people

# Names that other programs give to the ends of an edge. They are proposed, never taken unasked.
LIKELY_ENDS = (
    ("from", "to"), ("src", "dst"), ("source_id", "target_id"), ("from_id", "to_id"), ("node1", "node2"), ("a", "b")
)  # fmt: skip
_Rows = Iterator[tuple[int, list[str]]]


def read_table(path: Path, options: ImportOptions, faults: FileFaults) -> NamedEdges | PeopleTable | None:
    """Read a CSV with a first row of names; cells are divided by comma, semicolon or tab.

    Args:
        path: The file.
        options: The choices.
        faults: Where faults go. Rows are counted as in an editor, from 1.

    Returns:
        What the file holds; None if its first row does not tell.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        first = file.readline()
        file.seek(0)
        divider = next((sign for sign in (",", ";", "\t") if sign in first), ",")
        rows = _rows(path.name, csv.reader(file, delimiter=divider, strict=True), faults)
        _, given = next(rows, (0, []))
        header = [name.strip() for name in given]
        if len(set(header)) < len(header):
            (twice, _), *_ = Counter(header).most_common(1)
            faults.add(f"{path.name}: row 1", f"the column {twice!r} stands twice", "give each column its own name")
            return None
        for ends in ends_of(options):
            if set(ends) <= set(header):
                unused = [name for name in header if name not in ends]
                notes = (f"{path.name}: not read: {', '.join(unused)} (an edge has no attributes)",) if unused else ()
                return named_edges(
                    path.name, _ends(path.name, _names(rows, header, ends), header, ends, options, faults),
                    notes=notes, columns=ends,
                )  # fmt: skip
        id = next((name for name in (options.id, "id") if name in header), None)
        if id is None:
            _tell_header(path.name, header, options, faults)
            return None
        label = options.label or ("label" if "label" not in options.ignore else None)
        label = label if label in header else None
        return read_people(
            path.name, header, _names(rows, header, (id,)), options, faults, id=id, label=label, found=header
        )


def ends_of(options: ImportOptions) -> tuple[tuple[str, str], ...]:
    """Return the names of the two columns that make a table one of edges."""
    return (options.source or ENDS[0], options.target or ENDS[1]), ENDS


def _rows(file: str, reader: Iterator[list[str]], faults: FileFaults) -> _Rows:
    """Yield (row of the file, cells), without empty rows; rows of another width than the first are a fault."""
    width, wrong = 0, []
    try:
        for cells in reader:
            if not cells:
                continue
            line: int = reader.line_num  # type: ignore[attr-defined]
            width = width or len(cells)
            if len(cells) == width:
                yield line, cells
            else:
                wrong.append((line, len(cells)))
    except csv.Error as error:
        faults.add(f"{file}: row {reader.line_num}", str(error), "correct the quotes there")  # type: ignore[attr-defined]
    if wrong:
        others = ", ".join(f"{line}" for line, _ in wrong[1:6]) + (" ..." if len(wrong) > 6 else "")
        more = f" ({len(wrong):,} such rows: also {others})" if others else ""
        line, size = wrong[0]
        remedy = "correct the file: a cell that holds the dividing sign stands in double quotes"
        faults.add(file, f"row {line} has {size} cells, the first row has {width}{more}", remedy)


def _names(rows: _Rows, header: Sequence[str], columns: Sequence[str]) -> _Rows:
    """Yield rows with the names of people as they were before :func:`ldpsim.strategies.foreign_text.csv_cell`."""
    for line, cells in rows:
        for column in map(header.index, columns):
            cells[column] = from_csv_cell(cells[column])
        yield line, cells


def _ends(
    file: str, rows: _Rows, header: Sequence[str], ends: Sequence[str], options: ImportOptions, faults: FileFaults
) -> Iterator[tuple[int, str, str]]:
    left, right = (header.index(end) for end in ends)
    empty = []
    for line, cells in rows:
        one, other = cells[left].strip(), cells[right].strip()
        if one and other:
            yield line, one, other
        else:
            empty.append((line, ends[bool(one)]))
    if empty and options.missing == "refuse":
        line, column = empty[0]
        faults.add(f"{file}: row {line}, column {column}", f"is empty{and_more(len(empty))}", NAMELESS, missing="zero")


def _tell_header(file: str, header: Sequence[str], options: ImportOptions, faults: FileFaults) -> None:
    """Add the fault of a first row that names neither edges nor people, with the options that its names suggest."""
    wanted = (
        f"row 1 must name the columns {options.source or ENDS[0]} and {options.target or ENDS[1]} (edges) "
        f"or {options.id or 'id'} (people)"
    )
    small = {name.lower(): name for name in header}
    pairs = [tuple(small[end] for end in pair) for pair in (ENDS, *LIKELY_ENDS) if set(pair) <= set(small)]
    names = [name for name in header if name.lower().endswith(("id", "name"))]
    if len(header) == 2 and len(names) != 1:
        pairs.append(tuple(header))
    elif len(header) == 3 and len(names) == 2:  # two people and a weight
        pairs.append(tuple(names))
    change: dict[str, str] = {}
    if pairs:
        change = dict(zip(ENDS, pairs[0], strict=True))
        remedy = f"--source {shlex.quote(change['source'])} --target {shlex.quote(change['target'])} reads edges"
    elif names:
        change = {"id": names[0]}
        remedy = f"--id {shlex.quote(names[0])} reads people, --source NAME --target NAME reads edges"
    else:
        remedy = "--source NAME --target NAME reads edges, --id NAME reads people"
    found = ", ".join(name or "''" for name in header) or "nothing"
    faults.add(file, f"{wanted}, found {found}", remedy, **change)
