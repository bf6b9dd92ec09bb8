"""Table and picture of ``docs/results/who-predicts.md``.

    ldpsim sweep -g method=hogs -g dataset=cora ...     (the command of a row of docs/results/who-predicts.csv)
    python -m benchmarks.papers.who_predicts FOLDER ...

Rows of finished sweeps replace those of the table that have the same keys. The picture and the page's table of
volunteers are made again from the runs of :mod:`benchmarks.papers.who_is_trusted`. Figures of accuracy are in percent:
the mean, and the sample standard deviation over the seeds.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from benchmarks.markdown import table
from benchmarks.papers import who_is_trusted
from benchmarks.papers.cell import loss_of
from benchmarks.papers.seeds import budget_of, update
from benchmarks.papers.trust_lines import EPSILONS, lines_of, mean_text
from benchmarks.study import read_rows
from ldpsim.strategies.outputs.groups import Group

TABLE = RESULTS / "who-predicts.csv"
PICTURE = RESULTS / "figures" / "who-predicts.png"
KEYS = ("dataset", "method", "features", "labels", "volunteers", "budget")  # name a row
NULLS = ("graph_alone", "features_alone")  # beside the curator's figure
DRAWN = ("cora", "citeseer", "generated")
LINES = {"device": "nobody: device", "curator": "nobody: curator", "alone": "no reports, nobody: device"}
COLOURS = {"device": "#1b6ca8", "curator": "#c4451c", "alone": "#6b6b6b"}
_LABELS = {"device": "a device for itself", "curator": "the curator", "alone": "a device, no reports"}


def main() -> None:
    """Read the folders, write, and print the table of volunteers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*")
    if folders := parser.parse_args().folders:
        update(TABLE, folders, row_of_group, KEYS)
    rows = read_rows(who_is_trusted.TABLE)
    heads = ("people", "volunteers", "device alone", "figure", *(f"epsilon {epsilon:g}" for epsilon in EPSILONS))
    print(table(heads, volunteers(rows)))
    draw(rows)


def volunteers(rows: Sequence[Mapping[str, str]]) -> Iterator[Sequence[str]]:
    """Yield the rows of the table of volunteers, from those of ``who-is-trusted.csv``."""
    for dataset in who_is_trusted.DATA:
        for share in who_is_trusted.SHARES:
            lines = lines_of(rows, dataset, share)
            alone = mean_text(lines[LINES["alone"]][EPSILONS[0]])
            seeds = len(lines[LINES["device"]][EPSILONS[0]])
            first = (dataset + (f" ({seeds})" if seeds < 10 else ""), f"{100 * share:g} %", alone)
            for name, left in (("device", first), ("curator", ("", "", ""))):
                yield (*left, name, *(mean_text(lines[LINES[name]][epsilon]) for epsilon in EPSILONS))


def row_of_group(group: Group) -> dict[str, str]:
    """Return the row of a group."""
    first = group.records[0]
    config, holds, accuracy = first["config"], first["privacy"]["holds"], [each["accuracy"] for each in group.records]
    nulls = {name: [((each["nulls"] or {}).get(name) or {}).get("test") for each in group.records]
             for name in ("device_alone", "chance", *NULLS)}  # fmt: skip
    return {
        "dataset": Path(first["dataset"]["name"]).stem,
        "method": first["method"],
        "features": "public" if config["public_features"] else "private",
        "labels": "private" if config["private_labels"] else "public",
        "volunteers": f"{config['volunteers'] or ''}",
        "budget": budget_of(first),
        "n": f"{len(accuracy)}",
        **_mean("curator", [each["curator"] for each in accuracy]),
        **_mean("device", [each["device"] for each in accuracy]),
        **_mean("alone", nulls["device_alone"]),
        **{name: each for null in ("chance", *NULLS) for name, each in _mean(null, nulls[null]).items()},
        **{f"holds_{level}": loss_of(holds[level]) for level in ("user", "relationship", "vector", "central_node")},
        "bundle_bytes": f"{first['communication']['bundle_bytes_per_device'] or ''}",
    }


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

    shares = who_is_trusted.SHARES
    figure, axes = plt.subplots(len(shares), len(DRAWN), figsize=(9, 5.4), sharex=True, sharey="col")
    places = list(range(1, len(EPSILONS) + 1))
    for line, share in zip(axes, shares, strict=True):
        for axis, data in zip(line, DRAWN, strict=True):
            found = lines_of(rows, data, share)
            for name, mark in (("device", "o"), ("curator", "s"), ("alone", None)):
                points = [found[LINES[name]][epsilon] for epsilon in EPSILONS]
                axis.errorbar(places, [each.mean() for each in points], [each.std(ddof=1) for each in points],
                              marker=mark, color=COLOURS[name], capsize=2, linestyle="--" if mark is None else "-",
                              label=_LABELS[name])  # fmt: skip
            axis.set_title(f"{data}, {100 * share:g} % volunteers", fontsize=10)
            axis.set_xticks(places, [f"{epsilon:g}" for epsilon in EPSILONS])
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
