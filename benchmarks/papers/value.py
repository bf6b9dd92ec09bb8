"""Runs of the papers' own models with null models: what the private data gained (``docs/results/value.md``).

    make value                                     (LDPSIM_DATA names the data sets; hours)
    python -m benchmarks.papers.value [--minutes 80] [--workers 2] [--upto 1] [--only hogs] [--pages-only]

The cells are those of the papers' pages, with the same options and ten collections. A result below ``--home``
(runs/value) is not run again; what was not run keeps its row of ``docs/results/value.csv``. Turn 1 has every paper,
data set and budget, with the paper's default network, except LPGNN's GitHub; turn 2 has the other pairs of these; turn
3 has the other networks. The papers' pages are written again, with the null models of their runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from benchmarks.papers import lpgnn, rgnn, solitude, tables
from benchmarks.papers.cell_row import KEYS, key_of
from benchmarks.papers.swept import Swept
from benchmarks.papers.table_cell import TableCell
from benchmarks.papers.value_page import NAME, page
from benchmarks.papers.value_picture import PICTURE, draw
from benchmarks.papers.value_row import COLUMNS, budget_of, row_of
from benchmarks.study import Found, Row, Study, main, rows_in

OWN = {"hogs": ("hogs",), "lpgnn": ("lpgnn",), "rgnn": ("rgnn",), "solitude": ("solitude",),
       "blink": ("blink-hard", "blink-soft")}  # fmt: skip
DEFAULT_NETWORK = {"hogs": "gcn", "solitude": "sage", "blink": "gcn"}
NOISE = 1e-6  # an epsilon at which a feature's report says nothing about the feature


@dataclass(frozen=True)
class ValueCell(TableCell):
    """A cell of a paper's page that is run with null models.

    Args:
        page: The paper.
        step: 1, 2 or 3, in the order of the runs.
    """

    page: str = ""
    step: int = 1

    @property
    def turn(self) -> int:
        """Place in the order of the runs."""
        return self.step

    @property
    def label(self) -> str:
        """The cell in one line."""
        return f"{self.page}, {super().label}"

    @property
    def group(self) -> str:
        """The cell without its budget."""
        named = [f"[{self.page}.md]({self.page}.md)", self.table]
        for name in ("data set", "network", "model"):
            if self.keys.get(name) and self.keys[name] not in f"{self.page}, {self.table}".split(", "):
                named.append(self.keys[name])
        return ", ".join(named)


def value_cells(home: Path) -> list[ValueCell]:
    """Return all cells in the order of the pages."""
    found = list[ValueCell]()
    for paper in tables.PAPERS:
        every = tables.cells_of(paper, home)[1] + (list(noise_cells(home)) if paper == "lpgnn" else [])
        for cell in every:
            if cell.keys["model"] in OWN[paper] and not cell.absent and not cell.table.startswith("As the published"):
                given = {each.name: getattr(cell, each.name) for each in fields(TableCell)}
                given["options"] = replace(cell.options, nulls=True)
                found.append(ValueCell(**given, page=paper, step=step_of(paper, cell)))
    return found


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


def rows_of(cell: ValueCell, record: Mapping[str, Any] | None) -> list[Row]:
    """Return the row of a result, none without null models."""
    return [] if record is None or record.get("nulls") is None else [row_of(cell.page, cell, record)]


def page_of(found: Found) -> str:
    """Return the page of the cells that have rows."""
    return page(rows_in(found), [(cell.group, budget_of(cell)) for cell, rows in found if not rows])


def study(home: Path) -> Study:
    """Return the study."""
    return Study(
        name=NAME, cells=value_cells(home), results=Swept(home / "cells"),
        keys=("page", *KEYS), key_of=lambda cell: (cell.page, *key_of(cell)), rows_of=rows_of, page=page_of,
        columns=COLUMNS, picture=PICTURE, draw=draw,
    )  # fmt: skip


def finish(found: Mapping[str, Found], where: Path) -> None:
    """Write the papers' pages again, which show the null models."""
    if where == RESULTS:
        papers = [tables.study_of(paper, (Path("runs") / "tables").absolute()) for paper in tables.PAPERS]
        pages = {paper.name: paper.found() for paper in papers}
        for paper in papers:
            paper.write(pages[paper.name])
        tables.finish(pages, where)


if __name__ == "__main__":
    main(__doc__, "value", lambda home: [study(home)], finish)
