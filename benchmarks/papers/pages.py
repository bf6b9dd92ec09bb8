"""Pages of the papers in ``docs/results``, written from the results of their cells."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from benchmarks.markdown import table
from benchmarks.papers import NOTES
from benchmarks.papers.agreement import ABOVE, AGREES, OFF
from benchmarks.papers.cell_row import CellRow, counts, counts_again, judgement, shown
from benchmarks.papers.table_cell import NOT_HERE, Page, TableCell, command, note
from benchmarks.papers.value_row import ValueRow, attributes_of, null_cells, null_heads
from benchmarks.study import Row

RULE = note("rule")


def markdown(paper: str, page: Page, rows: Sequence[CellRow], nulls: Mapping[str, ValueRow] | None = None) -> str:
    """Return a page; ``nulls`` are the rows of ``value.csv`` by config hash."""
    decided = counts(rows)
    parts = [f"# {page.title}", page.head, RULE, (
        f"{sum(bool(row['ours']) for _, row in rows)} of {len(rows)} cells were run. Of {sum(decided.values())} "
        f"published figures with ten runs of ours or more beside them,\n{in_words(decided)}"
        f"{'; the notes below explain those.' if decided[OFF] else '.'}{said_again(counts_again(rows))}"
    )]  # fmt: skip
    reasons = dict.fromkeys(cell.lower_bound for cell, row in rows if judgement(cell, row) == ABOVE)
    parts += [textwrap.fill(f"Lower bound: {reason}", 118) for reason in reasons]
    for name in dict.fromkeys(cell.table for cell, _ in rows):
        ours = [(cell, row) for cell, row in rows if cell.table == name]
        there = [(cell, row) for cell, row in ours if row["ours"] or cell.absent]
        parts += [f"## {name}", *([page.tables[name]] if page.tables.get(name) else [])]
        parts += [_table(page, there, nulls or {})] if there else []
        if len(there) < len(ours):
            parts.append(f"{len(ours) - len(there)} cells: {NOT_HERE}.")
    notes = NOTES / f"{paper}.md"
    if notes.is_file():
        parts.append(notes.read_text().strip())
    parts += _commands(paper, rows)
    return "\n\n".join(parts) + "\n"


def said_again(again: Counter[str]) -> str:
    """Return what is said of the cells that do not count; empty without any."""
    if not again:
        return ""
    return (f" A figure counts once.\n{sum(again.values())} more cells stand beside some of the same figures; of these "
            f"{in_words(again)}.")  # fmt: skip


def in_words(decided: Counter[str]) -> str:
    """Return the three counts in words."""
    return f"{decided[AGREES]} agree, {decided[ABOVE]} are above a published lower bound and {decided[OFF]} are off"


def _table(page: Page, rows: Sequence[CellRow], nulls: Mapping[str, ValueRow]) -> str:
    names = list(dict.fromkeys(name for cell, _ in rows for name in cell.keys))
    measured = any(cell.measured for cell, _ in rows)
    attributes = attributes_of(here := [nulls[row["config_hash"]] for _, row in rows if row["config_hash"] in nulls])
    extra = null_heads(attributes) if here else []
    lines = []
    for cell, row in rows:
        beside = nulls.get(row["config_hash"])
        lines.append([*(cell.keys.get(name, "-") for name in names), row["ours"] or row["n"], shown(cell.paper),
                      compared(cell, row), *([shown(cell.measured)] if measured else []),
                      *(row[f"holds_{level}"] for level in page.levels.values()),
                      *(null_cells(beside, attributes) if beside else ["-"] * len(extra))])  # fmt: skip
    heads = [*names, "ours", "paper", "comparison", *([page.measured] if measured else []), *page.levels, *extra]
    return table(heads, lines)


def compared(cell: TableCell, row: Row) -> str:
    """Return the comparison with the paper's accuracy, in words; in bold what is off."""
    return f"**{row['comparison']}**" if judgement(cell, row) == OFF else row["comparison"] or "-"


def _commands(paper: str, rows: Sequence[CellRow]) -> Iterator[str]:
    absent = [cell for cell, _ in rows if cell.absent]
    missing = [cell for cell, row in rows if not row["ours"] and not cell.absent]
    yield "## Commands"
    yield (
        f"The last column of [{paper}.csv]({paper}.csv) holds the command of every cell. The command\n"
        f"`python -m benchmarks.papers.tables {paper}` runs all cells\nthat have no result below `runs/tables`"
        + (f". {len(missing)} of them were not run here, for lack of time." if missing else ".")
    )
    if absent:
        commands = "\n".join(command(cell.options) for cell in absent)
        yield f"Not run, because the features of the data set are not publicly stored:\n\n```sh\n{commands}\n```"
