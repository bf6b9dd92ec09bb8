"""Measurements kept in docs/results/privgnn-measured.csv: one row a measure, the newest value."""

from __future__ import annotations

from benchmarks import RESULTS
from benchmarks.study import read_rows, write_rows

PATH = RESULTS / "privgnn-measured.csv"
COLUMNS = ("measure", "aim", "seen", "beside")


def rows() -> list[dict[str, str]]:
    """Return the kept rows."""
    return read_rows(PATH)


def enter(measure: str, aim: str, seen: str, beside: str) -> None:
    """Write a measure, in place of its earlier value."""
    new = {"measure": measure, "aim": aim, "seen": seen, "beside": beside}
    write_rows(PATH, ({row["measure"]: row for row in rows()} | {measure: new}).values(), COLUMNS)
