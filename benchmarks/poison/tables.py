"""Rows of lying devices as CSV, and the parts of a page that every kind of them has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import study
from strategies.attacks.campaign import AttackRow
from strategies.attacks.liars.attacks import SILENT
from strategies.attacks.poison.campaign import PoisonCampaign
from strategies.attacks.poison.options import NONE
from strategies.attacks.poison.rows import budget_in_words

COLUMNS = PoisonCampaign.columns
_NUMBERS = set(COLUMNS) - {"method", "attack", "lie", "goal", "knowledge", "defence", "law", "passed"}
_NULLS = ("chance", "graph_alone", "features_alone")
Table = Sequence[AttackRow]
NOTES = Path(__file__).parent / "notes"


def write_rows(rows: Table, path: Path) -> None:
    """Write the rows and, in three more columns, the null models."""
    lines = PoisonCampaign.table_csv(rows).splitlines()
    more = [",".join(_NULLS), *(",".join(f"{row['nulls'][name]:.6f}" if name in row["nulls"] else "" for name in _NULLS)
                                for row in rows)]  # fmt: skip
    path.write_text("".join(f"{line},{nulls}\n" for line, nulls in zip(lines, more, strict=True)))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read :func:`write_rows` back."""
    rows = []
    for given in study.read_rows(path):
        row: dict[str, Any] = {name: given.get(name, "") for name in COLUMNS}  # a table of before lacks later columns
        row |= {name: float(row[name]) if row[name] else None for name in _NUMBERS}
        row["passed"] = {"True": True, "False": False}.get(given["passed"])
        row["nulls"] = {name: float(given[name]) for name in _NULLS if given[name]}
        rows.append(row)
    return rows


def note(name: str) -> list[str]:
    """Return the text that is written by hand."""
    path = NOTES / f"{name}.md"
    return [path.read_text().strip()] if path.is_file() else []


def grouped(rows: Table) -> dict[str, list[Mapping[str, Any]]]:
    """Return the rows of each method and budget, in the order of the measurement."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault(
            ", ".join(part for part in (row["method"], budget_in_words(row["epsilon"])) if part), []
        ).append(row)
    return {title: group for title, group in found.items() if {row["attack"] for row in group} - {NONE, SILENT}}


def defences_table(groups: Mapping[str, Table]) -> str:
    """Return what defences saved and cost, each row beside the same lies without a defence."""
    head = ("| method | lie | share | defence | accuracy %, without | with | liars found % | honest excluded % |\n"
            "|---|---|---|---|---|---|---|---|")  # fmt: skip
    lines = []
    for title, group in groups.items():
        defended = [row for row in group if row["defence"] != NONE]
        for row in sorted(defended, key=lambda row: (row["defence"], *order(row))):
            name = "nobody lies" if row["attack"] == NONE else f"`{row['attack']}` {row['lie']}"
            lines.append(f"| {title} | {name} | {percent(row['share'])} | `{row['defence']}` | "
                         f"{number(_hundred(_undefended(row)), 1)} | "
                         f"{100 * row['accuracy']:.1f} | {number(_hundred(row['found']), 1)} | "
                         f"{number(_hundred(row['false_alarms']), 2)} |")  # fmt: skip
    return "\n".join([head, *lines]) if lines else "No defence was run."


def _undefended(row: Mapping[str, Any]) -> float | None:
    """Return the accuracy of the same repeats without the defence."""
    gained = row["vs_undefended"]
    return None if gained is None else float(row["accuracy"] - gained)


def _hundred(value: float | None) -> float | None:
    return None if value is None else 100 * value


def percent(share: float) -> str:
    """Return a share in per cent."""
    return f"{100 * share:g} %"


def points(value: float) -> str:
    """Return a difference in points, with its sign."""
    return f"{round(100 * value, 1) + 0.0:+.1f}"


def number(value: float | None, digits: int) -> str:
    """Return a figure; nothing for None."""
    return "" if value is None else f"{value:,.{digits}f}"


def order(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the place of a row: nobody, silence, then each lie by its share."""
    return {NONE: 0, SILENT: 1}.get(row["attack"], 2), row["attack"], row["lie"], row["share"]
