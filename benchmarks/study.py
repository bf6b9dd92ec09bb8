"""A study: cells that are measured once each, the rows of each, and a page that is made of the rows alone.

The rows stand in ``docs/results/NAME.csv``. They are kept: a cell without a new result keeps its rows, so a page is
written again without any measurement. New results wait below ``--home``; a study that was stopped goes on there.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from benchmarks import RESULTS

Row = Mapping[str, str]
Found = Sequence[tuple[Any, Sequence[Row]]]  # each cell with its rows; none if it was not measured


class Results(Protocol):
    """The results of cells: a later call finds what an earlier one measured."""

    def run(self, cells: Sequence[Any], *, workers: int, until: float) -> None:
        """Measure the cells that have no result; none starts after ``until`` (``time.monotonic``)."""

    def found(self, cells: Sequence[Any]) -> Sequence[Any]:
        """Return the result of each cell, None without one."""


@dataclass(frozen=True)
class Measured:
    """Results of a function of a cell, in a file that only grows.

    Args:
        file: The file; its lines have a cell and its result.
        measure: Cell, a dataclass -> result. Both go through JSON.
    """

    file: Path
    measure: Callable[[Any], Any]

    def run(self, cells: Sequence[Any], *, workers: int, until: float) -> None:
        """Measure the cells without a result, some at a time, and keep each result when it is there."""
        missing = [cell for cell, result in zip(cells, self.found(cells), strict=True) if result is None]
        if not missing:
            return
        self.file.parent.mkdir(parents=True, exist_ok=True)
        pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
        waiting = {pool.submit(self.measure, cell): cell for cell in missing}
        try:
            for future in as_completed(waiting):
                cell, result = waiting[future], future.result()
                with self.file.open("a") as file:
                    file.write(json.dumps({"cell": asdict(cell), "row": result}) + "\n")
                print(cell, flush=True)
                if time.monotonic() >= until:
                    return
        finally:
            pool.shutdown(cancel_futures=True)  # at the time, or where a cell fails, no other one starts

    def found(self, cells: Sequence[Any]) -> list[Any]:
        """Return the kept results."""
        lines = self.file.read_text().splitlines() if self.file.is_file() else ()
        kept = {json.dumps(entry["cell"]): entry["row"] for entry in map(json.loads, lines)}
        return [kept.get(json.dumps(asdict(cell))) for cell in cells]


@dataclass(frozen=True)
class Study:
    """A page of measured cells.

    Args:
        name: Name of the page and its table.
        cells: What is measured. A cell may have a ``turn`` (the smallest one runs first), a ``label`` and ``quick``.
        results: Where the results are.
        keys: Columns that name a cell.
        key_of: Cell -> the values of these columns.
        rows_of: Cell and result -> its rows; the result is None where there is none.
        page: Cells and rows -> the text; None: the study has no page of its own.
        columns: Columns of the table; empty: those of the first row.
        figure: Column that has a figure in every row of a measured cell.
        prepare: Called before cells run.
        picture: Path of a picture beside the page.
        draw: Draws it from the rows; called where the table has changed, or the picture is not there.
    """

    name: str
    cells: Sequence[Any]
    results: Results
    keys: Sequence[str]
    key_of: Callable[[Any], tuple[str, ...]]
    rows_of: Callable[[Any, Any], Sequence[Row]]
    page: Callable[[Found], str] | None
    columns: Sequence[str] = ()
    figure: str = "accuracy"
    prepare: Callable[[], None] = lambda: None
    picture: str = ""
    draw: Callable[[Sequence[Row], Path], None] = lambda rows, path: None

    def found(self, where: Path = RESULTS) -> list[tuple[Any, Sequence[Row]]]:
        """Return each cell with its rows: of its result, or the kept ones."""
        kept: dict[tuple[str, ...], list[Row]] = {}
        for row in read_rows(where / f"{self.name}.csv"):
            if row[self.figure]:
                kept.setdefault(tuple(row[name] for name in self.keys), []).append(row)
        found = []
        for cell, result in zip(self.cells, self.results.found(self.cells), strict=True):
            rows = self.rows_of(cell, result)
            fresh = any(row[self.figure] for row in rows)
            found.append((cell, rows if fresh else kept.get(self.key_of(cell), rows)))
        return found

    def write(self, found: Found, where: Path = RESULTS) -> None:
        """Write table, page and picture."""
        where.mkdir(parents=True, exist_ok=True)
        rows, table = rows_in(found), where / f"{self.name}.csv"
        before = read_rows(table)
        if rows or self.columns:
            write_rows(table, rows, self.columns)
        if self.page is not None:
            (where / f"{self.name}.md").write_text(self.page(found))
        if self.picture and rows and (rows != before or not (where / self.picture).is_file()):
            self.draw(rows, where / self.picture)


def rows_in(found: Found) -> list[Row]:
    """Return the rows of all cells."""
    return [row for _, rows in found for row in rows]


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table; none if there is no table."""
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> None:
    """Write a table; ``columns`` empty: those of the first row."""
    rows = list(rows)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns or list(rows[0]), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main(
    doc: str | None,
    home: str,
    studies: Callable[[Path], Sequence[Study]],
    finish: Callable[[Mapping[str, Found], Path], None] = lambda found, where: None,
    where: Path = RESULTS,
) -> None:
    """Measure what is missing and write the pages.

    Args:
        doc: Help of the command.
        home: Name of the folder of the results below ``runs``.
        studies: Folder of the results -> the studies.
        finish: Called with what was found, by study, and the folder of the pages, after they are written.
        where: Folder of the pages.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", metavar="NAME", help="pages; all if none is named")
    parser.add_argument("--home", type=Path, default=Path("runs") / home)
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--minutes", type=float, default=math.inf, help="no cell starts after this time")
    parser.add_argument("--upto", type=int, default=99, metavar="TURN", help="leave out the cells of later turns")
    parser.add_argument("--only", default="", metavar="TEXT", help="measure the cells whose line has it")
    parser.add_argument("--quick", action="store_true", help="one column of each table, with pages below --home")
    parser.add_argument("--pages-only", action="store_true", help="measure nothing")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    until, where = time.monotonic() + 60 * given.minutes, given.home / "quick" if given.quick else where
    every = {study.name: study for study in studies(given.home.absolute())}
    if unknown := set(given.studies) - set(every):
        parser.error(f"{', '.join(sorted(unknown))}: there are {', '.join(every)}")
    chosen = [every[name] for name in given.studies or every]
    wanted = [(turn_of(cell), study, cell) for study in chosen for cell in study.cells
              if given.only in f"{study.name}, {label_of(cell)}" and (not given.quick or getattr(cell, "quick", False))
              and turn_of(cell) <= given.upto and not given.pages_only]  # fmt: skip
    for study in {study.name: study for _, study, _ in wanted}.values():
        study.prepare()
    for turn in sorted({turn for turn, _, _ in wanted}):
        for study in chosen:
            cells = [cell for each, of, cell in wanted if each == turn and of is study]
            if cells and time.monotonic() < until:
                study.results.run(cells, workers=given.workers, until=until)
    pages: dict[str, Found] = {}
    for study in chosen:
        found = study.found(where)
        pages[study.name] = [one for one in found if not given.quick or getattr(one[0], "quick", False)]
        study.write(pages[study.name], where)
        done = sum(any(row[study.figure] for row in rows) for _, rows in pages[study.name])
        print(f"{study.name}: {done} of {len(pages[study.name])} cells", file=sys.stderr)
    finish(pages, where)


def turn_of(cell: Any) -> int:
    """Return a cell's place in the order of the runs."""
    return int(getattr(cell, "turn", 0))


def label_of(cell: Any) -> str:
    """Return a cell in one line."""
    return str(getattr(cell, "label", cell))
