"""Two tables as a company's spreadsheet writes them, messy in ten ways.

``python -m tests.cli.company_table DIR PEOPLE`` writes them.

1 semicolons and a byte order mark; 2 decimal commas; 3 names in another case; 4 categories and classes in another case;
5 empty cells as ``unknown``, ``n/a`` and ``-``; 6 blanks around a cell; 7 rows that stand twice; 8 self-loops and edges
that stand twice; 9 edges to people who are in no row; 10 dates, and headings of the company's own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

_SEGMENTS = ("regular", "new", "lapsed")
_CITIES = ("Rome", "Oslo", "Paris")


def write_tables(folder: Path, people: int, seed: int = 0) -> None:
    """Write ``customers.csv`` and ``referrals.csv``, whose people know others of their segment four times in five.

    Args:
        folder: Folder for both.
        people: Number of people.
        seed: Of all that is drawn.
    """
    rng = np.random.default_rng(seed)
    segment, city = rng.integers(0, 3, people), rng.integers(0, 3, people)
    rows = []
    for k in range(people):
        label, place = _SEGMENTS[segment[k]], _CITIES[city[k]] if rng.random() < 0.5 else _CITIES[segment[k]]
        label = label.title() if k % 11 == 0 else ("n/a", "unknown", "-")[k % 3] if k % 37 == 0 else label
        place = place.upper() if k % 13 == 0 else ("unknown", "n/a", "")[k % 3] if k % 29 == 0 else f" {place} "
        spent = "-" if k % 41 == 0 else f"{rng.gamma(2 + segment[k], 10):.2f}".replace(".", ",")
        rows.append(f"K-{k};{place};{spent};{1 + k % 28}.{1 + k % 12}.2021;{label}")
    rows += rows[:: people // 20]
    ends = rng.integers(0, people, (2, 12 * people))
    ends = ends[:, (segment[ends[0]] == segment[ends[1]]) | (rng.random(12 * people) < 0.1)][:, : 4 * people]
    edges = [f"{'k' if a % 17 == 0 else 'K'}-{a};K-{b};1,5" for a, b in ends.T]
    edges += [*edges[: people // 10], *(f"K-{k};K-{k};1" for k in range(people // 20)), "K-1;gone", "K-2;gone"]
    _write(folder / "customers.csv", "Customer No;City;Spent;Since;Segment", rows)
    _write(folder / "referrals.csv", "Giver;Taker;Weight", edges)


def _write(path: Path, heading: str, rows: list[str]) -> None:
    path.write_text("\ufeff" + "\r\n".join([heading, *rows, ""]), newline="")


if __name__ == "__main__":
    write_tables(Path(sys.argv[1]), int(sys.argv[2]))
