"""Seconds until the command line answers.

    python -m benchmarks.speed.bench_startup [--repeats 7]

The aim is ``ldpsim --help`` under 0.3 seconds. The ratio to a bare interpreter shows the
share of the program itself.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

from benchmarks import ROOT
from benchmarks.speed.process import beside

COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "ldpsim --help": ["-m", "ldpsim.cli.main", "--help"],
    "ldpsim run --help": ["-m", "ldpsim.cli.main", "run", "--help"],
    "ldpsim datasets": ["-m", "ldpsim.cli.main", "datasets"],
    "ldpsim methods": ["-m", "ldpsim.cli.main", "methods"],
    "ldpsim run --epsilon 0 (a mistake)": ["-m", "ldpsim.cli.main", "run", "--epsilon", "0"],
}


def seconds(arguments: list[str], repeats: int) -> float:
    """Median wall seconds of a command; the first, which fills the disk cache, is not counted."""
    taken = []
    for _ in range(repeats + 1):
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=False)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])


def main() -> None:
    """Print a line a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    print(f"start-up, median of {given.repeats}; {beside()}")
    bare = None
    for name, arguments in COMMANDS.items():
        median = seconds(arguments, given.repeats)
        bare = bare or median
        print(f"  {name:<36} {median:6.2f} s  {median / bare:5.1f} x a bare interpreter")


if __name__ == "__main__":
    main()
