"""One cell of a table, and the command that runs it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from benchmarks.papers import NOTES
from benchmarks.papers.agreement import Accuracy
from ldpsim.strategies.setup.option_spec import exact
from ldpsim.strategies.setup.options import RunOptions

RUNS = 10
NOT_HERE = "not run here"
_FLAGS = {"public_features": "--public-features", "private_labels": "--private-labels", "tuned": "--tuned"}
_HIDDEN = {"out", "engine", "reference", "nulls"}


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


@dataclass(frozen=True)
class Page:
    """Text of a paper's page.

    Args:
        title: Heading of the page.
        head: Text above the tables.
        levels: Losses that hold, which the table has: levels of the result.
        tables: What is to be known of a table.
    """

    title: str
    head: str
    levels: Sequence[str]
    tables: Mapping[str, str] = field(default_factory=dict)


def note(name: str) -> str:
    """Return a text that is written by hand."""
    return (NOTES / f"{name}.md").read_text().strip()


def cell_options(method: str, dataset: str, **given: Any) -> RunOptions:
    """Return the options of a cell; settings are given as ``settings={...}`` of any values."""
    settings = {key: str(value) for key, value in given.pop("settings", {}).items()}
    values = {
        "repeats": RUNS,
        "reference": False,
        "nulls": False,
        "device": "cpu",
        "engine": "local",
        "out": None,
        **given,
    }
    return RunOptions(method=method, dataset=dataset, settings=settings, **values)


def command(options: RunOptions) -> str:
    """Return the command line that runs a cell."""
    parts = ["ldpsim", "run"]
    for cell in fields(RunOptions):
        value = getattr(options, cell.name)
        if cell.name in _HIDDEN or (value == cell.default and cell.name not in ("method", "dataset")):
            continue
        if cell.name == "settings":
            for key, setting in options.settings.items():
                parts += ["--set", f"{key}={setting}"]
        elif cell.name in _FLAGS:
            parts += [_FLAGS[cell.name]] if value else []
        elif value is not None and cell.name not in ("seeds", "caps"):
            text = exact(value) if isinstance(value, float) else str(value)
            if cell.name == "dataset" and Path(text).is_absolute():
                text = os.path.relpath(text)  # of no machine in particular
            parts += [f"--{cell.name.replace('_', '-')}", text]
    return shlex.join([*parts, "--no-reference"])
