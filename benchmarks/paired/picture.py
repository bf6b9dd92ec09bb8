"""Picture of accuracy against epsilon: a panel a data set, a line a method, the null models as level lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.paired.summary import Results
from strategies.results.averages import mean, spread

STYLES: Mapping[str, tuple[str, str, str]] = {  # colour, mark, line
    "sbp": ("C3", "o", "-"), "hogs": ("C0", "s", "-"), "hogs, stored settings": ("C0", "s", ":"),
    "blink-soft": ("C1", "^", "-"), "blink-hard": ("C4", "v", "-"), "lp-and": ("C2", "D", "-"),
    "features alone": ("0.3", "", "--"), "no noise": ("0.3", "", "-"), "chance": ("0.6", "", ":"),
}  # fmt: skip
LEVEL = ("features alone", "no noise", "chance")  # the same at every epsilon


def draw(results: Results, panels: Sequence[tuple[str, str, str]], budgets: Sequence[str], where: Path) -> None:
    """Draw the panels.

    Args:
        results: The measured rows.
        panels: Data set, setting and title of each panel.
        budgets: The epsilons, from small to large.
        where: Path of the picture.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(3, len(panels))
    lines = -(-len(panels) // columns)
    figure, axes = pyplot.subplots(lines, columns, figsize=(3.9 * columns, 3.2 * lines + 0.6), squeeze=False)
    known = {}
    for axis, (dataset, setting, title) in zip(axes.flat, panels, strict=False):
        for name, (colour, mark, style) in STYLES.items():
            points = []
            for budget in budgets:
                values = [row.test for row in results.of((dataset, setting, budget), name).values()]
                if values:
                    points.append((float(budget), mean(values), spread(values) or 0.0))
            if not points:
                continue
            x, y, wide = zip(*points, strict=True)
            if name in LEVEL:
                known[name] = axis.plot(x, y, color=colour, linestyle=style, linewidth=1.2)[0]
            else:
                known[name] = axis.errorbar(x, y, yerr=wide, color=colour, marker=mark, linestyle=style, markersize=4,
                                            capsize=2, linewidth=1.4)  # fmt: skip
        axis.set_title(title, fontsize=9)
        axis.set_xlabel("epsilon", fontsize=8)
        axis.set_ylim(0, 100)
        axis.set_xticks([float(budget) for budget in budgets])
        axis.grid(alpha=0.3)
        axis.tick_params(labelsize=8)
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    for line in axes:
        line[0].set_ylabel("test accuracy, %", fontsize=8)
    ordered = {name: known[name] for name in STYLES if name in known}
    spare = axes.flat[len(panels)] if len(panels) < lines * columns else None
    if spare is not None:
        spare.legend(ordered.values(), ordered.keys(), loc="center", fontsize=9, frameon=False)
    else:
        figure.legend(ordered.values(), ordered.keys(), loc="lower center", ncols=5, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0 if spare is not None else 0.1, 1, 1))
    where.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(where, dpi=90)
    pyplot.close(figure)
