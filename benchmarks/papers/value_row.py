"""Null models and verdict of one cell: a row of ``docs/results/value.csv``, in percent and points."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.papers.table_cell import TableCell, command
from benchmarks.study import Row

TABLE = "value.csv"
ATTRIBUTES = {"features": "features", "adjacency": "edges", "label": "labels", "all": "all"}
ALONE = {"graph_alone": "graph alone", "features_alone": "features alone"}
NULLS = {**ALONE, **{f"shuffled_{name}": f"{shown} of others" for name, shown in ATTRIBUTES.items()}}
_NO_BUDGET = ("data set", "network", "model", "features")
_FIGURES = [
    "n", "accuracy", "std", "chance", *(column for name in NULLS for column in (name, f"{name}_std")),
    *(f"bought_{name}{end}" for name in ATTRIBUTES for end in ("", "_low", "_high")),
    "margin", "margin_low", "margin_high",
]  # fmt: skip
COLUMNS = ["page", "table", "data set", "network", "model", "budget", *_FIGURES, "above_chance", "above_nulls",
           "verdict", "config_hash", "cpu_seconds", "command"]  # fmt: skip

ValueRow = Row


def row_of(page: str, cell: TableCell, record: Mapping[str, Any]) -> ValueRow:
    """Return a cell's row from its ``result.json``.

    Raises:
        ValueError: The run took no null models.
    """
    accuracy, nulls, verdict = record["accuracy"], record.get("nulls"), record.get("verdict")
    if nulls is None or verdict is None:
        raise ValueError(f"{page}, {cell.table}: the result of {record['config_hash']} has no null models")
    row = {
        "page": page, "table": cell.table, "data set": cell.keys["data set"], "network": cell.keys.get("network", ""),
        "model": cell.keys["model"],
        "budget": budget_of(cell),
        "n": str(len(accuracy["per_repeat"])), "accuracy": _percent(accuracy["test"]), "std": _percent(accuracy["std"]),
        "chance": _percent(nulls["chance"]["test"]), "above_chance": _word(verdict["above_chance"]),
        "above_nulls": _word(verdict["above_nulls"]), "verdict": verdict["text"],
        "config_hash": record["config_hash"], "command": command(cell.options),
        "cpu_seconds": f"{record['seconds']['cpu']:.0f}" if "cpu" in record["seconds"] else "",
    }  # fmt: skip
    found = {name: nulls[name] for name in ALONE} | {f"shuffled_{name}": nulls["shuffled"].get(name)
                                                    for name in _told_apart(nulls["shuffled"])}  # fmt: skip
    for name, figures in found.items():
        if figures is not None:
            row |= {name: _percent(figures["test"]), f"{name}_std": _percent(figures["std"])}
    gains = {f"bought_{name}": verdict["bought"].get(name) for name in _told_apart(verdict["bought"])}
    for name, gain in (gains | {"margin": verdict["margin"]}).items():
        if gain is not None:
            row |= {name: _percent(gain["value"]), **{f"{name}_{end}": _percent(gain[end]) for end in ("low", "high")}}
    return {column: row.get(column, "") for column in COLUMNS}


def budget_of(cell: TableCell) -> str:
    """Return a cell's budget with its names."""
    return ", ".join(f"{name} {value}" for name, value in cell.keys.items() if name not in _NO_BUDGET)


def _told_apart(shuffled: Mapping[str, Any]) -> list[str]:
    """Return the shuffled attributes; ``all`` of a single one would be the same figures twice."""
    return [name for name in ATTRIBUTES if name in shuffled and not (name == "all" and len(shuffled) == 2)]


def null_heads() -> list[str]:
    """Return the headings of :func:`null_cells`."""
    return ["chance", *ALONE.values(), NULLS["shuffled_features"], "gained by features"]


def null_cells(row: ValueRow) -> list[str]:
    """Return a row's null models and what the private features gained; ``-`` without a figure."""
    return [
        *(with_spread(row, name) for name in ("chance", *ALONE, "shuffled_features")),
        interval(row, "bought_features"),
    ]


def with_spread(row: ValueRow, name: str, spread: str = "") -> str:
    """Return a figure with its standard deviation."""
    value, std = row.get(name), row.get(spread or f"{name}_std")
    return "-" if not value else f"{float(value):.1f} ± {float(std):.1f}" if std else f"{float(value):.1f}"


def interval(row: ValueRow, name: str) -> str:
    """Return a difference in points with its 95 % interval."""
    value, low, high = (row.get(f"{name}{end}") for end in ("", "_low", "_high"))
    return f"{float(value):+.1f} ({float(low):+.1f} to {float(high):+.1f})" if value and low and high else "-"


def judgement(row: ValueRow) -> str:
    """Return a row's verdict in a few words.

    >>> judgement({"above_chance": "yes", "above_nulls": "no", "margin_high": "-0.50"})
    'below the best null'
    """
    chance = "" if row["above_chance"] == "yes" else "not above chance; "
    if row["above_nulls"] == "yes":
        return f"{chance}above every null"
    if not row.get("margin_high"):
        return f"{chance}no other null"
    return chance + (
        "below the best null" if float(row["margin_high"]) < 0 else "as the best null, within the interval"
    )


def _percent(value: float | None) -> str:
    return "" if value is None else f"{100 * value:.2f}"


def _word(value: bool | None) -> str:
    return "" if value is None else "yes" if value else "no"
