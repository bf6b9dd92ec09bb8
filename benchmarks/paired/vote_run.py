"""Measure the cells of ``vote``.

    python -m benchmarks.paired.vote_run main --seeds 2000-2009 [--file FILE] [--minutes 30] [--only cora public]

Rows are appended to the file. A row that is there is not measured again.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from pathlib import Path

from benchmarks.paired.run import line_of, run, seeds_of
from benchmarks.paired.vote_cells import GROUPS, by_name, load


def main() -> None:
    """Run the missing cells of the groups."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="+", choices=tuple(GROUPS))
    parser.add_argument("--seeds", type=seeds_of, default=seeds_of("2000-2009"))
    parser.add_argument("--file", type=Path, default=Path("runs") / "paired" / "vote-rows.csv")
    parser.add_argument("--minutes", type=float, default=math.inf, help="no cell starts after this time")
    parser.add_argument("--only", nargs="*", default=[], metavar="TEXT", help="words that a cell's line must have")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    until = time.monotonic() + 60 * given.minutes
    cells = [cell for cell in by_name(given.groups) if all(word in line_of(cell) for word in given.only)]
    for row in run(cells, given.seeds, given.file, until, load):
        print(f"{time.strftime('%H:%M:%S')} {row.dataset}, {row.setting} {row.budget} {row.seed} {row.method} "
              f"{row.test:.2f} {row.cpu:.1f} s", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
