"""Figures that a benchmark saw, kept in docs/results/privgnn-measured.csv: a row a measure, the last one counts."""

from __future__ import annotations

import csv
from pathlib import Path

PATH = Path(__file__).parents[2] / "docs" / "results" / "privgnn-measured.csv"
COLUMNS = ("measure", "aim", "seen", "beside")


def rows() -> list[dict[str, str]]:
    """Return what is there."""
    if not PATH.is_file():
        return []
    with PATH.open() as file:
        return list(csv.DictReader(file))


def enter(measure: str, aim: str, seen: str, beside: str) -> None:
    """Put a row in the place of an earlier one of the same measure."""
    found = {row["measure"]: row for row in rows()}
    found[measure] = {"measure": measure, "aim": aim, "seen": seen, "beside": beside}
    with PATH.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(found.values())
