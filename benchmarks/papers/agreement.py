"""Rule of agreement of two accuracies: at least ten runs of ours, and

    |difference| <= max(1.5 points, 3 sqrt(s^2 / n + s'^2 / n')).

An accuracy outside the rule is off, except if it is above a published figure that is a lower bound for
a reason that the page names. A confidence half-width is turned into a standard deviation first: the
mean of n runs lies within 1.96 s / sqrt(n), so s = h sqrt(n) / 1.96.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from benchmarks.study import Row, read_rows

FEWEST_RUNS = 10
ROOM = 1.5
AGREES, ABOVE, OFF = "agrees", "above the lower bound", "off"
_NORMAL = 1.959964
PUBLISHED = Path(__file__).parent / "published"


@dataclass(frozen=True)
class Accuracy:
    """An accuracy.

    Args:
        mean, std: In percent; the standard deviation of a run.
        runs: How many.
        place: Row of a published table; empty for a figure of ours.
    """

    mean: float
    std: float
    runs: int
    place: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.std:.1f}" if self.runs > 1 else f"{self.mean:.1f}"


def from_half_width(mean: float, half_width: float, runs: int) -> Accuracy:
    """Return the figure behind a 95% confidence interval of the mean."""
    return Accuracy(mean, half_width * math.sqrt(runs) / _NORMAL, runs)


def bound(ours: Accuracy, other: Accuracy) -> float:
    """Points by which the two may differ."""
    return max(ROOM, 3 * math.sqrt(ours.std**2 / ours.runs + other.std**2 / other.runs))


def judge(runs: int, difference: float, may_differ_by: float, *, lower_bound: bool = False) -> str:
    """Return ``AGREES``, ``ABOVE`` or ``OFF``; an empty text with too few runs. Two decimals decide: tables have them.

    >>> judge(10, 7.4, 2.8), judge(10, 7.4, 2.8, lower_bound=True), judge(10, -7.4, 2.8, lower_bound=True)
    ('off', 'above the lower bound', 'off')
    >>> judge(10, 1.0, 1.5, lower_bound=True), judge(9, 7.4, 2.8)
    ('agrees', '')
    """
    if runs < FEWEST_RUNS:
        return ""
    if round(abs(difference), 2) <= round(may_differ_by, 2):
        return AGREES
    return ABOVE if lower_bound and difference > 0 else OFF


@cache
def published(paper: str) -> tuple[Row, ...]:
    """Return the rows of ``published/PAPER.csv``."""
    return tuple(read_rows(PUBLISHED / f"{paper}.csv"))


def figure_of(row: Row) -> Accuracy:
    """Return a published row's figure; its column ``spread`` names the kind of its ±."""
    mean, spread, runs = float(row["accuracy"]), float(row["std"]), int(row["runs"])
    return from_half_width(mean, spread, runs) if row["spread"] == "ci95" else Accuracy(mean, spread, runs)


def look_up(paper: str, source: str, **keys: object) -> Accuracy | None:
    """Return the figure of the first row with these keys and a source that begins with ``source``."""
    wanted = [(name, str(value)) for name, value in keys.items()]
    for place, row in enumerate(published(paper)):
        if row["source"].startswith(source) and all(row[name] == value for name, value in wanted):
            return replace(figure_of(row), place=f"{paper}.csv, row {place + 1}")
    return None
