"""Stored rows of ``docs/results``, run again with today's code, beside their stored figures.

    make tables-check                                         (LDPSIM_DATA names the data sets; up to 20 minutes)
    python -m benchmarks.papers.check [--rows 30] [--seed 0] [--only blink.csv] [--row-seconds 40]
        [--repeats 10] [--older FILE]

The seed draws the rows from all that have a command and at least two runs, which are repeats or differ in their seeds.
A row runs again with the options of its command and the seeds of its runs, in their order from the first. No run begins
that would end after ``--row-seconds`` of the processor; a row whose first run takes longer is not compared. With n
stored and n' new runs, a row agrees if its two means have

    |difference| <= max(1.5 points, 3 sqrt(s^2 / n + s'^2 / n')),

where s' is the stored deviation s if n' is 1. The new runs are some of the stored ones, so with unchanged code the
difference is smaller than that of independent runs. Where n' is below n, the differences of rows of one data set are
not independent of each other: their first runs have the same splits. Rows of the table ``--older`` (columns ``file``,
``command``, ``commit``, ``reason``) are known to be of an older commit, and are not drawn. The exit code is 1 if a row
does not agree or does not run.
"""

from __future__ import annotations

import argparse
import importlib
import random
import signal
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import RESULTS
from benchmarks.papers.cell import Accuracy, bound
from benchmarks.papers.seeds import runs_of
from benchmarks.study import Row, read_rows
from ldpsim.strategies.runs.simulate import simulate

OLDER = RESULTS / "older.csv"
_NAMES_A_ROW = ("file", "command")
# Columns of a row's figure and its deviation: the curator's, or that of devices where the curator predicts nobody's.
_FIGURES = {"accuracy": "std", "curator": "curator_std", "device": "device_std"}


class TooSlow(Exception):
    """A row of which no run ends in its time."""


class Comparison(NamedTuple):
    """A stored row, and its figure of today."""

    stored: Accuracy
    today: Accuracy

    @property
    def difference(self) -> float:
        """Points between the means."""
        return self.today.mean - self.stored.mean

    @property
    def limit(self) -> float:
        """Points by which they may differ."""
        return bound(self.stored, self.today)

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the limit."""
        return abs(self.difference) <= self.limit

    def __str__(self) -> str:
        word = "agrees" if self.agrees else "LEFT ITS INTERVAL"
        return f"{word}: stored {self.stored}, today {self.today}, {self.difference:+.2f} of ±{self.limit:.2f} points"


def rows_with_commands(folder: Path, only: str = "", older: Path = OLDER) -> list[dict[str, str]]:
    """Return the rows that can run again, with their ``file``; ``only``: of this file alone."""
    known = {tuple(row[name] for name in _NAMES_A_ROW) for row in read_rows(older)}
    rows = [{**row, "file": path.name} for path in sorted(folder.glob(only or "*.csv")) if path.name != older.name
            for row in read_rows(path) if row.get("command") and row["n"].isdigit() and figure_of(row)]  # fmt: skip
    return [row for row in rows if tuple(row[name] for name in _NAMES_A_ROW) not in known]


def figure_of(row: Row) -> Accuracy | None:
    """Return a row's figure; None without one, or without a deviation."""
    found = ((row.get(name), row.get(spread)) for name, spread in _FIGURES.items())
    mean, spread = next(((mean, spread) for mean, spread in found if mean), ("", ""))
    return Accuracy(float(mean), float(spread), int(row["n"])) if mean and spread else None


def label_of(row: Row) -> str:
    """Return a row's file and keys: the columns before the number of runs."""
    names = list(row)
    return ", ".join([row["file"].removesuffix(".csv"), *filter(None, map(row.__getitem__, names[: names.index("n")]))])


@contextmanager
def ends_after(seconds: float) -> Iterator[None]:
    """Raise TooSlow in the block as soon as it has used the processor for so long."""

    def end(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def run_again(row: Row, seconds: float, repeats: int) -> Comparison:
    """Run as many of a row's runs as fit into the processor time, and no more than ``repeats``.

    Raises:
        ValueError: where the row does not run today.
        TooSlow: where not even one run fits.
    """
    stored = figure_of(row)
    assert stored is not None
    alone: dict[str, Any] = {"reference": False, "nulls": False, "groups": False, "engine": "local", "out": None}
    runs = [replace(options, **alone) for options in runs_of(row["command"])[:repeats]]
    people = Path(runs[0].dataset)
    if people.suffix == ".npz" and not people.exists():
        importlib.import_module(f"benchmarks.papers.{Path(row['file']).stem}").prepare(people.parent)
    started, shares = time.process_time(), list[float]()
    for number, options in enumerate(runs):
        if number and (time.process_time() - started) * (1 + 1 / number) > seconds:
            break
        with nullcontext() if number else ends_after(seconds):
            one = simulate(options, keep_graph=False)
        shares.append(100 * one.record["accuracy"]["test"])
    spread = statistics.stdev(shares) if len(shares) > 1 else stored.std
    return Comparison(stored, Accuracy(statistics.fmean(shares), spread, len(shares)))


def main(arguments: Sequence[str]) -> int:
    """Draw, run and print a line a row; return how many rows do not agree or do not run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=30, help="how many rows (30)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw (0)")
    parser.add_argument("--only", default="", metavar="FILE", help="a table of docs/results, for example blink.csv")
    parser.add_argument("--row-seconds", type=float, default=40, help="processor seconds of a row (40)")
    parser.add_argument("--repeats", type=int, default=10, help="most runs of a row (10)")
    parser.add_argument("--older", type=Path, default=OLDER, help="table of rows of an older commit")
    chosen = parser.parse_args(arguments)
    rows = rows_with_commands(RESULTS, chosen.only, chosen.older)
    if chosen.repeats < 1 or not chosen.row_seconds > 0:
        parser.error("--repeats must be 1 or more, and --row-seconds above 0")
    if not 1 <= chosen.rows <= len(rows):
        parser.error(f"--rows {chosen.rows}: must be from 1 to {len(rows)}, the rows that have a command and a figure")
    differing = not_run = 0
    for row in random.Random(chosen.seed).sample(rows, chosen.rows):
        try:
            compared = run_again(row, chosen.row_seconds, chosen.repeats)
            differing += not compared.agrees
            said = str(compared)
        except TooSlow:
            not_run, said = not_run + 1, f"not run: no run ends in {chosen.row_seconds:g} s"
        except ValueError as error:
            differing, said = differing + 1, f"DOES NOT RUN: {error}"
        print(f"{label_of(row)}: {said}", flush=True)
    print(f"{chosen.rows - differing - not_run} of {chosen.rows} rows agree, {differing} do not, {not_run} were not "
          f"run; drawn from {len(rows)} by seed {chosen.seed}")  # fmt: skip
    return differing


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
