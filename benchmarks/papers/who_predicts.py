"""Table and picture of ``docs/results/who-predicts.md``, from the folders of finished sweeps.

    python -m benchmarks.papers.who_predicts FOLDER [FOLDER ...]

The page names the sweeps. A row is a group of runs that differ in their seeds alone. Figures of accuracy are in
percent: the mean, and the sample standard deviation over the seeds.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from benchmarks.papers.cell import loss_of
from benchmarks.study import read_rows, write_rows
from ldpsim.cli.report.gather import gather
from ldpsim.strategies.outputs.groups import Group

TABLE = RESULTS / "who-predicts.csv"
PICTURE = RESULTS / "figures" / "who-predicts.png"
SHARES = ("0.1", "0.01")  # of volunteers
EPSILONS = ("0.5", "1", "2", "4", "8")
DATA = ("cora", "citeseer", "generated")
COLOURS = {"device": "#1b6ca8", "curator": "#c4451c", "alone": "#6b6b6b"}
_LABELS = {"device": "a device for itself", "curator": "the curator", "alone": "a device, no reports"}


def main() -> None:
    """Read the folders, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    write_rows(TABLE, (row_of_group(group) for group in gather(parser.parse_args().folders).groups))
    draw(read_rows(TABLE))


def row_of_group(group: Group) -> dict[str, str]:
    """Return the row of a group."""
    first = group.records[0]
    config, holds, accuracy = first["config"], first["privacy"]["holds"], [each["accuracy"] for each in group.records]
    alone = [(each["nulls"] or {}).get("device_alone") for each in group.records]
    return {
        "dataset": Path(first["dataset"]["name"]).stem,
        "method": first["method"],
        "features": "public" if config["public_features"] else "private",
        "volunteers": f"{config['volunteers'] or ''}",
        "budget": _budget(config["budget"]) if first["privacy"]["claimed"]["value"] is not None else "",
        "n": f"{len(accuracy)}",
        **_mean("curator", [each["curator"] for each in accuracy]),
        **_mean("device", [each["device"] for each in accuracy]),
        **_mean("alone", [None if each is None else each["test"] for each in alone]),
        **{f"holds_{level}": loss_of(holds[level]) for level in ("user", "relationship", "vector", "central_node")},
        "bundle_bytes": f"{first['communication']['bundle_bytes_per_device'] or ''}",
        "config_hash": first["config_hash"],
    }


def _budget(budget: Mapping[str, Any]) -> str:
    parts = {name: budget[name] for name in ("eps_adjacency", "eps_features", "eps_labels") if budget[name] is not None}
    return ", ".join(f"{name} {value:g}" for name, value in (parts or {"epsilon": budget["epsilon"]}).items())


def _mean(name: str, shares: Sequence[Any]) -> dict[str, str]:
    if not shares or None in shares:
        return {name: "", f"{name}_std": ""}
    spread = statistics.stdev(shares) if len(shares) > 1 else 0.0
    return {name: f"{100 * statistics.fmean(shares):.2f}", f"{name}_std": f"{100 * spread:.2f}"}


def draw(rows: Sequence[Mapping[str, str]]) -> None:
    """Draw accuracy over a person's epsilon: the curator's, the device's, and the device's alone."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    chosen = {(row["dataset"], row["volunteers"], row["budget"].split()[-1]): row for row in rows if row["volunteers"]}
    figure, axes = plt.subplots(len(SHARES), len(DATA), figsize=(9, 5.4), sharex=True, sharey="col")
    for line, share in zip(axes, SHARES, strict=True):
        for axis, data in zip(line, DATA, strict=True):
            points = [chosen[data, share, epsilon] for epsilon in EPSILONS]
            places = list(range(1, len(points) + 1))
            for name, mark in (("device", "o"), ("curator", "s"), ("alone", None)):
                heights = [float(point[name]) for point in points]
                spread = [float(point[f"{name}_std"]) for point in points]
                axis.errorbar(places, heights, spread, marker=mark, color=COLOURS[name], capsize=2,
                              linestyle="--" if mark is None else "-", label=_LABELS[name])  # fmt: skip
            axis.set_title(f"{data}, {100 * float(share):g} % volunteers", fontsize=10)
            axis.set_xticks(places, EPSILONS)
            axis.grid(alpha=0.3)
    for axis in axes[-1]:
        axis.set_xlabel("epsilon of a person")
    for axis in axes[:, 0]:
        axis.set_ylabel("test accuracy, %")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="upper center", ncol=3, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    figure.savefig(PICTURE, dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    main()
