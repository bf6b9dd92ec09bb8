"""Files of text as tables: CSV by pandas, lists of edges by line, graphs of other programs."""

from __future__ import annotations

import io
import re
import shlex
from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from ldpsim.devices.array_types import check_growth
from ldpsim.strategies.foreign_text import from_csv_cell
from ldpsim.strategies.importing.edge_lists import edge_list, neighbours
from ldpsim.strategies.importing.forms import bytes_of, form_of, unpacked_text
from ldpsim.strategies.importing.graph_forms import (
    MATRIX_MARKET,
    ForeignGraph,
    gexf,
    gml,
    graphml,
    matrix_market,
    pajek,
)
from ldpsim.strategies.importing.headings import (
    column_of,
    is_data,
    key_columns,
    likely_keys,
    separator,
    with_headings,
    without_nameless,
)  # fmt: skip
from ldpsim.strategies.importing.options import REFUSE, ImportOptions, and_more

GRAPHS = (".gml", ".graphml", ".gexf", ".net", ".mtx")
EDGE_LISTS = (".txt", ".edges", ".edgelist", ".tsv")
LABELS = ("label", "y", "class")  # attributes of a graph that hold the class where --label names none
# A cell that is a list of numbers, as DGL and numpy write them; 0,5 may be a number with a decimal comma.
_LIST = r"\[{0}(\s*,\s*{0}|\s+{0})*\]|{0}(,\s+{0})+|{1}(,{1})+".format(
    r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", r"[+-]?\d+\.\d+(?:[eE][+-]?\d+)?"
)
_NAMELESS = "write the name there; --missing zero, or any other choice but refuse, leaves such rows out"


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file: edges between people who have names, or people.

    Args:
        file: Name of the file.
        cells: DataFrame; its index is the number of each row in the file, or the name of a node.
        keys: Columns of the names: the two ends of an edge, or the name of a person.
        label: Column of the class; None where the table has none.
        directed: Whether the file says that direction counts; None: it does not say.
        unread: Headings of the columns that are not in ``cells``: those of an edge beside its ends.
    """

    file: str
    cells: Any = field(repr=False)
    keys: tuple[str, ...]
    label: str | None = None
    directed: bool | None = None
    unread: tuple[str, ...] = ()

    @property
    def of_edges(self) -> bool:
        """Whether the rows are edges."""
        return len(self.keys) > 1

    @property
    def names(self) -> Any:
        """Names of the people, a Series of text."""
        return self.cells[self.keys[0]]

    def has(self, name: str) -> bool:
        """Return whether a person is named here."""
        return bool(self.cells[[*self.keys]].eq(name).any(axis=None))

    def place(self, row: Any, column: str = "") -> str:
        """Return the words for a cell: file, row and column."""
        where = f"{self.file}: {'node' if isinstance(row, str) else 'row'} {row}"
        return f"{where}, column {column}" if column else where

    def place_of(self, name: str, column: str = "") -> str:
        """Return the words for a person's first row, or for the file where the person has none."""
        here = self.cells[[*self.keys]].eq(name).any(axis=1)
        if not here.any():
            return f"{self.file}: no row for {name!r}" + (f", column {column}" if column else "")
        return self.place(here.idxmax(), column)


def read_tables(path: Path, options: ImportOptions, faults: list[str], notes: list[str]) -> list[Table]:
    """Return what a file holds, by the end of its name; its faults and notes are added to the lists.

    Raises:
        ValueError: one line, where nothing can be read.
    """
    kind = form_of(path)
    if kind in GRAPHS or (kind in EDGE_LISTS and bytes_of(path).startswith(MATRIX_MARKET.encode())):
        return _read_graph(path, options, faults, notes)
    if kind == ".tsv":
        header = [name.strip() for name in unpacked_text(path).partition("\n")[0].split("\t")]
        kind = ".csv" if key_columns(header, options) else kind
    return _read_table(path, options, faults, notes) if kind == ".csv" else _read_edge_list(path, faults, notes)


def _read_edge_list(path: Path, faults: list[str], notes: list[str]) -> list[Table]:
    """Read names of edges, or of neighbours, and those of people who stand alone."""
    text = unpacked_text(path)
    cells, alone = neighbours(text) if form_of(path) == ".adjlist" else edge_list(path.name, text, faults, notes)
    names = pd.DataFrame({"id": alone}, range(1, len(alone) + 1), dtype=str)
    people = [Table(path.name, names, ("id",))] if alone else []
    return [Table(path.name, cells, ("source", "target")), *people]


def _read_table(path: Path, options: ImportOptions, faults: list[str], notes: list[str]) -> list[Table]:
    """Read a table with a first row of names; cells are divided by comma, semicolon or tab."""
    text = unpacked_text(path)
    divider, skipped = separator(text, options)
    form: dict[str, Any] = {"sep": divider, "dtype": object, "keep_default_na": False, "skiprows": skipped}
    try:
        header = [name.strip() for name in pd.read_csv(io.StringIO(text), header=None, nrows=1, **form).iloc[0]]
        if fault := _wrong_header(path, header, text):
            faults.append(fault)
            return []
        cells = pd.read_csv(io.StringIO(text), skip_blank_lines=False, **form)
    except pd.errors.EmptyDataError:
        faults.append(f"{path.name}: row 1 must name the columns; the file is empty")
        return []
    except pd.errors.ParserError as error:
        what = str(error).strip().rpartition("error: ")[2]
        faults.append(f"{path.name}: {what}; a cell that holds the dividing sign stands in double quotes")
        return []
    if len(cells) and not isinstance(cells.index, pd.RangeIndex):
        faults.append(f"{path.name}: row {skipped + 2} has more cells than the first row; each column needs a name")
        return []
    cells = cells.set_axis(header, axis=1).set_axis(range(skipped + 2, len(cells) + skipped + 2))
    cells = cells[(cells != "").any(axis=1)]
    options = with_headings(options, header)
    keys = key_columns(header, options)
    if keys is None and is_data(header, cells):
        faults.append(
            f"{path.name}: row {skipped + 1} holds data ({', '.join(header)[:80]}), not the names of columns; write a "
            "first row, such as source,target (edges) or id,age,label (people)"
        )
        return []
    if keys is None:
        ends, own = (options.source or "source", options.target or "target"), options.id or "id"
        keys, likely = likely_keys(cells)
        faults.append(
            f"{path.name}: row {skipped + 1} must name the columns {' and '.join(ends)} (edges) or {own} (people), "
            f"found {', '.join(header)} (if these are data, write a first row); --source NAME --target NAME reads "
            f"edges, --id NAME reads people{likely}"
        )
        if not keys:
            return []
    elif "" not in keys:
        cells = without_nameless(path.name, cells, options, notes)
        header = list(cells.columns)
        if len(keys) == 1 and "" in header and "" not in options.ignore:
            faults.append(
                f"{path.name}: row 1: column {header.index('') + 1} has no name; write one there, --ignore '' leaves "
                "it out, --id '' takes it as the names of people"
            )
            header = [name for name in header if name]
            cells = cells[header]
    for key in keys:
        cells[key] = cells[key].str.strip().map(from_csv_cell)
    nameless = cells[[*keys]] == ""
    if nameless.any(axis=None) and options.missing == REFUSE:
        rows = nameless.any(axis=1)
        where = f"{path.name}: row {rows.idxmax()}, column {nameless.loc[rows.idxmax()].idxmax()}"
        faults.append(f"{where}: is empty{and_more(int(rows.sum()))}; {_NAMELESS}")
    elif nameless.any(axis=None):
        notes.append(f"{path.name}: rows without a name, left out: {int(nameless.any(axis=1).sum()):,}")
    cells = cells[~nameless.any(axis=1)]
    if len(keys) == 1:
        label = column_of("label", header) if options.label is None else options.label
        label = label if label in header and label not in (*options.ignore, *keys) else None
        whole = {*keys, *options.ignore, *options.categories, label}
        lists = [name for name in header if name not in whole and _is_list(cells[name])]
        if lists:  # a concatenation of thousands of columns takes its time
            parts = [
                _parts_of_list(path.name, cells[name], faults) if name in lists else cells[[name]] for name in header
            ]
            cells = pd.concat(parts, axis=1)
        return [Table(path.name, cells, keys, label)]
    unread = [name for name in header if name not in keys]
    if unread:
        notes.append(
            f"{path.name}: not read: {', '.join(name or repr(name) for name in unread)} (an edge has no attributes)"
        )
    return [Table(path.name, cells[[*keys]], keys, unread=tuple(unread))]


def _is_list(column: Any) -> bool:
    """Return whether each cell that is not empty is a list of numbers."""
    first = next((text for text in column if text.strip()), "").strip()
    return bool(re.fullmatch(_LIST, first)) and all(
        re.fullmatch(_LIST, text.strip()) for text in column if text.strip()
    )


def _parts_of_list(file: str, column: Any, faults: list[str]) -> Any:
    """Return a DataFrame of a column of lists: a column for each number; none, and a fault, where sizes differ."""
    texts = column.str.strip()
    filled = texts[texts != ""]
    numbers = filled.str.strip("[]").str.strip().str.split(r"\s*,\s*|\s+", regex=True)
    sizes = numbers.str.len()
    other = (sizes != sizes.iloc[0]).idxmax()
    if sizes[other] != sizes.iloc[0]:
        faults.append(
            f"{file}: row {other}, column {column.name}: has {sizes[other]} numbers, the first list has "
            f"{sizes.iloc[0]}; --ignore {shlex.quote(column.name)} leaves the column out"
        )
        return column.to_frame().iloc[:, :0]
    names = [f"{column.name}[{place}]" for place in range(sizes.iloc[0])]
    return pd.DataFrame(numbers.tolist(), filled.index, names, dtype=object).reindex(column.index, fill_value="")


def _wrong_header(path: Path, header: list[str], text: str) -> str | None:
    """Return the fault of the names of columns, or of rows that are too short for so many; None where there is none."""
    times = Counter(header)
    twice = next((name for name in header if name and times[name] > 1), None)
    if twice is not None:
        return f"{path.name}: row 1: the column {twice!r} stands twice; give each column its own name"
    rows = sum(part.count("\n") for part in text.split('"')[::2])  # a line inside of quotes is no row
    try:
        check_growth(f"{path.name}: {rows:,} rows of {len(header):,} columns", rows * len(header), len(text))
    except ValueError as error:
        return f"{error}; a row has a cell for each column"
    return None


def _graph_of(path: Path, options: ImportOptions) -> ForeignGraph:
    """Return the graph of a file by the end of its name; any other end is a matrix."""
    form, content = form_of(path), bytes_of(path)
    if form == ".graphml":
        return graphml(content)
    if form == ".gexf":
        return gexf(content, options)
    if form in (".gml", ".net"):
        text = unpacked_text(path)
        return gml(text, options) if form == ".gml" else pajek(text)
    return matrix_market(content)


def _read_graph(path: Path, options: ImportOptions, faults: list[str], notes: list[str]) -> list[Table]:
    """Read nodes with their attributes, and edges; without a label the class is ``label``, ``y`` or ``class``."""
    try:
        graph = _graph_of(path, options)
    except UnicodeDecodeError:
        raise
    except Exception as error:  # what networkx and the XML reader say of a file that is none of theirs
        raise ValueError(f"{path.name} cannot be read: {' '.join(str(error).split())}") from error
    if graph.unread:
        notes.append(f"{path.name}: not read: {', '.join(graph.unread)} (a picture of the nodes)")
    names = list(graph.nodes)
    columns = list(dict.fromkeys(chain(graph.defaults, chain.from_iterable(graph.nodes.values()))))
    what = f"{path.name}: a table of {len(names):,} nodes and {len(columns):,} attributes, most of them empty"
    try:
        check_growth(what, len(names) * len(columns), path.stat().st_size)
    except ValueError as error:
        raise ValueError(f"{error}; an .npz takes such features (indptr, indices, values, num_features)") from None
    options = with_headings(options, columns)
    cells = pd.DataFrame([{**graph.defaults, **own} for own in graph.nodes.values()], names, columns, dtype=object)
    label = next((name for name in ([options.label] if options.label else LABELS)
                  if name in cells and name not in options.ignore), None)  # fmt: skip
    apart: set[str] = set()  # an attribute that is a list becomes columns
    listed: dict[str, list[Any]] = {}
    for name in [name for name in cells if name not in options.ignore and list in set(map(type, cells[name]))]:
        lists = [value if isinstance(value, list) else [value] for value in cells[name]]
        other = next((place for place, value in enumerate(lists) if len(value) != len(lists[0])), None)
        if other is not None:
            faults.append(
                f"{path.name}: node {names[other]}, column {name}: has {len(lists[other])} numbers, the first node "
                f"has {len(lists[0])}; --ignore {shlex.quote(name)} leaves the attribute out"
            )
        else:
            listed |= {f"{name}[{k}]": [*values] for k, values in enumerate(zip(*lists, strict=True))}
        apart.add(name)
    key = next(key for key in ("id", " id") if key not in cells)
    cells = pd.concat(
        [pd.DataFrame({key: names}, names), cells[[name for name in cells if name not in apart]],
         pd.DataFrame(listed, names, dtype=object)], axis=1,
    )  # fmt: skip
    ends = pd.DataFrame(graph.edges, range(1, len(graph.edges) + 1), ["source", "target"], dtype=str)
    of_edges = Table(path.name, ends, ("source", "target"), directed=graph.directed)
    return [of_edges, Table(path.name, cells, (key,), label)]
