"""The papers' accuracy tables in ``docs/results``: our figures, theirs, and whether they agree.

    make tables                                    (LDPSIM_DATA names the data sets; hours)
    python -m benchmarks.papers.tables [rgnn lpgnn ...] [--workers 2] [--upto 1] [--quick] [--rows-only]

Every cell is ten simulated collections, in a sweep's folder below ``--home`` (runs/tables), so a killed run
continues. The most important cells run first (``--upto``). A cell without a new result keeps its row.
``--rows-only`` runs nothing. ``--quick`` runs one column of each table and writes its rows below ``--home``.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from benchmarks.papers.cell import KEYS, TableCell, columns_of, row_of
from benchmarks.study import read_rows, write_rows
from ldpsim.strategies.experiments.sweep import check_cells, results_in, run_sweep
from ldpsim.strategies.experiments.sweep_file import Cell

PAPERS = ("rgnn", "lpgnn", "blink", "solitude", "hogs", "featfree", "graph-federated")


def cells_of(paper: str, home: Path) -> tuple[Sequence[str], list[TableCell]]:
    """Return the levels and the cells of a paper's table; data sets that are made from others lie in ``home``."""
    module = importlib.import_module(f"benchmarks.papers.{paper.replace('-', '_')}")
    return module.LEVELS, list(module.cells(home / "data"))


def run_cells(cells: Sequence[TableCell], folder: Path, workers: int) -> None:
    """Run the cells of one turn that have no result in ``folder``, and keep the results alone."""
    runs = {repr(cell.options): Cell(cell.options, cell.label) for cell in cells if not cell.absent}
    if not runs:
        return
    swept = run_sweep(list(runs.values()), folder, workers=workers)
    for label, failed in swept.failures:
        print(f"{folder.name}: {label}: {failed.line}", flush=True)
    for devices in folder.glob("*/state*"):
        shutil.rmtree(devices, ignore_errors=True)


def records_of(cells: Sequence[TableCell], home: Path) -> list[Mapping[str, Any] | None]:
    """Return each cell's ``result.json`` below ``home``, None without one. One run can be a cell of two tables."""
    results = {
        digest: ended[0][1] for folder in sorted(home.glob("*/")) for digest, ended in results_in(folder).items()
    }
    if not results:
        return [None] * len(cells)  # and no data set is read
    by_people: dict[str, list[int]] = {}
    for place, cell in enumerate(cells):
        by_people.setdefault(cell.options.dataset, []).append(place)
    records: dict[int, Mapping[str, Any] | None] = {}
    for places in by_people.values():
        for place, digest in zip(places, check_cells([cells[at].options for at in places]), strict=True):
            records[place] = results.get(digest) if isinstance(digest, str) else None
    return [records[place] for place in range(len(cells))]


def write_table(
    path: Path, levels: Sequence[str], cells: Sequence[TableCell], records: Sequence[Mapping[str, Any] | None]
) -> list[dict[str, str]]:
    """Write the rows of the cells.

    A row of the file stays where its cell has no result, and where the result has the same figures, so that ``commit``
    is the one with which they were made.
    """
    earlier = {tuple(row[name] for name in KEYS): row for row in read_rows(path) if row["accuracy"]}
    rows = []
    for cell, record in zip(cells, records, strict=True):
        row, before = row_of(levels, cell, record), earlier.get(cell.key)
        same = before is not None and all(before.get(name) == row[name] for name in row if name != "commit")
        rows.append(before if before is not None and (record is None or same) else row)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_rows(path, rows, columns_of(levels, cells))
    return rows


def main() -> None:
    """Run what is missing, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", choices=[*PAPERS, []], help="tables; all if none is named")
    parser.add_argument("--home", type=Path, default=Path("runs") / "tables")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--upto", type=int, default=99, metavar="TURN", help="leave out the cells of later turns")
    parser.add_argument("--quick", action="store_true", help="one column of each table, with rows below --home")
    parser.add_argument("--rows-only", action="store_true", help="run nothing")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    home = arguments.home.absolute()
    tables = {paper: cells_of(paper, home) for paper in arguments.papers or PAPERS}
    if arguments.quick:
        tables = {paper: (levels, [cell for cell in cells if cell.quick]) for paper, (levels, cells) in tables.items()}
    turns = sorted({cell.turn for _, cells in tables.values() for cell in cells if cell.turn <= arguments.upto})
    for paper in () if arguments.rows_only else {"rgnn", "lpgnn"} & tables.keys():  # with data made from others
        importlib.import_module(f"benchmarks.papers.{paper}").prepare(home / "data")
    for turn in () if arguments.rows_only else turns:
        for paper, (_, cells) in tables.items():
            run_cells([cell for cell in cells if cell.turn == turn], home / paper, arguments.workers)
    for paper, (levels, cells) in tables.items():
        path = (home / "quick" if arguments.quick else RESULTS) / f"{paper}.csv"
        rows = write_table(path, levels, cells, records_of(cells, home))
        print(f"{path}: {sum(bool(row['ours']) for row in rows)} of {len(rows)} cells")


if __name__ == "__main__":
    main()
