"""Tables of figures in CSV, as ``docs/results`` has them."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

Row = Mapping[str, str]


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table; none if there is no table."""
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> None:
    """Write a table; ``columns`` empty: those of the first row."""
    rows = list(rows)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns or list(rows[0]), restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


@cache
def checkout() -> str:
    """Return the commit that is checked out: that of the figures of a row that is written now."""
    words = ["git", "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(words, cwd=Path(__file__).parent, capture_output=True, text=True, check=True).stdout.strip()
