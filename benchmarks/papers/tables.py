"""The papers' accuracy tables in ``docs/results``: our figures, theirs, and whether they agree.

    make tables                                    (LDPSIM_DATA names the data sets; hours)
    python -m benchmarks.papers.tables [rgnn lpgnn ...] [--workers 2] [--upto 1] [--quick] [--pages-only]

Every cell is ten simulated collections, in a sweep's folder below ``--home`` (runs/tables), so a killed run
continues. The most important cells run first (``--upto``). ``--pages-only`` writes the pages of the kept rows again
and needs no data. ``--quick`` runs one column of each table and writes its pages below ``--home``.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from benchmarks import RESULTS
from benchmarks.papers.agreement_page import NAME, agreement
from benchmarks.papers.cell_row import KEYS, CellRow, columns_of, key_of, row_of
from benchmarks.papers.index import write_index
from benchmarks.papers.pages import markdown
from benchmarks.papers.swept import Swept
from benchmarks.papers.table_cell import Page, TableCell
from benchmarks.study import Found, Study, main

PAPERS = ("rgnn", "lpgnn", "blink", "solitude", "hogs")
DATA = "data"  # folder of data sets that are made from others


def cells_of(paper: str, home: Path) -> tuple[Page, list[TableCell]]:
    """Return a paper's page and its cells."""
    module = importlib.import_module(f"benchmarks.papers.{paper}")
    return module.PAGE, list(module.cells(home / DATA))


def study_of(paper: str, home: Path) -> Study:
    """Return the study of a paper."""
    page, cells = cells_of(paper, home)
    prepare = getattr(importlib.import_module(f"benchmarks.papers.{paper}"), "prepare", lambda data: None)
    return Study(
        name=paper, cells=cells, results=Swept(home / paper), keys=KEYS, key_of=key_of,
        rows_of=lambda cell, record: [row_of(page, cell, record)], columns=columns_of(page, cells),
        page=lambda found: markdown(paper, page, cell_rows(found)), prepare=partial(prepare, home / DATA),
    )  # fmt: skip


def cell_rows(found: Found) -> list[CellRow]:
    """Return each cell with its one row."""
    return [(cell, row) for cell, (row,) in found]


def finish(found: Mapping[str, Found], where: Path) -> None:
    """Write the page about all papers, if all are there, and the index."""
    if set(found) == set(PAPERS):
        (where / NAME).write_text(agreement({paper: cell_rows(found[paper]) for paper in PAPERS}))
    if where == RESULTS:
        write_index(where)


if __name__ == "__main__":
    main(__doc__, "tables", lambda home: [study_of(paper, home) for paper in PAPERS], finish)
