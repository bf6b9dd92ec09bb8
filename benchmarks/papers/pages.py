"""Pages of the papers in ``docs/results``, written from the results of their cells."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from benchmarks.markdown import table
from benchmarks.papers import NOTES
from benchmarks.papers.agreement import ABOVE, AGREES, OFF
from benchmarks.papers.cell_row import CellRow, counts, counts_again, judgement, shown
from benchmarks.papers.table_cell import Page, TableCell, note
from benchmarks.study import Row

RULE = note("rule")
TOTALS = ("cells", "run", "figures compared", AGREES, ABOVE, OFF, "compared again")
BLOCK = ("data set", "network")


def markdown(paper: str, page: Page, rows: Sequence[CellRow]) -> str:
    """Return a page: the counts by block, and the cells that are off. The table beside it has every cell."""
    decided = counts(rows)
    parts = [f"# {page.title}", page.head, RULE, (
        f"{sum(bool(row['ours']) for _, row in rows)} of {len(rows)} cells were run. Of {sum(decided.values())} "
        f"published figures with ten runs of ours or more beside them,\n{in_words(decided)}"
        f"{'; the notes below explain those.' if decided[OFF] else '.'}{said_again(counts_again(rows))}"
    )]  # fmt: skip
    reasons = dict.fromkeys(cell.lower_bound for cell, row in rows if judgement(cell, row) == ABOVE)
    parts += [textwrap.fill(f"Lower bound: {reason}", 118) for reason in reasons]
    parts += [*_every_cell(paper, rows), _blocks(rows)]
    parts += [textwrap.fill(f"*{name}.* {text}", 118) for name, text in page.tables.items()]
    off = [(cell, row) for cell, row in rows if judgement(cell, row) == OFF and not cell.again]
    parts += ["## Cells that are off", _table(off)] if off else []
    notes = NOTES / f"{paper}.md"
    if notes.is_file():
        parts.append(notes.read_text().strip())
    return "\n\n".join(parts) + "\n"


def _every_cell(paper: str, rows: Sequence[CellRow]) -> Iterator[str]:
    absent = [cell for cell, _ in rows if cell.absent]
    missing = [cell for cell, row in rows if not row["ours"] and not cell.absent]
    yield (
        f"[{paper}.csv]({paper}.csv) has every cell: both figures, the losses that hold, and the command.\n"
        f"`python -m benchmarks.papers.tables {paper}` runs all cells that have no result below `runs/tables`.\n"
        + (f"{len(missing)} of them were not run here, for lack of time.\n" if missing else "")
        + (f"{len(absent)} cannot run: the features of the data set are not publicly stored.\n" if absent else "")
        + "[value.md](value.md) has null models beside the papers' models, [agreement.md](agreement.md) the counts of\n"
        "all papers. The largest difference below is that of all cells beside a figure, also of those compared again."
    )


def _blocks(rows: Sequence[CellRow]) -> str:
    names = [name for name in BLOCK if any(name in cell.keys for cell, _ in rows)]
    blocks: dict[tuple[str, ...], list[CellRow]] = {}
    for cell, row in rows:
        blocks.setdefault((cell.table, *(cell.keys.get(name, "-") for name in names)), []).append((cell, row))
    lines = [[*block, *totals(found), _largest(found)] for block, found in blocks.items()]
    return table(["table", *names, *TOTALS, "largest difference"], lines)


def totals(rows: Sequence[CellRow]) -> list[str]:
    """Return the cells of ``TOTALS``."""
    found = counts(rows)
    run = sum(bool(row["ours"]) for _, row in rows)
    again = sum(counts_again(rows).values())
    return [
        f"{count}" for count in (len(rows), run, sum(found.values()), found[AGREES], found[ABOVE], found[OFF], again)
    ]


def _largest(rows: Sequence[CellRow]) -> str:
    found = [float(row["difference"]) for cell, row in rows if judgement(cell, row)]
    return f"{max(found, key=abs):+.1f}" if found else "-"


def said_again(again: Counter[str]) -> str:
    """Return what is said of the cells that do not count; empty without any."""
    if not again:
        return ""
    return (f" A figure counts once.\n{sum(again.values())} more cells stand beside some of the same figures; of these "
            f"{in_words(again)}.")  # fmt: skip


def in_words(decided: Counter[str]) -> str:
    """Return the three counts in words."""
    return f"{decided[AGREES]} agree, {decided[ABOVE]} are above a published lower bound and {decided[OFF]} are off"


def _table(rows: Sequence[CellRow]) -> str:
    names = list(dict.fromkeys(name for cell, _ in rows for name in cell.keys))
    lines = [[*(cell.keys.get(name, "-") for name in names), row["ours"], shown(cell.paper), compared(cell, row),
              shown(cell.measured)] for cell, row in rows]  # fmt: skip
    return table([*names, "ours", "paper", "comparison", "measured"], lines)


def compared(cell: TableCell, row: Row) -> str:
    """Return the comparison with the paper's accuracy, in words; in bold what is off."""
    return f"**{row['comparison']}**" if judgement(cell, row) == OFF else row["comparison"] or "-"
