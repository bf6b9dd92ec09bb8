"""The papers' figures on Cora and CiteSeer: ``docs/results/figures``.

    make figures                                   (LDPSIM_DATA names the data sets; long)
    python -m benchmarks.papers.figures [hogs-4 ...] [--workers 2] [--upto 2] [--pages-only]

A point is three collections (``papers/curves.py``). The points are run like the tables' cells: a point with a result is
not run again. Each picture has a table of the same name, and is drawn again where a point is new. ``lpgnn-5``, the
error of one aggregation by mechanism, needs reports and no training; it is one collection a point, an average over all
nodes and features.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import RESULTS
from benchmarks.papers import NOTES
from benchmarks.papers.cell_row import accuracy_of, held
from benchmarks.papers.curves import FIGURES, RUNS, Figure, points
from benchmarks.papers.index import write_index
from benchmarks.papers.swept import Swept
from benchmarks.papers.table_cell import TableCell
from benchmarks.study import Measured, Results, Row, Study, main, read_rows

FIGURES_HERE = RESULTS / "figures"
ERROR = Figure("lpgnn-5", "LPGNN Fig. 5: error of one aggregation", "epsilon", log=True, what="mean absolute error")
EPSILONS = (0.1, 0.5, 1.0, 2.0)
MECHANISMS = {"multi-bit": "multi_bit", "multi-bit, GCN's operator": "multi_bit", "1-bit": "one_bit_full",
              "Gaussian": "gaussian"}  # fmt: skip


@dataclass(frozen=True)
class ErrorCell:
    """A point of LPGNN's Fig. 5."""

    dataset: str
    curve: str
    epsilon: float

    @property
    def keys(self) -> Mapping[str, str]:
        """Data set, curve and place, as those of a point of the other figures."""
        return {"data set": self.dataset, "curve": self.curve, "x": f"{self.epsilon:g}"}


def error_cells() -> Iterator[ErrorCell]:
    """Yield the points of LPGNN's Fig. 5."""
    for dataset in ("cora", "citeseer"):
        for mechanism in dict.fromkeys(MECHANISMS.values()):
            for epsilon in EPSILONS:
                curves = (curve for curve in MECHANISMS if MECHANISMS[curve] == mechanism)
                yield from (ErrorCell(dataset, curve, epsilon) for curve in curves)


def error_of(cell: ErrorCell) -> float:
    """Return mean |estimate - truth| after one aggregation, by the mean or by GCN's operator."""
    from scipy.sparse import csr_array

    from ldpsim.curator.linear.propagation import adjacency_matrix, kprop_matrix, mean_matrix
    from ldpsim.curator.reports.estimates import estimated_strips
    from ldpsim.strategies.experiments.trial import gather
    from ldpsim.strategies.setup.options import RunOptions

    settings = {"version": "text", "mechanism": MECHANISMS[cell.curve]}
    trial = gather(RunOptions(method="lpgnn", dataset=cell.dataset, eps_features=cell.epsilon, device="cpu", out=None,
                              settings=settings, gnn="gcn"))  # fmt: skip
    people = trial.population
    n, d = len(people), people.facts.d
    parts = (people.feature_values, people.feature_indices, people.feature_indptr)
    truth = csr_array(parts, shape=(n, d)).tocsc()
    adjacency = adjacency_matrix(n, np.concatenate([people.edges, people.edges[::-1]], axis=1))
    operator = (kprop_matrix if "GCN" in cell.curve else mean_matrix)(adjacency)
    assert trial.reports is not None
    total = 0.0
    for columns, strip in estimated_strips(trial.reports):
        off = strip - truth[:, columns].toarray().astype(np.float32)
        total += float(np.abs(operator @ off).sum(dtype=np.float64))
    return total / (n * d)


def point_of(figure: Figure, cell: TableCell | ErrorCell, result: Any) -> list[Row]:
    """Return the row of a point, none without a result."""
    if result is None:
        return []
    row = {"data set": cell.keys["data set"], "curve": cell.keys["curve"], figure.x: cell.keys["x"]}
    if figure is ERROR:
        return [{**row, figure.what: f"{result:.4g}", "std": "0.00", "n": "1", "holds_relationship": "unprotected"}]
    ours = accuracy_of(result)
    return [{**row, figure.what: f"{ours.mean:.2f}", "std": f"{ours.std:.2f}", "n": f"{ours.runs}",
             "holds_relationship": held(result["privacy"]["holds"]["relationship"])}]  # fmt: skip


def studies(home: Path) -> list[Study]:
    """Return a study for each figure."""
    return [_study(ERROR, list(error_cells()), Measured(home / "lpgnn-5.jsonl", error_of)),
            *(_study(figure, [cell for cell in points() if cell.table == figure.name], Swept(home / "figures"))
              for figure in FIGURES)]  # fmt: skip


def _study(figure: Figure, cells: Sequence[Any], results: Results) -> Study:
    place = ("data set", "curve", figure.x)
    return Study(
        name=figure.name, cells=cells, results=results, keys=place, key_of=lambda cell: tuple(cell.keys.values()),
        rows_of=partial(point_of, figure), page=None, figure=figure.what,
        columns=(*place, figure.what, "std", "n", "holds_relationship"),
        picture=f"{figure.name}.png", draw=partial(draw, figure),
    )  # fmt: skip


def draw(figure: Figure, found: Sequence[Row], where: Path) -> None:
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
            of_curve.sort(key=lambda point: float(point[figure.x]))
            x, y, spread = ([float(point[key]) for point in of_curve] for key in (figure.x, figure.what, "std"))
            panel.errorbar(x, y, yerr=spread if any(spread) else None, color=f"C{number}", marker="o", markersize=4,
                           capsize=2, linewidth=1.4, label=curve)  # fmt: skip
        panel.set_title(dataset, fontsize=10)
        panel.set_xlabel(figure.x)
        panel.grid(alpha=0.3)
        if figure.log:
            panel.set_xscale("log", base=2)
            places = sorted({float(point[figure.x]) for point in found})
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


def page(all_: int) -> str:
    """Return the page that shows the pictures; ``all_`` is the number of points that there are."""
    done = sum(len(read_rows(FIGURES_HERE / f"{figure.name}.csv")) for figure in FIGURES)
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


def finish(found: object, where: Path) -> None:
    """Write the page of all figures, and the index."""
    (RESULTS / "figures.md").write_text(page(len(list(points()))))
    write_index()


if __name__ == "__main__":
    main(__doc__, "tables", studies, finish, FIGURES_HERE)
