"""Measurements kept in docs/results/privgnn-measured.csv: one row a measure, the newest value."""

from __future__ import annotations

import csv

from benchmarks import RESULTS

PATH = RESULTS / "privgnn-measured.csv"
COLUMNS = ("measure", "aim", "seen", "beside")


def rows() -> list[dict[str, str]]:
    """Return the kept rows."""
    if not PATH.is_file():
        return []
    with PATH.open() as file:
        return list(csv.DictReader(file))


def enter(measure: str, aim: str, seen: str, beside: str) -> None:
    """Write a measure, in place of its earlier value."""
    found = {row["measure"]: row for row in rows()}
    found[measure] = {"measure": measure, "aim": aim, "seen": seen, "beside": beside}
    with PATH.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(found.values())
