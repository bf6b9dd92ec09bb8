"""Picture of what the private data gained: a panel a headline, accuracy and null models over the budget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers.value_headlines import HEADLINES, points_of
from benchmarks.papers.value_row import NULLS, ValueRow

PICTURE = "figures/value.png"
MARKS = {"graph_alone": "^", "features_alone": "s", "shuffled_features": "v", "shuffled_adjacency": "D",
         "shuffled_label": "P", "shuffled_all": "x"}  # fmt: skip


def draw(rows: Sequence[ValueRow], where: Path) -> None:
    """Draw a panel a headline: accuracy with its spread as a line, the null models as marks."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = [(headline, points) for headline in HEADLINES if (points := points_of(headline, rows))]
    if not shown:
        return
    columns = 4
    lines = -(-len(shown) // columns)
    figure, axes = pyplot.subplots(lines, columns, figsize=(3.3 * columns, 3.1 * lines + 0.5), squeeze=False)
    known = {}
    for axis, (headline, points) in zip(axes.flat, shown, strict=False):
        x = [budget for budget, _ in points]
        y, spread = ([float(row[name] or 0) for _, row in points] for name in ("accuracy", "std"))
        known["the method"] = axis.errorbar(x, y, yerr=spread, color="C0", marker="o", markersize=4, capsize=2,
                                            linewidth=1.4)  # fmt: skip
        known["chance"] = axis.plot(x, [float(row["chance"]) for _, row in points], color="0.5", linestyle="--",
                                    linewidth=1)[0]  # fmt: skip
        for number, (name, mark) in enumerate(MARKS.items(), start=1):
            of_null = [(budget, float(row[name])) for budget, row in points if row[name]]
            if of_null:
                known[NULLS[name]] = axis.plot(*zip(*of_null, strict=True), linestyle="", marker=mark, markersize=5,
                                               color=f"C{number}", markerfacecolor="none")[0]  # fmt: skip
        axis.set_title(f"{headline.title}{f' ({headline.fixed})' if headline.fixed else ''}", fontsize=9)
        axis.set_xlabel(headline.x, fontsize=8)
        if headline.log:
            axis.set_xscale("log")
        axis.set_ylim(0, 100)
        axis.grid(alpha=0.3)
        axis.tick_params(labelsize=8)
    for axis in axes.flat[len(shown) :]:
        axis.axis("off")
    for line in axes:
        line[0].set_ylabel("test accuracy, %", fontsize=8)
    figure.legend(known.values(), known.keys(), loc="lower center", ncols=len(known), fontsize=8, frameon=False)
    figure.suptitle("Accuracy and null models on Cora", fontsize=11)
    figure.tight_layout(rect=(0, 0.06, 1, 1))
    where.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(where, dpi=80)
    pyplot.close(figure)
