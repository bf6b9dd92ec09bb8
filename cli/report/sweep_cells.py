"""Cells of a sweep, as the table in its folder lists them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from ldpsim.strategies.foreign_text import from_csv_cell
from ldpsim.strategies.results.folder import COMPARISON

TABLE = "table.csv"
_POPULATION = "population_seed"


@dataclass(frozen=True)
class SweepCells:
    """Content of a sweep's table.

    Args:
        folders: Folders of the cells that have a result; None if the table does not say.
        varies_people: Whether cells differ in the seed of the population.
        failed: (method, reason) of the cells that failed.
    """

    folders: frozenset[str] | None
    varies_people: bool
    failed: tuple[tuple[str, str], ...]


def cells_of(folder: Path) -> SweepCells | None:
    """Return the cells of a sweep's folder; None for another folder, a comparison's among them.

    Raises:
        ValueError: if the table cannot be read.
    """
    if (folder / COMPARISON).exists():
        return None
    try:
        with (folder / TABLE).open(newline="", encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
    except FileNotFoundError:
        return None
    except (OSError, csv.Error, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from None
    named = [from_csv_cell(row["folder"]) for row in rows if row.get("folder")]
    return SweepCells(
        frozenset(named) if named else None,
        len({row.get(_POPULATION) for row in rows}) > 1,
        tuple(
            (str(row.get("method")), from_csv_cell(str(row.get("error"))))
            for row in rows
            if row.get("status") == "failed"
        ),
    )
