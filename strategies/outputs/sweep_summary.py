"""Short table of a sweep: one row for each group of cells that differ in their seeds alone, as CSV."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ldpsim.devices.atomic_files import write_atomically
from ldpsim.strategies.outputs.seed_groups import DATASET, OPTIONS, PEOPLE, VERSION, SeedGroup
from ldpsim.strategies.outputs.sweep_table import csv_text
from ldpsim.strategies.results.levels import compared_levels

SUMMARY = "summary.csv"


def summary_rows(groups: Sequence[SeedGroup]) -> list[dict[str, Any]]:
    """Return the flat row of each group; scores are shares.

    The loss of one collection is that of the worst result of a group. The sum is over all collections of its people.
    """
    return [_row(group) for group in groups]


def write_summary(folder: Path, groups: Sequence[SeedGroup]) -> Path:
    """Write ``summary.csv``, completely or not at all, and return its path."""
    names = ["method", *map(_column, groups[0].options if groups else ()), *_FIGURES]
    rows = [[row[name] for name in names] for row in summary_rows(groups)]
    write_atomically(folder / SUMMARY, csv_text(names, rows))
    return folder / SUMMARY


def _row(group: SeedGroup) -> dict[str, Any]:
    interval = group.interval
    held = {f"{about}_{level}{part}": entry
            for about, levels in (("holds", group.levels), ("all", group.together))
            for level, (status, value) in levels.items()
            for part, entry in (("", value), ("_status", status))}  # fmt: skip
    return {
        "method": group.method,
        **{_column(name): value for name, value in group.options.items()},
        "n": group.n,
        "mean": group.mean,
        "sd": group.sd,
        "low_over_runs": interval and interval.low,
        "high_over_runs": interval and interval.high,
        "best_null": group.best_null,
        "best_null_mean": group.null,
        "collections": group.collections,
        **held,
    }


def _column(option: str) -> str:
    """Return the column of an option; that of a method's setting is named as in ``table.csv``."""
    return option if option in OPTIONS or option in (DATASET, PEOPLE, VERSION) else f"param_{option}"


_FIGURES = ("n", "mean", "sd", "low_over_runs", "high_over_runs", "best_null", "best_null_mean", "collections",
            *(f"{about}_{level}{part}" for about in ("holds", "all") for level in compared_levels()
              for part in ("", "_status")))  # fmt: skip
