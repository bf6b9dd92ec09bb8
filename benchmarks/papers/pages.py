"""A paper's page and table in ``docs/results``, from the cells that were run."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.papers.agreement import Figure, bound, verdict
from benchmarks.papers.entry import NOT_HERE, Entry, Page, command

NOTES = Path(__file__).parents[1] / "notes"


@dataclass(frozen=True)
class Row:
    """A cell and what came of it: ours None where it was not run."""

    entry: Entry
    ours: Figure | None
    record: Mapping[str, Any] | None
    why: str = ""


def compared(row: Row) -> str:
    """Return what the comparison with the paper says."""
    ours, paper = row.ours, row.entry.paper
    if ours is None or paper is None:
        return "-"
    if row.entry.at_least and ours.mean >= paper.mean:
        return f"at least ({ours.mean - paper.mean:+.1f})"
    return verdict(ours, paper)


def held(row: Row, level: str) -> str:
    """Return what holds at a level, for a table."""
    if row.record is None:
        return "-"
    found = row.record["privacy"]["holds"][level]
    return f"{found['value']:.4g}" if found["status"] == "bounded" else str(found["status"])


def markdown(paper: str, page: Page, rows: Sequence[Row]) -> str:
    """Return a page."""
    done = [row for row in rows if row.ours is not None]
    decided = [row for row in done if row.entry.paper is not None and row.ours and row.ours.runs >= 10]
    off = [row for row in decided if compared(row).startswith("**")]
    ending = "; those are taken up below." if off else "."
    counts = (
        f"{len(done)} of {len(rows)} cells were run. Of the {len(decided)} with a published figure and ten runs or "
        f"more, {len(decided) - len(off)} agree and {len(off)} do not{ending}"
    )
    parts = [f"# {page.title}", page.head, _RULE, counts]
    for table in dict.fromkeys(row.entry.table for row in rows):
        ours = [row for row in rows if row.entry.table == table]
        shown = [row for row in ours if row.ours is not None or row.entry.absent]
        parts += [f"## {table}", *([page.tables[table]] if page.tables.get(table) else [])]
        parts += [_table(page, shown)] if shown else []
        if len(shown) < len(ours):
            parts.append(f"{len(ours) - len(shown)} cells: {NOT_HERE}.")
    notes = NOTES / f"{paper}.md"
    if notes.is_file():
        parts.append(notes.read_text().strip())
    parts += _commands(paper, rows)
    return "\n\n".join(parts) + "\n"


_RULE = """Test accuracy in %, mean ± standard deviation of single runs (number of runs). "Agrees" means |difference| <=
max(1.5 points, 3 sqrt(s^2/n + s'^2/n')) with at least ten runs of ours, where a published confidence half-width was
turned into a standard deviation first; otherwise the difference stands there in bold. The last columns are what *holds*
for one collection, by level, not what is claimed. Written by `benchmarks/papers/tables.py`."""


def _table(page: Page, rows: Sequence[Row]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row.entry.keys))
    measured = any(row.entry.measured for row in rows)
    heads = [*names, "ours", "paper", "comparison", *([page.measured] if measured else []), *page.levels]
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    for row in rows:
        entry = row.entry
        ours = f"{row.ours} ({row.ours.runs})" if row.ours else row.why
        held_ = (held(row, level) for level in page.levels.values())
        cells = [*(entry.keys.get(name, "-") for name in names), ours, _shown(entry.paper), compared(row),
                 *([_shown(entry.measured)] if measured else []), *held_]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _shown(figure: Figure | None) -> str:
    return f"{figure} ({figure.runs})" if figure else "-"


def _commands(paper: str, rows: Sequence[Row]) -> Iterator[str]:
    absent = [row for row in rows if row.entry.absent]
    missing = [row for row in rows if row.ours is None and not row.entry.absent]
    yield "## Commands"
    yield (
        f"Every cell's command stands in the last column of [{paper}.csv]({paper}.csv). All that are missing are run\n"
        f"by `python -m benchmarks.papers.tables {paper}`"
        + (f"; {len(missing)} of them were not run here, for want of time." if missing else ".")
    )
    if absent:
        shown = "\n".join(command(row.entry.options) for row in absent)
        yield f"Not run, because the data set's features are not publicly stored:\n\n```sh\n{shown}\n```"


def write_csv(path: Path, page: Page, rows: Sequence[Row]) -> None:
    """Write a page's cells as a table."""
    names = list(dict.fromkeys(name for row in rows for name in row.entry.keys))
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["table", *names, "n", "accuracy", "std", "paper", "paper_std", "paper_runs", "difference",
                         "may_differ_by", "comparison", "measured", "measured_std", "measured_runs",
                         *(f"holds_{level}" for level in page.levels.values()), "collections", "config_hash",
                         "command"])  # fmt: skip
        for row in rows:
            entry, ours, paper = row.entry, row.ours, row.entry.paper
            both = (_two(ours.mean - paper.mean), _two(bound(ours, paper))) if ours and paper else ("", "")
            record = row.record
            writer.writerow([
                entry.table, *(entry.keys.get(name, "") for name in names),
                *((ours.runs, _two(ours.mean), _two(ours.std)) if ours else (row.why, "", "")),
                *((paper.mean, _two(paper.std), paper.runs) if paper else ("", "", "")), *both,
                compared(row).strip("*") if ours and paper else "",
                *((entry.measured.mean, _two(entry.measured.std), entry.measured.runs) if entry.measured else
                  ("", "", "")),
                *(held(row, level) for level in page.levels.values()),
                record["privacy"]["collections"] if record else "", record["config_hash"] if record else "",
                command(entry.options),
            ])  # fmt: skip


def _two(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"


def write_page(paper: str, page: Page, rows: Sequence[Row], where: Path) -> None:
    """Write a paper's page and table."""
    where.mkdir(parents=True, exist_ok=True)
    write_csv(where / f"{paper}.csv", page, rows)
    (where / f"{paper}.md").write_text(markdown(paper, page, rows))


def write_agreement(rows: Mapping[str, Sequence[Row]], where: Path) -> None:
    """Write the page of the figures that the papers' agreement is judged by."""
    lines = ["| paper | cell | ours | published | comparison | measured | relationship | vector | page |",
             "|" + " --- |" * 9]  # fmt: skip
    judged = [(paper, row) for paper, all_ in rows.items() for row in all_ if row.entry.level == 0]
    for paper, row in judged:
        name = ", ".join(f"{key} {value}" for key, value in row.entry.keys.items())
        ours = f"{row.ours} ({row.ours.runs})" if row.ours else row.why
        lines.append(f"| {paper} | {name} | {ours} | {_shown(row.entry.paper)} | {compared(row)} | "
                     f"{_shown(row.entry.measured)} | {held(row, 'relationship')} | {held(row, 'vector')} | "
                     f"[{paper}.md]({paper}.md) |")  # fmt: skip
    done = sum(row.ours is not None for _, row in judged)
    off = sum(compared(row).startswith("**") for _, row in judged)
    verdicts = f"{done} of {len(judged)} figures were run; " + (f"{off} do not agree." if off else "all agree.")
    head = (f"# Agreement with the papers\n\n{_RULE}\n\n\"Measured\" is the published code run on another machine, or "
            f"an independent\nreproduction. {verdicts}\n\n")  # fmt: skip
    (where / "agreement.md").write_text(head + "\n".join(lines) + "\n")
