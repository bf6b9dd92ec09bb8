"""Result of a table's cell, from a run's record or from the table that is kept in ``docs/results``."""

from __future__ import annotations

import csv
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.papers.agreement import AGREES, OFF, Accuracy, bound, judge
from benchmarks.papers.table_cell import NOT_HERE, Page, TableCell, command
from strategies.results.levels import compared_loss


@dataclass(frozen=True)
class CellResult:
    """A cell and its result.

    Args:
        cell: The cell.
        ours: Its accuracy; None if the cell was not run.
        held: Loss that holds, by level, as text.
        collections: Number of collections that the result took.
        config_hash: Hash of the run's configuration.
        why: Reason why there is no result; empty if there is one.
        row: The kept table's row, if the result comes from there. Its figures are written again as
            they are: they were rounded once and are not rounded a second time.
        shown: The accuracy on the kept page, likewise.
    """

    cell: TableCell
    ours: Accuracy | None
    held: Mapping[str, str] = field(default_factory=dict)
    collections: str = ""
    config_hash: str = ""
    why: str = ""
    row: Mapping[str, str] = field(default_factory=dict)
    shown: str = ""

    @property
    def judgement(self) -> str:
        """One of ``AGREES``, ``ABOVE`` and ``OFF``; empty without two figures or with too few runs."""
        ours, paper = self.ours, self.cell.paper
        if ours is None or paper is None:
            return ""
        difference, may_differ_by = ours.mean - paper.mean, bound(ours, paper)
        if self.row:
            difference, may_differ_by = float(self.row["difference"]), float(self.row["may_differ_by"])
        return judge(ours.runs, difference, may_differ_by, lower_bound=bool(self.cell.lower_bound))


def counts(results: Iterable[CellResult]) -> Counter[str]:
    """Return how many cells have each judgement; those without one are not counted."""
    return Counter(result.judgement for result in results if result.judgement)


def from_record(cell: TableCell, record: Mapping[str, Any]) -> CellResult:
    """Return a cell's result from a run's ``result.json``."""
    accuracy, privacy = record["accuracy"], record["privacy"]
    ours = Accuracy(100 * accuracy["test"], 100 * (accuracy["std"] or 0.0), len(accuracy["per_repeat"]))
    held = {
        level: f"{compared_loss(found):.4g}" if found["status"] == "bounded" else str(found["status"])
        for level, found in privacy["holds"].items()
    }
    collections = privacy["collections"] + privacy.get("searched", 0)
    return CellResult(cell, ours, held, str(collections), record["config_hash"])


def without_result(cell: TableCell, why: str = NOT_HERE) -> CellResult:
    """Return a cell that was not run."""
    return CellResult(cell, None, why=f"not run: {cell.absent}" if cell.absent else why)


def compared(result: CellResult) -> str:
    """Return the comparison with the paper's accuracy, in words."""
    ours, paper = result.ours, result.cell.paper
    if ours is None or paper is None:
        return "-"
    printed = re.search(r"[+-]\d+\.\d", result.row.get("comparison", ""))
    difference = printed.group() if printed else f"{ours.mean - paper.mean:+.1f}"
    if not result.judgement:
        return f"{difference}, {ours.runs} runs"
    if result.judgement == OFF:
        return f"**{difference}**"
    return result.judgement if result.judgement == AGREES else f"{result.judgement} ({difference})"


def write_table(path: Path, page: Page, results: Sequence[CellResult]) -> None:
    """Write a page's cells as a table; :func:`kept` reads it again."""
    names = list(dict.fromkeys(name for result in results for name in result.cell.keys))
    levels = [f"holds_{level}" for level in page.levels.values()]
    columns = ["table", *names, "n", "accuracy", "std", "paper", "paper_std", "paper_runs", "difference",
               "may_differ_by", "comparison", "measured", "measured_std", "measured_runs", *levels, "collections",
               "config_hash", "command"]  # fmt: skip
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(_kept_row(result) if result.row else _row(result, page) for result in results)


def _kept_row(result: CellResult) -> Mapping[str, object]:
    """Return a kept row with the comparison that the rule gives today."""
    compares = result.cell.paper is not None
    return {**result.row, **({"comparison": compared(result).strip("*")} if compares else {})}


def _row(result: CellResult, page: Page) -> Mapping[str, object]:
    cell, ours, paper = result.cell, result.ours, result.cell.paper
    row: dict[str, object] = {"table": cell.table, **cell.keys, "n": result.why, "command": command(cell.options),
                              "collections": result.collections, "config_hash": result.config_hash}  # fmt: skip
    row |= {f"holds_{level}": result.held.get(level, "-") for level in page.levels.values()}
    if ours:
        row |= {"n": ours.runs, "accuracy": _two(ours.mean), "std": _two(ours.std)}
    if paper:
        row |= {"paper": paper.mean, "paper_std": _two(paper.std), "paper_runs": paper.runs}
    if ours and paper:
        row |= {"difference": _two(ours.mean - paper.mean), "may_differ_by": _two(bound(ours, paper)),
                "comparison": compared(result).strip("*")}  # fmt: skip
    if cell.measured:
        row |= {"measured": cell.measured.mean, "measured_std": _two(cell.measured.std),
                "measured_runs": cell.measured.runs}  # fmt: skip
    return row


def kept(folder: Path, paper: str, page: Page, cells: Sequence[TableCell]) -> list[CellResult]:
    """Return the cells with the results that a written table and its page hold.

    A row belongs to a cell if the heading, the keys and the command are the same.
    """
    lines = lines_of(folder / f"{paper}.md")
    rows: dict[tuple[str, str], dict[str, str]] = {}
    if (folder / f"{paper}.csv").is_file():
        with (folder / f"{paper}.csv").open() as file:
            rows = {(row["table"], row["command"]): row for row in csv.DictReader(file)}
    found = []
    for cell in cells:
        row = rows.get((cell.table, command(cell.options)), {})
        heads, *below = lines.get(cell.table, [""])
        line = next((line for line in below if _names(line, cell, row)), "")
        if line and row["accuracy"] and all(row.get(name) == value for name, value in cell.keys.items()):
            ours = Accuracy(float(row["accuracy"]), float(row["std"]), int(row["n"]))
            held = {level: row[f"holds_{level}"] for level in page.levels.values()}
            found.append(CellResult(cell, ours, held, row["collections"], row["config_hash"], row=row,
                                    shown=cells_of_line(line)[cells_of_line(heads).index("ours")]))  # fmt: skip
        else:
            found.append(without_result(cell))
    return found


def cells_of_line(line: str) -> list[str]:
    """Return the cells of a table's line."""
    return line.strip("|").strip().split(" | ")


def lines_of(page: Path) -> dict[str, list[str]]:
    """Return the lines of a page's tables by heading; each table's own heads come first."""
    lines: dict[str, list[str]] = {}
    heading = ""
    for line in page.read_text().splitlines() if page.is_file() else ():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith("| "):
            lines.setdefault(heading, []).append(line)
    return lines


def _names(line: str, cell: TableCell, row: Mapping[str, str]) -> bool:
    """Return whether a page's line is the one of this cell: its keys stand first, in the table's order."""
    names = [name for name in row if name in cell.keys]
    return line.startswith("| " + " | ".join(cell.keys[name] for name in names) + " | ") and bool(names)


def _two(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"
