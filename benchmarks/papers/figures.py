"""The papers' figures on Cora and CiteSeer: ``docs/results/figures``.

    make figures                                   (LDPSIM_DATA names the data sets; long)
    python -m benchmarks.papers.figures [hogs-4 ...] [--workers 2] [--upto 1] [--pages-only]

A point is three collections (``papers/curves.py``). The points are run like the tables' cells:
a point with a result is not run again. A picture is drawn from the points that have one; a
picture without any new point stays as it is. Each picture has a table of the same name.
``lpgnn-5``, the error of one aggregation by mechanism, needs reports and no training; it is
one collection a point, an average over all nodes and features.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import RESULTS
from benchmarks.papers.cell_result import CellResult
from benchmarks.papers.curves import FIGURES, RUNS, Figure, points
from benchmarks.papers.index import write_index
from benchmarks.papers.pages import NOTES
from benchmarks.papers.tables import distinct, results_of, run_cells

FIGURES_HERE = RESULTS / "figures"
FOLDER = "figures"
ERROR = Figure("lpgnn-5", "LPGNN Fig. 5: error of one aggregation", "epsilon", log=True, what="mean absolute error")
EPSILONS = (0.1, 0.5, 1.0, 2.0)
MECHANISMS = {"multi-bit": "multi_bit", "1-bit": "one_bit_full", "Gaussian": "gaussian"}
MeasuredPoint = dict[str, Any]


def measured(results: Sequence[CellResult], figure: Figure) -> list[MeasuredPoint]:
    """Return the points of a figure that were run."""
    return [
        {**result.cell.keys, "accuracy": result.ours.mean, "std": result.ours.std, "n": result.ours.runs,
         "holds_relationship": result.held["relationship"]}
        for result in results if result.cell.table == figure.name and result.ours is not None
    ]  # fmt: skip


def errors() -> Iterator[MeasuredPoint]:
    """Yield LPGNN's Fig. 5: mean |estimate - truth| after one aggregation, by mean and by GCN's operator."""
    from scipy.sparse import csr_array

    from curator.linear.propagation import adjacency_matrix, kprop_matrix, mean_matrix
    from curator.reports.estimates import estimated_strips
    from strategies.experiments.trial import gather
    from strategies.setup.options import RunOptions

    for dataset in ("cora", "citeseer"):
        for curve, mechanism in MECHANISMS.items():
            for epsilon in EPSILONS:
                trial = gather(RunOptions(method="lpgnn", dataset=dataset, eps_features=epsilon, device="cpu", out=None,
                                          settings={"version": "text", "mechanism": mechanism}, gnn="gcn"))  # fmt: skip
                people = trial.population
                n, d = len(people), people.facts.d
                parts = (people.feature_values, people.feature_indices, people.feature_indptr)
                truth = csr_array(parts, shape=(n, d)).tocsc()
                both = np.concatenate([people.edges, people.edges[::-1]], axis=1)
                adjacency = adjacency_matrix(n, both)
                operators = {"mean": mean_matrix(adjacency), "GCN": kprop_matrix(adjacency)}
                total = dict.fromkeys(operators, 0.0)
                assert trial.reports is not None
                for columns, strip in estimated_strips(trial.reports):
                    off = strip - truth[:, columns].toarray().astype(np.float32)
                    for name, operator in operators.items():
                        total[name] += float(np.abs(operator @ off).sum(dtype=np.float64))
                for name, value in total.items():
                    if name == "mean" or curve == "multi-bit":
                        label = curve if name == "mean" else f"{curve}, GCN's operator"
                        yield {"data set": dataset, "curve": label, "x": f"{epsilon:g}", "accuracy": value / (n * d),
                               "std": 0.0, "n": 1, "holds_relationship": "unprotected"}  # fmt: skip


def draw(figure: Figure, found: Sequence[MeasuredPoint], where: Path) -> None:
    """Draw a figure: one panel a data set, a line a curve."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    datasets = list(dict.fromkeys(point["data set"] for point in found))
    panels, axes = pyplot.subplots(1, len(datasets), figsize=(4.6 * len(datasets), 3.6), squeeze=False, sharey=True)
    curves = list(dict.fromkeys(point["curve"] for point in found))
    for panel, dataset in zip(axes[0], datasets, strict=True):
        for number, curve in enumerate(curves):
            of_curve = [point for point in found if (point["data set"], point["curve"]) == (dataset, curve)]
            if not of_curve:
                continue
            of_curve.sort(key=lambda point: float(point["x"]))
            x, y, spread = ([float(point[key]) for point in of_curve] for key in ("x", "accuracy", "std"))
            panel.errorbar(x, y, yerr=spread if any(spread) else None, color=f"C{number}", marker="o", markersize=4,
                           capsize=2, linewidth=1.4, label=curve)  # fmt: skip
        panel.set_title(dataset, fontsize=10)
        panel.set_xlabel(figure.x)
        panel.grid(alpha=0.3)
        if figure.log:
            panel.set_xscale("log", base=2)
            places = sorted({float(point["x"]) for point in found})
            panel.set_xticks(places, [f"{place:g}" for place in places])
            panel.minorticks_off()
        if figure.what != "test":
            panel.set_yscale("log")
    axes[0][0].set_ylabel("test accuracy, %" if figure.what == "test" else figure.what)
    # of all panels: a curve may have points in one of them only
    known = {
        label: handle for panel in axes[0] for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    axes[0][-1].legend([known[curve] for curve in curves], curves, fontsize=7.5)
    panels.suptitle(figure.title, fontsize=11)
    panels.tight_layout()
    panels.savefig(where, dpi=80)
    pyplot.close(panels)


def write(figure: Figure, found: Sequence[MeasuredPoint]) -> None:
    """Write a figure's picture and table; nothing if there is no point."""
    if not found:
        return
    FIGURES_HERE.mkdir(parents=True, exist_ok=True)
    with (FIGURES_HERE / f"{figure.name}.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["data set", "curve", figure.x, figure.what, "std", "n", "holds_relationship"])
        for point in found:
            shown = f"{point['accuracy']:.2f}" if figure.what == "test" else f"{point['accuracy']:.4g}"
            writer.writerow([point["data set"], point["curve"], point["x"], shown, f"{point['std']:.2f}", point["n"],
                             point["holds_relationship"]])  # fmt: skip
    draw(figure, found, FIGURES_HERE / f"{figure.name}.png")


def points_kept(figure: Figure) -> int:
    """Return the number of points in a figure's table."""
    path = FIGURES_HERE / f"{figure.name}.csv"
    if not path.is_file():
        return 0
    with path.open() as file:
        return sum(1 for _ in csv.DictReader(file))


def page(all_: int) -> str:
    """Return the page that shows the pictures; ``all_`` is the number of points that there are."""
    done = sum(map(points_kept, FIGURES))
    parts = [
        "# The papers' figures, on Cora and CiteSeer",
        f"Test accuracy in %, mean and standard deviation over {RUNS} collections a point (`lpgnn-5`: one). The\n"
        f"papers print no numbers for these. {done} of {all_} points were run; a curve shows those points, and\n"
        "`python -m benchmarks.papers.figures` runs the others. Each picture has a table of the same name beside it,\n"
        "with the loss that *holds* for an edge.",
        (NOTES / "figures.md").read_text().strip(),
    ]
    for figure in (ERROR, *FIGURES):
        if (FIGURES_HERE / f"{figure.name}.png").is_file():
            parts.append(f"## {figure.title}\n\n![{figure.title}](figures/{figure.name}.png)\n\n"
                         f"[{figure.name}.csv](figures/{figure.name}.csv)")  # fmt: skip
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Run the missing points and draw the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [ERROR.name, *(figure.name for figure in FIGURES)]
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(names))
    parser.add_argument("--home", type=Path, default=Path("runs") / "tables")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--upto", type=int, default=99, metavar="LEVEL")
    parser.add_argument("--pages-only", action="store_true")
    given = parser.parse_args()
    if set(given.figures) - set(names):
        parser.error(f"there are {', '.join(names)}")
    wanted = given.figures or names
    os.environ["OMP_NUM_THREADS"] = "1"
    home = given.home.absolute()
    every = list(points())
    cells = [cell for cell in every if cell.table in wanted]
    if not given.pages_only:
        once = distinct(cells)  # some points stand in several figures
        for level in sorted({cell.level for cell in cells}):
            if level <= given.upto:
                run_cells(FOLDER, [cell for cell in once if cell.level == level], home, given.workers)
        if ERROR.name in wanted:
            write(ERROR, list(errors()))
    results = results_of(every, home / FOLDER)
    for figure in FIGURES:
        found = measured(results, figure)
        if figure.name in wanted and len(found) >= points_kept(figure):  # a kept table loses no point
            write(figure, found)
    (RESULTS / "figures.md").write_text(page(len(every)))
    write_index()
    done = sum(result.ours is not None for result in results)
    print(f"{done} of {len(results)} points below {home}, {RUNS} collections each")


if __name__ == "__main__":
    main()
