"""The accuracy tables of ``docs/results``: ours, the papers', and whether they agree.

    make tables                                    (LDPSIM_DATA names the data sets; very long)
    python -m benchmarks.papers.tables [rgnn lpgnn ...] [--workers 2] [--upto 1] [--quick] [--pages-only]

Every cell is ten simulated collections, run by the machinery of ``ldpsim sweep`` below
``--home`` (runs/tables): a killed run goes on where it was, and pages are written from the
cells that are there, at any time. Cells come in levels, the most wanted first (``--upto``).
``--quick`` runs and shows one column of each table, in a page of its own below ``--home``.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.papers.agreement import Figure
from benchmarks.papers.entry import NOT_HERE, Entry, Page
from benchmarks.papers.pages import Row, write_agreement, write_page
from strategies.experiments.pool import Failed
from strategies.experiments.sweep import check_cells, results_in, run_sweep
from strategies.experiments.sweep_file import Cell

HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "results"
PAPERS = ("rgnn", "lpgnn", "blink", "solitude", "hogs")
DATA = "data"


def entries_of(paper: str, home: Path) -> tuple[Page, list[Entry]]:
    """Return what a paper's page says and its cells."""
    module = importlib.import_module(f"benchmarks.papers.{paper}")
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
