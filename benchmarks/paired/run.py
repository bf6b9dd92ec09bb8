"""Measure cells on held-out seeds and write the page.

    python -m benchmarks.paired.run small --seeds 2000-2009 [--home DIR] [--minutes 30] [--only cora public]
    python -m benchmarks.paired.run large --seeds 2000-2002

Rows are appended to ``rows.csv`` below ``--home``. A row that is there is not measured again.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from benchmarks.paired.cells import (
    generated_cells,
    large_cells,
    load,
    sbp_cells,
    sbp_large_cells,
    sbp_other_cells,
    small_cells,
)
from benchmarks.paired.measure import Cell, measure
from benchmarks.paired.rows import Row, append, read_rows
from devices.data.population import Population

GROUPS = {
    "small": small_cells, "large": large_cells, "generated": generated_cells, "sbp": sbp_cells,
    "sbp-large": sbp_large_cells, "sbp-other": sbp_other_cells,
}  # fmt: skip
ROWS = "rows.csv"

Load = Callable[[Cell], Population]


def run(
    cells: Iterable[Cell],
    seeds: Iterable[int],
    file: Path,
    until: float = math.inf,
    people_of: Load = load,
    home: Path | None = None,
) -> Iterator[Row]:
    """Measure what is missing, append each row to the file and yield it.

    Args:
        cells: The cells.
        seeds: The seeds of each.
        file: Table of the rows.
        until: No cell starts after this time (``time.monotonic``).
        people_of: Returns the people of a cell.
        home: Folder of kept reports; None keeps none.
    """
    done = {row.key for row in read_rows(file)}
    people: dict[str, Population] = {}
    seeds = tuple(seeds)
    for cell in cells:
        for seed in seeds:
            wanted = cell.missing(done, seed)
            if wanted is None:
                continue
            if time.monotonic() > until:
                return
            dataset = cell.shown_dataset
            if dataset not in people:
                people = {dataset: people_of(cell)}  # one at a time: they can be large
            for row in measure(wanted, seed, people[dataset], skip=done, home=home):
                append(file, row)
                done.add(row.key)
                yield row


def seeds_of(text: str) -> tuple[int, ...]:
    """Read seeds.

    >>> seeds_of("100-102,7")
    (100, 101, 102, 7)
    """
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def main() -> None:
    """Run the missing cells of the groups."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="+", choices=tuple(GROUPS))
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("2000-2009"))
    parser.add_argument("--home", type=Path, default=Path("runs") / "paired")
    parser.add_argument("--minutes", type=float, default=math.inf, help="no cell starts after this time")
    parser.add_argument("--keep", action="store_true", help="keep the reports, for curators that come later")
    parser.add_argument("--only", nargs="*", default=[], metavar="TEXT", help="words that a cell's line must have")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    until = time.monotonic() + 60 * given.minutes
    cells = [cell for group in given.groups for cell in GROUPS[group]() if all(word in line_of(cell)
             for word in given.only)]  # fmt: skip
    kept = given.home / "reports" if given.keep else None
    for row in run(cells, given.seeds, given.home / ROWS, until, home=kept):
        print(f"{time.strftime('%H:%M:%S')} {row.dataset} {row.setting} {row.budget} {row.seed} {row.method} "
              f"{row.test:.2f} {row.cpu:.1f} s", flush=True)  # fmt: skip


def line_of(cell: Cell) -> str:
    """Return a cell in one line: data set, setting, budget and curators."""
    return f"{cell.shown_dataset}, {cell.setting}, {cell.budget}, {' '.join(each.name for each in cell.readers)}"


if __name__ == "__main__":
    main()
