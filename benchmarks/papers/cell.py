"""One cell of a paper's table: its run, the published figure beside it, and whether the two agree.

Two accuracies agree if ours has at least ten runs, and

    |difference| <= max(1.5 points, 3 sqrt(s^2 / n + s'^2 / n')).

An accuracy outside the rule is off, except if it is above a published figure that is a lower bound for
a reason that the page names. A confidence half-width is turned into a standard deviation first: the
mean of n runs lies within 1.96 s / sqrt(n), so s = h sqrt(n) / 1.96. For a published figure without a deviation,
s' is ours.
"""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.study import checkout, read_rows
from ldpsim.curator.shown import loss_in_table
from ldpsim.strategies.results.levels_of_results import compared_loss
from ldpsim.strategies.setup.option_spec import exact
from ldpsim.strategies.setup.options import RunOptions

RUNS = 10
FEWEST_RUNS = 10
ROOM = 1.5
AGREES, ABOVE, OFF = "agrees", "above the lower bound", "off"
NOT_HERE = "not run here"
KEYS = ("table", "command")  # name a row
LEVELS = ("relationship", "vector")  # of every table
PUBLISHED = Path(__file__).parent / "published"
_NORMAL = 1.959964
_OURS = ("ours", "n", "accuracy", "std", "collections", "config_hash", "commit", "difference", "may_differ_by",
         "comparison")  # fmt: skip
_FLAGS = {"public_features": "--public-features", "private_labels": "--private-labels", "tuned": "--tuned"}
_HIDDEN = {"out", "engine", "reference", "nulls", "seeds", "caps"}


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
        return f"{self.mean:.1f} ± {self.std:.1f} ({self.runs})" if self.runs > 1 else f"{self.mean:.1f} (1)"


@dataclass(frozen=True)
class TableCell:
    """A cell of a paper's table.

    Args:
        table: Heading of its table.
        keys: Values of its key columns.
        options: The run.
        paper, measured: Accuracy in the paper, and of its published code or an independent
            reproduction.
        absent: Reason why it cannot run at all; empty if it can.
        level: Order of the runs: 0 is first.
        quick: Whether ``make tables-quick`` runs it.
        lower_bound: Reason why the paper's figure is a lower bound; empty if it is none.
        again: Whether another cell is compared with the same published figure and counts; this one is shown only.
    """

    table: str
    keys: Mapping[str, str]
    options: RunOptions
    paper: Accuracy | None = None
    measured: Accuracy | None = None
    absent: str = ""
    level: int = 1
    quick: bool = False
    lower_bound: str = ""
    again: bool = False

    @property
    def turn(self) -> int:
        """Place in the order of the runs: cells that decide agreement, one column of each table, the rest."""
        return 0 if self.level == 0 else 1 if self.quick else 1 + self.level

    @property
    def label(self) -> str:
        """The cell in one line."""
        return f"{self.table}: " + ", ".join(f"{key} {value}" for key, value in self.keys.items())

    @property
    def key(self) -> tuple[str, str]:
        """Values of :data:`KEYS`."""
        return self.table, command(self.options)


def cell_options(method: str, dataset: str, **options: Any) -> RunOptions:
    """Return the options of a cell; settings are given as ``settings={...}`` of any values."""
    settings = {key: str(value) for key, value in options.pop("settings", {}).items()}
    fixed: dict[str, Any] = {
        "repeats": RUNS, "reference": False, "nulls": False, "device": "cpu", "engine": "local", "out": None,
    }  # fmt: skip
    return RunOptions(method=method, dataset=dataset, settings=settings, **{**fixed, **options})


def command(options: RunOptions) -> str:
    """Return the command line that runs a cell."""
    parts = ["ldpsim", "run"]
    for option in fields(RunOptions):
        value = getattr(options, option.name)
        if option.name in _HIDDEN or (value == option.default and option.name not in ("method", "dataset")):
            continue
        if option.name == "settings":
            for key, setting in options.settings.items():
                parts += ["--set", f"{key}={setting}"]
        elif option.name in _FLAGS:
            parts += [_FLAGS[option.name]] if value else []
        elif value is not None:
            text = exact(value) if isinstance(value, float) else str(value)
            if option.name == "dataset" and Path(text).is_absolute():
                text = os.path.relpath(text)  # of no machine in particular
            parts += [f"--{option.name.replace('_', '-')}", text]
    return shlex.join([*parts, "--no-reference"])


@cache
def published(paper: str) -> tuple[Mapping[str, str], ...]:
    """Return the rows of ``published/PAPER.csv``."""
    return tuple(read_rows(PUBLISHED / f"{paper}.csv"))


def figure_of(row: Mapping[str, str]) -> Accuracy:
    """Return a published row's figure; its column ``spread`` names the kind of its ±."""
    mean, spread, runs = float(row["accuracy"]), float(row["std"]), int(row["runs"])
    return Accuracy(mean, spread * math.sqrt(runs) / _NORMAL if row["spread"] == "ci95" else spread, runs)


def look_up(paper: str, source: str, **keys: object) -> Accuracy | None:
    """Return the figure of the first row with these keys and a source that begins with ``source``."""
    wanted = [(name, str(value)) for name, value in keys.items()]
    for place, row in enumerate(published(paper)):
        if row["source"].startswith(source) and all(row[name] == value for name, value in wanted):
            return replace(figure_of(row), place=f"{paper}.csv, row {place + 1}")
    return None


def bound(ours: Accuracy, other: Accuracy) -> float:
    """Points by which the two may differ."""
    theirs = ours.std if math.isnan(other.std) else other.std
    return max(ROOM, 3 * math.sqrt(ours.std**2 / ours.runs + theirs**2 / other.runs))


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


def columns_of(levels: Sequence[str], cells: Sequence[TableCell]) -> list[str]:
    """Return the columns of a paper's table."""
    names = dict.fromkeys(name for cell in cells for name in cell.keys)
    return ["table", *names, "n", "accuracy", "std", "ours", "paper", "paper_std", "paper_runs", "difference",
            "may_differ_by", "comparison", "measured", "measured_std", "measured_runs", *_held_columns(levels),
            "collections", "config_hash", "commit", "command"]  # fmt: skip


def row_of(levels: Sequence[str], cell: TableCell, record: Mapping[str, Any] | None) -> dict[str, str]:
    """Return a cell's row; without a result (``result.json``) it has no figure of ours."""
    held = _held_columns(levels)
    row = {"table": cell.table, **cell.keys, **dict.fromkeys(_OURS, ""), "command": command(cell.options)}
    row |= {**dict.fromkeys(held, "-"), "n": f"not run: {cell.absent}" if cell.absent else NOT_HERE}
    for name, figure in (("paper", cell.paper), ("measured", cell.measured)):
        if figure:
            row |= {name: f"{figure.mean}", f"{name}_std": _two(figure.std), f"{name}_runs": f"{figure.runs}"}
    if record is None:
        return row
    scores, privacy = record["accuracy"], record["privacy"]
    ours = Accuracy(100 * scores["test"], 100 * (scores["std"] or 0.0), len(scores["per_repeat"]))
    row |= {name: loss_of(privacy["holds"][name.removeprefix("holds_")]) for name in held}
    row |= {"ours": str(ours), "n": f"{ours.runs}", "accuracy": _two(ours.mean), "std": _two(ours.std),
            "collections": f"{privacy['collections'] + privacy.get('searched', 0)}",
            "config_hash": record["config_hash"], "commit": checkout()}  # fmt: skip
    if cell.paper:
        difference, limit = ours.mean - cell.paper.mean, bound(ours, cell.paper)
        decided = judge(ours.runs, difference, limit, lower_bound=bool(cell.lower_bound))
        points = f"{difference:+.1f}"
        words = {AGREES: AGREES, ABOVE: f"{ABOVE} ({points})", OFF: points, "": f"{points}, {ours.runs} runs"}
        row |= {"difference": _two(difference), "may_differ_by": _two(limit), "comparison": words[decided]}
    return row


def loss_of(level: Mapping[str, Any]) -> str:
    """Return a loss that holds, as text; it is never rounded down."""
    return loss_in_table(compared_loss(level)) if level["status"] == "bounded" else str(level["status"])


def _held_columns(levels: Sequence[str]) -> list[str]:
    return [f"holds_{level}" for level in dict.fromkeys([*levels, *LEVELS])]


def _two(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"
