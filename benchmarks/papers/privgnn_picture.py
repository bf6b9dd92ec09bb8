"""PrivGnn's picture: accuracy of the student against the epsilon that holds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from benchmarks.study import Row
from ldpsim.strategies.results.averages import spread

_QUERIES = 1000  # the most that the paper asks


def picture(baselines: Sequence[str], rows: Sequence[Row], path: Path) -> None:
    """Draw accuracy against the epsilon that holds for the label: means over the draws, with their spread.

    Args:
        baselines: The methods without privacy, a level line each.
        rows: One a student.
        path: Of the picture.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.4))
    groups: dict[str, dict[float, list[float]]] = {}
    for row in rows:
        if row["label"] and row["queries"] == f"{_QUERIES}":
            name = f"PrivGnn K={row['K']}, gamma {row['gamma']}" if row["method"] == "privgnn" else row["method"]
            groups.setdefault(name, {}).setdefault(float(row["label"]), []).append(float(row["accuracy"]))
    for name, points in groups.items():
        at = sorted(points)
        means, spreads = [statistics.fmean(points[x]) for x in at], [spread(points[x]) or 0.0 for x in at]
        axes.errorbar(at, means, yerr=spreads, marker="o", markersize=4, linewidth=1, capsize=2, label=name)
    for method, style in zip(baselines, ("--", ":", "-."), strict=True):
        values = [float(row["accuracy"]) for row in rows if row["method"] == method]
        if values:
            label = f"{method}, no privacy"
            axes.axhline(statistics.fmean(values), color="0.5", linestyle=style, linewidth=1, label=label)
    axes.set_xscale("log")
    axes.set_ylim(0, 1)
    axes.set_xlabel("epsilon that holds for a person, labels released (delta 1e-4)")
    axes.set_ylabel("accuracy of the student, 1,000 queries")
    axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
