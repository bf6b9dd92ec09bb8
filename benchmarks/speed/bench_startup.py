"""Seconds until the command line answers: ``ldpsim --help`` and what costs a person waiting.

The promise is ``ldpsim --help`` under one second; the ratio to a bare interpreter says how
much of it is ours.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REPEATS = 7
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "ldpsim --help": ["-m", "cli.main", "--help"],
    "ldpsim run --help": ["-m", "cli.main", "run", "--help"],
    "ldpsim datasets": ["-m", "cli.main", "datasets"],
    "ldpsim methods": ["-m", "cli.main", "methods"],
    "ldpsim run --epsilon 0 (a mistake)": ["-m", "cli.main", "run", "--epsilon", "0"],
}


def seconds(arguments: list[str]) -> float:
    """Median wall seconds of a command; the first, which fills the disk cache, is not counted."""
    taken = []
    for _ in range(REPEATS + 1):
        started = time.perf_counter()
        subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, check=False)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])


def main() -> None:
    """Print a line a command."""
    print(f"start-up, median of {REPEATS}; {os.cpu_count()} cores, Python {platform.python_version()}")
    bare = None
    for name, arguments in COMMANDS.items():
        median = seconds(arguments)
        bare = bare or median
        print(f"  {name:<36} {median:6.2f} s  {median / bare:5.1f} x a bare interpreter")


if __name__ == "__main__":
    main()
