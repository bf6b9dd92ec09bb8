"""Row of a table's cell: our figures, the paper's, and their comparison. The pages are made of the rows alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.papers.agreement import ABOVE, AGREES, Accuracy, bound, judge
from benchmarks.papers.table_cell import NOT_HERE, Page, TableCell, command
from benchmarks.study import Row
from ldpsim.curator.shown import loss_in_table
from ldpsim.strategies.results.levels import compared_loss

LEVELS = ("relationship", "vector")  # of the page of the agreement
KEYS = ("table", "command")
OURS = ("ours", "n", "accuracy", "std", "collections", "config_hash")
BESIDE = ("difference", "may_differ_by", "comparison")
CellRow = tuple[TableCell, Row]


def key_of(cell: TableCell) -> tuple[str, str]:
    """Return what names a cell's row: the heading of its table and its command."""
    return cell.table, command(cell.options)


def columns_of(page: Page, cells: Iterable[TableCell]) -> list[str]:
    """Return the columns of a page's table."""
    names = dict.fromkeys(name for cell in cells for name in cell.keys)
    return ["table", *names, "n", "accuracy", "std", "ours", "paper", "paper_std", "paper_runs", *BESIDE, "measured",
            "measured_std", "measured_runs", *levels_of(page), "collections", "config_hash", "command"]  # fmt: skip


def levels_of(page: Page) -> list[str]:
    """Return the columns of the losses that hold."""
    return [f"holds_{level}" for level in dict.fromkeys([*page.levels, *LEVELS])]


def row_of(page: Page, cell: TableCell, record: Mapping[str, Any] | None) -> dict[str, str]:
    """Return a cell's row; without a result (``result.json``) it has no figure of ours."""
    row = {"table": cell.table, **cell.keys, **dict.fromkeys((*OURS, *BESIDE), ""), "command": command(cell.options)}
    row |= dict.fromkeys(levels_of(page), "-")
    row |= {"n": f"not run: {cell.absent}" if cell.absent else NOT_HERE}
    for name, figure in (("paper", cell.paper), ("measured", cell.measured)):
        if figure:
            row |= {name: f"{figure.mean}", f"{name}_std": _two(figure.std), f"{name}_runs": f"{figure.runs}"}
    if record is None:
        return row
    ours, privacy = accuracy_of(record), record["privacy"]
    row |= {level: held(privacy["holds"][level.removeprefix("holds_")]) for level in levels_of(page)}
    row |= {"ours": shown(ours), "n": f"{ours.runs}", "accuracy": _two(ours.mean), "std": _two(ours.std),
            "collections": f"{privacy['collections'] + privacy.get('searched', 0)}",
            "config_hash": record["config_hash"]}  # fmt: skip
    if cell.paper:
        difference = ours.mean - cell.paper.mean
        row |= {"difference": _two(difference), "may_differ_by": _two(bound(ours, cell.paper))}
        decided, points = judgement(cell, row), f"{difference:+.1f}"
        row["comparison"] = {AGREES: AGREES, ABOVE: f"{ABOVE} ({points})", "": f"{points}, {ours.runs} runs"}.get(
            decided, points
        )
    return row


def accuracy_of(record: Mapping[str, Any]) -> Accuracy:
    """Return the accuracy of a ``result.json``."""
    found = record["accuracy"]
    return Accuracy(100 * found["test"], 100 * (found["std"] or 0.0), len(found["per_repeat"]))


def held(level: Mapping[str, Any]) -> str:
    """Return a loss that holds, as text; it is never rounded down."""
    return loss_in_table(compared_loss(level)) if level["status"] == "bounded" else str(level["status"])


def shown(accuracy: Accuracy | None) -> str:
    """Return an accuracy with the number of runs."""
    return f"{accuracy} ({accuracy.runs})" if accuracy else "-"


def judgement(cell: TableCell, row: Row) -> str:
    """Return one of ``AGREES``, ``ABOVE`` and ``OFF``; empty without two figures or with too few runs."""
    if not row["difference"]:
        return ""
    figures = int(row["n"]), float(row["difference"]), float(row["may_differ_by"])
    return judge(*figures, lower_bound=bool(cell.lower_bound))


def judged(rows: Sequence[CellRow]) -> Counter[str]:
    """Return how many cells have each judgement; those without one are not counted."""
    return Counter(filter(None, (judgement(cell, row) for cell, row in rows)))


def counts(rows: Sequence[CellRow]) -> Counter[str]:
    """Return how many published figures have each judgement: a figure counts with one cell only."""
    return judged([(cell, row) for cell, row in rows if not cell.again])


def counts_again(rows: Sequence[CellRow]) -> Counter[str]:
    """Return how many cells have each judgement of those whose published figure counts with another cell."""
    return judged([(cell, row) for cell, row in rows if cell.again])


def _two(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"
