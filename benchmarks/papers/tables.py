"""The papers' accuracy tables in ``docs/results``: our figures, theirs, and whether they agree.

    make tables                                    (LDPSIM_DATA names the data sets; hours)
    python -m benchmarks.papers.tables [rgnn lpgnn ...] [--workers 2] [--upto 1] [--quick] [--pages-only]

Every cell is ten simulated collections. ``ldpsim sweep`` runs the cells below ``--home``
(runs/tables), so a killed run continues. Cells have levels; the most important ones run
first (``--upto``). A page shows a new result where there is one, and the kept table's
otherwise: ``--pages-only`` writes the pages again and needs no data. ``--quick`` runs one
column of each table and writes its pages below ``--home``.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from benchmarks.papers.agreement_page import write_agreement
from benchmarks.papers.cell_result import CellResult, from_record, kept, without_result
from benchmarks.papers.index import write_index
from benchmarks.papers.pages import write_page
from benchmarks.papers.table_cell import Page, TableCell
from benchmarks.papers.value_row import read_rows
from strategies.experiments.failures import Failed
from strategies.experiments.sweep import check_cells, results_in, run_sweep
from strategies.experiments.sweep_file import Cell

PAPERS = ("rgnn", "lpgnn", "blink", "solitude", "hogs")
DATA = "data"


def cells_of(paper: str, home: Path) -> tuple[Page, list[TableCell]]:
    """Return a paper's page and its cells."""
    module = importlib.import_module(f"benchmarks.papers.{paper}")
    return module.PAGE, list(module.cells(home / DATA))


def prepare(paper: str, home: Path) -> None:
    """Write the data sets that a paper's cells need and that are made from others."""
    module = importlib.import_module(f"benchmarks.papers.{paper}")
    if hasattr(module, "prepare"):
        module.prepare(home / DATA)


def turn(cell: TableCell) -> int:
    """Return a cell's place in the order: cells that decide agreement, one column of each table, the rest."""
    return 0 if cell.level == 0 else 1 if cell.quick else 1 + cell.level


def label_of(cell: TableCell) -> str:
    """Return a cell's name in one line."""
    return f"{cell.table}: " + ", ".join(f"{key} {value}" for key, value in cell.keys.items())


class TimeIsUp(Exception):
    """End of the time that a call may run cells."""


def run_cells(paper: str, cells: Sequence[TableCell], home: Path, workers: int, *, until: float = math.inf) -> None:
    """Run the cells that no folder below ``home`` has a result of; keep the results alone.

    Args:
        paper: Name of the folder.
        cells: In the order of the runs.
        home: Folder of the folders.
        workers: Number of cells at a time.
        until: Time of ``time.monotonic`` from which the next cell that ends also ends the others.

    Raises:
        TimeIsUp: at ``until``. Cells that were running continue at the next call.
    """
    folder = home / paper
    missing = [cell for cell, (record, _) in zip(cells, records_of(cells, folder), strict=True)
               if record is None and not cell.absent]  # fmt: skip
    if not missing:
        return
    runs = [Cell(cell.options, label_of(cell)) for cell in missing]
    done = -1

    def tell(phase: str, share: float | None) -> None:
        nonlocal done
        count = round((share or 0) * len(runs))
        if phase == "cells" and count != done:
            done = count
            print(f"{paper}: {count} of {len(runs)} cells", flush=True)
            remove_devices(folder)
            if time.monotonic() >= until and count < len(runs):
                raise TimeIsUp

    try:
        swept = run_sweep(runs, folder, workers=workers, progress=tell)
    except ValueError as error:
        print(f"{paper}: {error}", flush=True)
        return
    remove_devices(folder)
    for label, failed in swept.failures:
        print(f"{paper}: {label}: {failed.line}", flush=True)


def remove_devices(folder: Path) -> None:
    """Remove the devices of finished cells; a table needs their results alone."""
    for result in folder.glob("*/result.json"):
        for state in result.parent.glob("state*"):
            shutil.rmtree(state, ignore_errors=True)


def results_of(cells: Sequence[TableCell], folder: Path) -> list[CellResult]:
    """Return the cells with the results that this folder or one beside it holds."""
    return [
        from_record(cell, record) if record is not None else without_result(cell, *([why] if why else []))
        for cell, (record, why) in zip(cells, records_of(cells, folder), strict=True)
    ]


def records_of(cells: Sequence[TableCell], folder: Path) -> list[tuple[Mapping[str, Any] | None, str]]:
    """Return each cell's ``result.json``, from this folder or one beside it, or the reason why it cannot run."""
    records: dict[str, Any] = {}
    for other in sorted(folder.parent.glob("*/")) if folder.parent.is_dir() else []:
        for config_hash, ended in results_in(other).items():
            records.setdefault(config_hash, ended[0][1])
    if not records:
        return [(None, "")] * len(cells)
    runnable = [cell for cell in cells if not cell.absent]
    digests = dict(zip(map(id, runnable), _digests(runnable), strict=True))
    found = [digests.get(id(cell), "") for cell in cells]
    return [(None, digest.line) if isinstance(digest, Failed) else (records.get(digest), "") for digest in found]


def with_kept(results: Sequence[CellResult], folder: Path, paper: str, page: Page) -> list[CellResult]:
    """Put the kept result in the place of each cell that has no new one."""
    old = kept(folder, paper, page, [result.cell for result in results])
    return [new if new.ours or before.ours is None else before for new, before in zip(results, old, strict=True)]


def distinct(cells: Sequence[TableCell]) -> list[TableCell]:
    """Return the cells without those that are the same run as an earlier one."""
    first: dict[str, TableCell] = {}
    for cell, digest in zip(cells, _digests(cells), strict=True):
        first.setdefault(digest if isinstance(digest, str) else label_of(cell), cell)
    return list(first.values())


def _digests(cells: Sequence[TableCell]) -> list[str | Failed]:
    """Return every cell's config hash, with each data set read once."""
    by_people: dict[str, list[int]] = {}
    for place, cell in enumerate(cells):
        by_people.setdefault(cell.options.dataset, []).append(place)
    found: dict[int, str | Failed] = {}
    for places in by_people.values():
        found.update(zip(places, check_cells([cells[place].options for place in places]), strict=True))
    return [found[place] for place in range(len(cells))]


def write_pages(found: Mapping[str, tuple[Page, Sequence[TableCell]]], home: Path, where: Path) -> None:
    """Write the pages of these papers, and those about all of them if all are there."""
    results: dict[str, list[CellResult]] = {}
    nulls = {row["config_hash"]: row for row in read_rows()}
    for paper, (page, cells) in found.items():
        results[paper] = with_kept(results_of(cells, home / paper), where, paper, page)
        write_page(paper, page, results[paper], where, nulls)
        print(f"{paper}: {sum(one.ours is not None for one in results[paper])} of {len(cells)} cells", file=sys.stderr)
    if set(found) == set(PAPERS):
        write_agreement(results, where)
    if where == RESULTS:
        write_index(where)


def main() -> None:
    """Run the missing cells and write the pages."""
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
    found = {paper: cells_of(paper, home) for paper in papers}
    if given.quick:
        found = {paper: (page, [cell for cell in all_ if cell.quick]) for paper, (page, all_) in found.items()}
    if not given.pages_only:
        for paper in papers:
            prepare(paper, home)
        for level in sorted({turn(cell) for _, all_ in found.values() for cell in all_}):
            for paper, (_, all_) in found.items():
                wanted = [cell for cell in all_ if turn(cell) == level and not cell.absent]
                if wanted and level <= given.upto:
                    run_cells(paper, wanted, home, given.workers)
    write_pages(found, home, home / "quick" if given.quick else RESULTS)


if __name__ == "__main__":
    main()
