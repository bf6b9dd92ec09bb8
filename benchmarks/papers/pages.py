"""Pages of the papers in ``docs/results``, written from the results of their cells."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.markdown import table_head, table_row
from benchmarks.papers.agreement import ABOVE, AGREES, OFF, Accuracy
from benchmarks.papers.cell_result import CellResult, compared, counts, write_table
from benchmarks.papers.table_cell import NOT_HERE, Page, command
from benchmarks.papers.value_row import ValueRow, attributes_of, null_cells, null_heads

NOTES = Path(__file__).parent / "notes"
RULE = """Figures are test accuracy in %: mean ± standard deviation of single runs (number of runs). "Agrees" means
|difference| <= max(1.5 points, 3 sqrt(s^2/n + s'^2/n')) with at least ten runs of ours. A published confidence
half-width is turned into a standard deviation first. A cell outside this rule is off, and its difference is in bold. A
cell is "above the lower bound" if it is outside the rule and above a published figure that is a lower bound for a
reason that the page names. Then come the losses that *hold* for one collection, by level, and not the claimed ones.
Cells that were run with null models have them last ([value.md](value.md) says what they are). Stored settings
(`--tuned`) were found on the same people: with other splits, or, where the split is fixed (`split42`), with other
noise. So a test label of a new split may have been a training or validation label there. Written by
`benchmarks/papers/tables.py`."""


def markdown(paper: str, page: Page, results: Sequence[CellResult], nulls: Mapping[str, ValueRow] | None = None) -> str:
    """Return a page; ``nulls`` are the rows of ``value.csv`` by config hash."""
    done = [result for result in results if result.ours is not None]
    decided = counts(results)
    parts = [f"# {page.title}", page.head, RULE, (
        f"{len(done)} of {len(results)} cells were run. Of the {sum(decided.values())} with a published figure and ten "
        f"runs or more,\n{in_words(decided)}{'; the notes below explain those.' if decided[OFF] else '.'}"
    )]  # fmt: skip
    reasons = dict.fromkeys(result.cell.lower_bound for result in results if result.judgement == ABOVE)
    parts += [textwrap.fill(f"Lower bound: {reason}", 118) for reason in reasons]
    for table in dict.fromkeys(result.cell.table for result in results):
        ours = [result for result in results if result.cell.table == table]
        shown = [result for result in ours if result.ours is not None or result.cell.absent]
        parts += [f"## {table}", *([page.tables[table]] if page.tables.get(table) else [])]
        parts += [_table(page, shown, nulls or {})] if shown else []
        if len(shown) < len(ours):
            parts.append(f"{len(ours) - len(shown)} cells: {NOT_HERE}.")
    notes = NOTES / f"{paper}.md"
    if notes.is_file():
        parts.append(notes.read_text().strip())
    parts += _commands(paper, results)
    return "\n\n".join(parts) + "\n"


def in_words(decided: Counter[str]) -> str:
    """Return the three counts in words."""
    return f"{decided[AGREES]} agree, {decided[ABOVE]} are above a published lower bound and {decided[OFF]} are off"


def _table(page: Page, results: Sequence[CellResult], nulls: Mapping[str, ValueRow]) -> str:
    names = list(dict.fromkeys(name for result in results for name in result.cell.keys))
    measured = any(result.cell.measured for result in results)
    attributes = attributes_of(here := [nulls[result.config_hash] for result in results if result.config_hash in nulls])
    extra = null_heads(attributes) if here else []
    heads = [*names, "ours", "paper", "comparison", *([page.measured] if measured else []), *page.levels, *extra]
    lines = [*table_head(heads)]
    for result in results:
        cell = result.cell
        held = (result.held.get(level, "-") for level in page.levels.values())
        shown = [*(cell.keys.get(name, "-") for name in names), shown_ours(result), shown_accuracy(cell.paper),
                 compared(result), *([shown_accuracy(cell.measured)] if measured else []), *held]  # fmt: skip
        row = nulls.get(result.config_hash)
        shown += null_cells(row, attributes) if row else ["-"] * len(extra)
        lines.append(table_row(shown))
    return "\n".join(lines)


def shown_ours(result: CellResult) -> str:
    """Return our accuracy with the number of runs, or why there is none."""
    return result.shown or shown_accuracy(result.ours) if result.ours else result.why


def shown_accuracy(accuracy: Accuracy | None) -> str:
    """Return an accuracy with the number of runs."""
    return f"{accuracy} ({accuracy.runs})" if accuracy else "-"


def _commands(paper: str, results: Sequence[CellResult]) -> Iterator[str]:
    absent = [result for result in results if result.cell.absent]
    missing = [result for result in results if result.ours is None and not result.cell.absent]
    yield "## Commands"
    yield (
        f"The last column of [{paper}.csv]({paper}.csv) holds the command of every cell. The command\n"
        f"`python -m benchmarks.papers.tables {paper}` runs all cells\nthat have no result below `runs/tables`"
        + (f". {len(missing)} of them were not run here, for lack of time." if missing else ".")
    )
    if absent:
        shown = "\n".join(command(result.cell.options) for result in absent)
        yield f"Not run, because the features of the data set are not publicly stored:\n\n```sh\n{shown}\n```"


def write_page(
    paper: str, page: Page, results: Sequence[CellResult], where: Path, nulls: Mapping[str, ValueRow] | None = None
) -> None:
    """Write a paper's page and table."""
    where.mkdir(parents=True, exist_ok=True)
    write_table(where / f"{paper}.csv", page, results)
    (where / f"{paper}.md").write_text(markdown(paper, page, results, nulls))
