"""Table of ``docs/results/people.md``: methods on graphs of people, beside their null models.

    ldpsim sweep -g method=sbp -g dataset=twitch-de ...     (the command of a row of docs/results/people.csv)
    python -m benchmarks.papers.people FOLDER ...

Rows of finished sweeps replace those of the table that have the same keys. Figures of accuracy are in percent, margins
in points: the mean over the seeds, for the method with the sample standard deviation, for the margin to the best null
model with its 95 % interval.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks import RESULTS
from benchmarks.papers.cell import loss_of
from benchmarks.papers.seeds import budget_of, update
from ldpsim.strategies.outputs.groups import Group
from ldpsim.strategies.results.verdict import NULLS

TABLE = RESULTS / "people.csv"
KEYS = ("people", "method", "budget")  # name a row
SCORES = ("curator", "device", "device_alone", "device_features", *NULLS, "margin", "margin_low", "margin_high")
LEVELS = ("user", "relationship", "vector", "central_node")
BYTES = ("uplink", "downlink", "bundle")


def main() -> None:
    """Read the folders, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    update(TABLE, parser.parse_args().folders, row_of_group, KEYS)


def row_of_group(group: Group) -> dict[str, str]:
    """Return the row of a group."""
    first, row = group.records[0], group.row
    holds = first["privacy"]["holds"]
    return {
        "people": first["dataset"]["name"],
        "method": group.method,
        "budget": budget_of(first),
        "n": f"{row['n']}",
        "accuracy": _percent(row["mean"]),
        "std": _percent(row["sd"]),
        "best_null": row["best_null"] or "",
        "best_null_accuracy": _percent(row["best_null_mean"]),
        **{name: _percent(row[name]) for name in SCORES},
        "standing": row["standing"] or "",
        **{f"holds_{level}": loss_of(holds[level]) for level in LEVELS},
        **{f"{name}_bytes": f"{row[f'{name}_bytes_per_device'] or 0:.0f}" for name in BYTES},
    }


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.4f}"


if __name__ == "__main__":
    main()
