"""Runs of the papers' own models with null models: what the private data bought (``docs/results/value.md``).

    make value                                     (LDPSIM_DATA names the data sets; hours)
    python -m benchmarks.papers.value [hogs lpgnn ...] [--minutes 80] [--workers 2] [--upto 1] [--skip github ...]
    python -m benchmarks.papers.value --plan | --pages-only

The cells are those of the papers' pages, with the same options and ten collections. A result
below ``--home`` (runs/value) is not run again; what was not run keeps its row of
``docs/results/value.csv``. Step 1 has every paper, data set and budget, with the paper's default
network, except LPGNN's GitHub; step 2 has the other pairs of these; step 3 has the other networks. ``--plan`` prints
the cells and their cost, measured on one core.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import RESULTS
from benchmarks.papers import hogs, lpgnn, rgnn, solitude
from benchmarks.papers.table_cell import TableCell, command
from benchmarks.papers.tables import (
    PAPERS,
    TimeIsUp,
    cells_of,
    label_of,
    records_of,
    run_cells,
    write_pages,
)
from benchmarks.papers.value_page import NAME, page
from benchmarks.papers.value_picture import PICTURE, draw
from benchmarks.papers.value_row import TABLE, ValueRow, budget_of, read_rows, row_of, write_rows

OWN = {"hogs": ("hogs",), "lpgnn": ("lpgnn",), "rgnn": ("rgnn",), "solitude": ("solitude",),
       "blink": ("blink-hard", "blink-soft")}  # fmt: skip
DEFAULT_NETWORK = {"hogs": "gcn", "solitude": "sage", "blink": "gcn"}
CELLS = "cells"
NOISE = 1e-6  # an epsilon at which a feature's report says nothing about the feature
# CPU seconds of one cell, by paper and data set, measured on one core of the machine of docs/results.
SECONDS = {
    "hogs": {"cora": 40, "citeseer": 60},
    "lpgnn": {"cora": 75, "citeseer": 80, "pubmed": 475, "facebook": 700, "github": 2000},
    "rgnn": {"cora": 42, "citeseer": 53, "german": 16, "student": 12, "dblp": 200, "facebook": 250},
    "solitude": {"cora": 130, "citeseer": 150, "citeseer-lcc": 110},
    "blink": {"cora": 58, "citeseer": 70},
}
SECONDS_OF_TABLE = {hogs.PRIVATE: 180, lpgnn.CCS: 190}  # of two private attributes


@dataclass(frozen=True)
class ValueCell:
    """A cell of a paper's page that is run with null models.

    Args:
        page: The paper.
        cell: The cell.
        step: 1, 2 or 3, in the order of the runs.
        place: Place among the cells of all pages, in the pages' order.
    """

    page: str
    cell: TableCell
    step: int
    place: int = 0

    @property
    def seconds(self) -> int:
        """Estimated CPU seconds."""
        return SECONDS_OF_TABLE.get(self.cell.table) or SECONDS[self.page][self.cell.keys["data set"]]

    @property
    def label(self) -> str:
        """The cell in one line."""
        return f"{self.page}, {label_of(self.cell)}"

    @property
    def group(self) -> str:
        """The cell without its budget."""
        keys = self.cell.keys
        named = [f"[{self.page}.md]({self.page}.md)", self.cell.table]
        for name in ("data set", "network", "model"):
            if keys.get(name) and keys[name] not in f"{self.page}, {self.cell.table}".split(", "):
                named.append(keys[name])
        return ", ".join(named)


def value_cells(home: Path) -> list[ValueCell]:
    """Return all cells in the order of the runs: by step, and the cheaper ones first."""
    found = list[ValueCell]()
    for paper in PAPERS:
        every = cells_of(paper, home)[1] + (list(noise_cells(home)) if paper == "lpgnn" else [])
        for cell in every:
            if cell.keys["model"] in OWN[paper] and not cell.absent and not cell.table.startswith("As the published"):
                nulls = replace(cell, options=replace(cell.options, nulls=True))
                found.append(ValueCell(paper, nulls, step_of(paper, cell), len(found)))
    return sorted(found, key=lambda one: (one.step, one.seconds))


def noise_cells(home: Path) -> Iterator[TableCell]:
    """Yield LPGNN's cell on Cora with an epsilon at which the reported features are noise alone."""
    for cell in lpgnn.cells(home):
        keys = cell.keys
        if (cell.table, keys["data set"], keys["eps_x"], keys["model"]) == (lpgnn.SPLITS, "cora", "1", "lpgnn"):
            options = replace(cell.options, epsilon=NOISE)
            yield replace(cell, keys={**keys, "eps_x": f"{NOISE:g}"}, options=options, paper=None)


def step_of(paper: str, cell: TableCell) -> int:
    """Return the step of a cell."""
    keys = cell.keys
    if paper in DEFAULT_NETWORK and keys["network"] != DEFAULT_NETWORK[paper]:
        return 3
    cora = keys["data set"] == "cora"
    if paper == "lpgnn" and cell.table == lpgnn.CCS:
        first = keys["eps_x"] == "1" and keys["eps_y"] in ("1", "2")
    elif paper == "lpgnn" and cell.table == lpgnn.SPLITS:
        first = cora
    elif paper == "lpgnn":
        first = keys["eps_x"] == "1" and keys["data set"] != "github"
    elif paper == "rgnn":
        small = rgnn.SIZES[keys["data set"]] < 2
        first = cora or (keys["eps_x"] == "1" and (keys["eps_y"] == "1" or (keys["eps_y"] == "3" and small)))
    elif paper == "solitude":
        first = cora or float(keys["eps_a"]) in (solitude.BUDGETS[0], solitude.BUDGETS[-1])
    elif paper == "blink":
        first = cora or keys["epsilon"] in ("4", "8")
    else:
        first = True
    return 1 if first else 2


def rows_of(
    cells: Sequence[ValueCell], home: Path, where: Path = RESULTS
) -> tuple[list[ValueRow], list[tuple[str, str]]]:
    """Return the rows of the cells that have a result or a kept row; of the others, name and budget.

    Both are in the order of the pages.
    """
    cells = sorted(cells, key=lambda one: one.place)
    kept = {(row["page"], row["table"], row["command"]): row for row in read_rows(where / TABLE)}
    rows, missing = [], []
    for one, (record, _) in zip(cells, records_of([one.cell for one in cells], home / CELLS), strict=True):
        old = kept.get((one.page, one.cell.table, command(one.cell.options)))
        if record is not None and record.get("nulls") is not None:
            rows.append(row_of(one.page, one.cell, record))
        elif old is not None:
            rows.append(old)
        else:
            missing.append((one.group, budget_of(one.cell)))
    return rows, missing


def plan(cells: Sequence[ValueCell]) -> str:
    """Return the cells and their estimated cost, by step, paper and data set."""
    counted, seconds = Counter[tuple[int, str, str]](), Counter[tuple[int, str, str]]()
    for one in cells:
        key = (one.step, one.page, one.cell.keys["data set"])
        counted[key] += 1
        seconds[key] += one.seconds
    lines = [
        f"step {key[0]}  {key[1]:9} {key[2]:13} {counted[key]:4} cells {seconds[key] / 60:6.0f} CPU minutes"
        for key in sorted(counted)
    ]
    for step in sorted({one.step for one in cells}):
        total = sum(one.seconds for one in cells if one.step == step)
        lines.append(f"step {step}: {sum(one.step == step for one in cells)} cells, {total / 60:.0f} CPU minutes")
    return "\n".join(lines)


def write(rows: Sequence[ValueRow], missing: Sequence[tuple[str, str]], where: Path = RESULTS) -> None:
    """Write the table, the page and the picture."""
    write_rows(rows, where / TABLE)
    (where / NAME).write_text(page(rows, missing))
    draw(rows, where / PICTURE)


def main() -> None:
    """Run the missing cells and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("papers", nargs="*", metavar="PAPER", help=", ".join(PAPERS))
    parser.add_argument("--home", type=Path, default=Path("runs") / "value")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--minutes", type=float, default=math.inf, help="no cell starts after this time")
    parser.add_argument("--upto", type=int, default=3, metavar="STEP")
    parser.add_argument("--skip", nargs="*", default=[], metavar="TEXT", help="leave out cells whose line has it")
    parser.add_argument("--plan", action="store_true", help="print cells and cost, run nothing")
    parser.add_argument("--pages-only", action="store_true")
    given = parser.parse_args()
    if set(given.papers) - set(PAPERS):
        parser.error(f"there are {', '.join(PAPERS)}")
    until = time.monotonic() + 60 * given.minutes
    home = given.home.absolute()
    os.environ["OMP_NUM_THREADS"] = "1"
    every = value_cells(home)
    chosen = [one for one in every if one.page in (given.papers or PAPERS) and one.step <= given.upto
              and not any(word in one.label for word in given.skip)]  # fmt: skip
    if given.plan:
        print(plan(chosen))
        return
    if not given.pages_only:
        try:
            run_cells(CELLS, [one.cell for one in chosen], home, given.workers, until=until)
        except TimeIsUp:
            print(f"{CELLS}: {given.minutes:g} minutes are over", flush=True)
    rows, missing = rows_of(every, home)
    write(rows, missing)
    tables_home = (Path("runs") / "tables").absolute()
    write_pages({paper: cells_of(paper, tables_home) for paper in PAPERS}, tables_home, RESULTS)
    print(f"{len(rows)} of {len(every)} cells have null models", file=sys.stderr)


if __name__ == "__main__":
    main()
