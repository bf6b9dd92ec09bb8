"""Rows of measured cells: one curator on one collection, a line of a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """One curator on one collection.

    Args:
        dataset, setting, budget: The column of the table; the budget is empty where nobody is asked.
        seed: Derives split, noise and training.
        method: The curator, as the tables name it.
        parameters: What was set, as ``key=value`` words.
        test, val: Accuracy in percent.
        cpu: CPU seconds of the curator's work, without the collection.
        threads: Threads that the work was allowed.
        question: Fingerprint of the question that was asked, 12 digits; empty where nobody is asked.
        reports: Digest of the reports, 12 digits. Rows with one digest are paired.
        commit: The commit that made the row.
        notes: Further facts of the curator's record, as ``key=value`` words.
    """

    dataset: str
    setting: str
    budget: str
    seed: int
    method: str
    parameters: str
    test: float
    val: float
    cpu: float
    threads: int
    question: str
    reports: str
    commit: str
    notes: str = ""

    @property
    def key(self) -> tuple[str, str, str, int, str, str]:
        """Identity of the row: a row that is there is not measured again."""
        return self.dataset, self.setting, self.budget, self.seed, self.method, self.parameters


_NUMBERS = {"seed": int, "threads": int, "test": float, "val": float, "cpu": float}
COLUMNS = tuple(entry.name for entry in fields(Row))


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, the latest one of each key; none if there is no file."""
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        found = (Row(**{name: _NUMBERS.get(name, str)(text) for name, text in line.items()})
                 for line in csv.DictReader(file))  # fmt: skip
        return list({row.key: row for row in found}.values())


def append(path: Path, row: Row) -> None:
    """Append a row; the file gets its head with the first one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.is_file()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(_written(row))


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write a table of rows."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(_written(row) for row in rows)


def words(values: Mapping[str, Any]) -> str:
    """Return values as ``key=value`` words in the order of the keys.

    >>> words({"tau": 0.5, "l": 0})
    'l=0 tau=0.5'
    """
    return " ".join(f"{key}={values[key]}" for key in sorted(values))


def _written(row: Row) -> dict[str, Any]:
    rounded = {"test": f"{row.test:.3f}", "val": f"{row.val:.3f}", "cpu": f"{row.cpu:.2f}"}
    return {**asdict(row), **rounded}
