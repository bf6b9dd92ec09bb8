"""The accuracy tables of ``docs/results``: ours, the papers', and whether they agree.

    make tables                                    (LDPSIM_DATA names the data sets; very long)
    python benchmarks/tables.py [rgnn lpgnn ...] [--workers 2] [--upto 1] [--quick] [--pages-only]

Every cell is ten simulated collections, run by the machinery of ``ldpsim sweep`` below
``--home`` (runs/tables): a killed run goes on where it was, and pages are written from the
cells that are there, at any time. Cells come in levels, the most wanted first (``--upto``).
``--quick`` runs and shows one column of each table, in a page of its own below ``--home``.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import math
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papers.agreement import Figure, bound, verdict
from papers.entry import NOT_HERE, Entry, Page, command

from strategies.cell_pool import Failed
from strategies.sweep import check_cells, results_in, run_sweep
from strategies.sweep_file import Cell

HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "results"
PAPERS = ("rgnn", "lpgnn", "blink", "solitude", "hogs")
DATA = "data"


@dataclass(frozen=True)
class Row:
    """A cell and what came of it: ours None where it was not run."""

    entry: Entry
    ours: Figure | None
    record: Mapping[str, Any] | None
    why: str = ""


def entries_of(paper: str, home: Path) -> tuple[Page, list[Entry]]:
    """Return what a paper's page says and its cells."""
    module = importlib.import_module(f"papers.{paper}")
    if hasattr(module, "prepare"):
        module.prepare(home / DATA)
    return module.PAGE, list(module.entries(home / DATA))


def turn(entry: Entry) -> int:
    """Return when a cell is run: the figures the agreement is judged by, one column of each table, the rest."""
    return 0 if entry.level == 0 else 1 if entry.quick else 1 + entry.level


def label_of(entry: Entry) -> str:
    """Return a cell's name in one line."""
    return f"{entry.table}: " + ", ".join(f"{key} {value}" for key, value in entry.keys.items())


def run_cells(paper: str, entries: Sequence[Entry], home: Path, workers: int) -> None:
    """Run the cells that have no result, on any page, and keep of each the result alone."""
    folder = home / paper
    missing = [row.entry for row in rows_of(entries, folder) if row.record is None and not row.entry.absent]
    if not missing:
        return
    cells = [Cell(entry.options, label_of(entry)) for entry in missing]
    done = -1

    def tell(phase: str, share: float | None) -> None:
        nonlocal done
        count = round((share or 0) * len(cells))
        if phase == "cells" and count != done:
            done = count
            print(f"{paper}: {count} of {len(cells)} cells", flush=True)
            tidy(folder)

    try:
        result = run_sweep(cells, folder, workers=workers, progress=tell)
    except ValueError as error:
        print(f"{paper}: {error}", flush=True)
        return
    tidy(folder)
    for label, failed in result.failures:
        print(f"{paper}: {label}: {failed.line}", flush=True)


def tidy(folder: Path) -> None:
    """Remove the devices of finished cells: a table needs their results alone."""
    for result in folder.glob("*/result.json"):
        for state in result.parent.glob("state*"):
            shutil.rmtree(state, ignore_errors=True)


def rows_of(entries: Sequence[Entry], folder: Path) -> list[Row]:
    """Return the cells with the results that are there, on whatever page they were run."""
    others = sorted(folder.parent.glob("*/")) if folder.parent.is_dir() else []
    results: dict[str, Any] = {}
    for other in others:
        for digest, found in results_in(other).items():
            results.setdefault(digest, found)
    runnable = [entry for entry in entries if not entry.absent]
    digests = dict(zip(map(id, runnable), _digests(runnable), strict=True))
    rows = []
    for entry in entries:
        digest = digests.get(id(entry))
        found = results.get(digest, ()) if isinstance(digest, str) else ()
        record = found[0][1] if found else None
        why = f"not run: {entry.absent}" if entry.absent else digest.line if isinstance(digest, Failed) else NOT_HERE
        rows.append(Row(entry, _ours(record), record, "" if record else why))
    return rows


def distinct(entries: Sequence[Entry]) -> list[Entry]:
    """Return the cells without those that are the same run as an earlier one."""
    first: dict[str, Entry] = {}
    for entry, digest in zip(entries, _digests(entries), strict=True):
        first.setdefault(digest if isinstance(digest, str) else label_of(entry), entry)
    return list(first.values())


def _digests(entries: Sequence[Entry]) -> list[str | Failed]:
    """Return every cell's config hash, with each data set read once."""
    by_people: dict[str, list[int]] = {}
    for place, entry in enumerate(entries):
        by_people.setdefault(entry.options.dataset, []).append(place)
    found: dict[int, str | Failed] = {}
    for places in by_people.values():
        found.update(zip(places, check_cells([entries[place].options for place in places]), strict=True))
    return [found[place] for place in range(len(entries))]


def _ours(record: Mapping[str, Any] | None) -> Figure | None:
    if record is None:
        return None
    tests = record["accuracy"]["per_repeat"]
    return Figure(100 * record["accuracy"]["test"], 100 * (record["accuracy"]["std"] or 0.0), len(tests))


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
    ending = "; those are explained below." if off else "."
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
    notes = HERE / "notes" / f"{paper}.md"
    if notes.is_file():
        parts.append(notes.read_text().strip())
    parts += _commands(paper, rows)
    return "\n\n".join(parts) + "\n"


_RULE = """Test accuracy in %, mean ± standard deviation of single runs (number of runs). "Agrees" means |difference| <=
max(1.5 points, 3 sqrt(s^2/n + s'^2/n')) with at least ten runs of ours, where a published confidence half-width was
turned into a standard deviation first; otherwise the difference stands there in bold. The last columns are what *holds*
for one collection, by level, not what is claimed. Written by `benchmarks/tables.py`."""


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
        f"by `python benchmarks/tables.py {paper}`"
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


def main() -> None:
    """Run what is missing and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=", ".join(PAPERS))
    parser.add_argument("--home", type=Path, default=Path("runs") / "tables")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--upto", type=int, default=99, metavar="LEVEL")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pages-only", action="store_true")
    given = parser.parse_args()
    papers = given.papers or PAPERS
    if set(papers) - set(PAPERS):
        parser.error(f"there are {', '.join(PAPERS)}")
    home = given.home.absolute()
    os.environ["OMP_NUM_THREADS"] = "1"
    found = {paper: entries_of(paper, home) for paper in papers}
    if given.quick:
        found = {paper: (page, [entry for entry in all_ if entry.quick]) for paper, (page, all_) in found.items()}
    if not given.pages_only:
        for level in sorted({turn(entry) for _, all_ in found.values() for entry in all_}):
            for paper, (_, all_) in found.items():
                wanted = [entry for entry in all_ if turn(entry) == level and not entry.absent]
                if wanted and level <= given.upto:
                    run_cells(paper, wanted, home, given.workers)
    where, rows = home / "quick" if given.quick else RESULTS, dict[str, list[Row]]()
    for paper, (page, all_) in found.items():
        rows[paper] = rows_of(all_, home / paper)
        write_page(paper, page, rows[paper], where)
        print(f"{paper}: {sum(row.ours is not None for row in rows[paper])} of {len(all_)} cells", file=sys.stderr)
    if set(papers) == set(PAPERS):
        write_agreement(rows, where)


if __name__ == "__main__":
    main()
