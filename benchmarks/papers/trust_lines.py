"""Figures and picture of ``docs/results/who-is-trusted.md``, from the rows of :mod:`benchmarks.papers.who_is_trusted`.

    python -m benchmarks.papers.trust_lines [--picture docs/images/who-is-trusted.svg]

It prints the tables of the page, and draws the picture. A *line* is accuracy over a person's epsilon for one kind of
trust. All lines of a seed have the same people, the same split and the same volunteers.

- **Crossing of A over B**: the least epsilon from which A is above B at every larger epsilon that was measured. The
  mean difference is joined by straight lines over the logarithm of epsilon. Its interval has 95 % of 2,000 bootstrap
  samples of the seeds, drawn with replacement; both lines of a seed stay together.
- **Loss by telling**: the t-test of the mean difference over seeds (with friends less without), one-sided, and Holm's
  correction over all graphs of one number of volunteers and one epsilon.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import ttest_1samp

from benchmarks.markdown import table
from benchmarks.papers.who_is_trusted import DATA, SHARES, TABLE, TELLING
from benchmarks.study import read_rows
from ldpsim.cli.report.page import SCHEMA, SHAPES, cycled
from ldpsim.curator.privacy.shuffle import shuffled_epsilon, shuffled_grr_epsilon, variation_ratio_epsilon
from ldpsim.strategies.palette import ON_WHITE, SERIES

EPSILONS = (1.0, 2.0, 4.0, 8.0)
LINES = {  # heading: method and column
    "nobody: device": ("vote", "device"),
    "nobody: curator": ("vote", "curator"),
    "friends: device": ("vote", "device_with_friends"),
    "a sum: device": ("secure-sum", "device"),
    "a sum and friends: device": ("secure-sum", "device_with_friends"),
}
ALONE = {"no reports, nobody: device": "device_alone", "no reports, friends: device": "device_alone_with_friends"}
CROSSINGS = (
    ("nobody: device", "no reports, friends: device"),
    ("nobody: device", "friends: device"),
    ("nobody: device", "a sum: device"),
    ("friends: device", "a sum and friends: device"),
    ("nobody: curator", "no reports, nobody: device"),
)
SAMPLES = 2000
LEVEL = 0.05
FEWEST = 3  # seeds of a figure
PEOPLE, CLASSES, DELTA = 2437, 7, 1e-4  # who report on Cora with 10 % volunteers; delta of the page

Line = Mapping[float, NDArray[np.float64]]  # accuracies by epsilon, one a seed


def main() -> None:
    """Print, and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=Path)
    picture, rows = parser.parse_args().picture, read_rows(TABLE)
    for share in SHARES:
        print(f"\n## {100 * share:g} % volunteers\n")
        print(accuracy_table(rows, share), crossing_table(rows, share), sep="\n\n")
    print("\n## Telling\n", table(("volunteers", "figure", "graphs", "lowest difference", "significantly below 0"),
                                  telling_rows(rows)), sep="\n")  # fmt: skip
    for head, shown in (("Shares who tell", share_table(rows)), ("Labels told", label_table(rows)),
                        ("Shuffled", shuffled_table())):  # fmt: skip
        print(f"\n## {head}\n\n{shown}")
    if picture is not None:
        picture.write_text(draw(rows))


def lines_of(rows: Sequence[Mapping[str, str]], dataset: str, share: float) -> dict[str, dict[float, Any]]:
    """Return the lines of a graph; without reports a line has the same figures at every epsilon."""
    own = [row for row in rows if (row["dataset"], row["volunteers"], row["told"], row["share"])
           == (dataset, f"{share:g}", "guess", "1")]  # fmt: skip
    lines: dict[str, dict[float, Any]] = {}
    for name, (method, column) in LINES.items():
        points = {epsilon: _figures(own, method, epsilon, column) for epsilon in EPSILONS}
        lines[name] = {epsilon: figures for epsilon, figures in points.items() if len(figures) >= FEWEST}
    for name, column in ALONE.items():
        lines[name] = dict.fromkeys(EPSILONS, _figures(own, "vote", 4.0, column))
    return lines


def _figures(rows: Sequence[Mapping[str, str]], method: str, epsilon: float, column: str) -> NDArray[np.float64]:
    chosen = [row for row in rows if (row["method"], row["epsilon"]) == (method, f"{epsilon:g}")]
    return np.array([float(row[column]) for row in sorted(chosen, key=lambda row: int(row["seed"]))])


def accuracy_table(rows: Sequence[Mapping[str, str]], share: float) -> str:
    """Return the table of all lines: mean and standard deviation."""
    cells = []
    for dataset in DATA:
        for place, (name, line) in enumerate(lines_of(rows, dataset, share).items()):
            flat, seeds = name in ALONE, sorted({len(figures) for figures in line.values()})
            shown = [mean_text(line.get(epsilon, np.zeros(0))) for epsilon in EPSILONS]
            shown = [shown[0], *("same" for _ in EPSILONS[1:])] if flat else shown
            cells.append((dataset if place == 0 else "", name, "/".join(map(str, seeds)) or "-", *shown))
    return table(("people", "who must be trusted: who predicts", "seeds", *(f"epsilon {e:g}" for e in EPSILONS)), cells)


def mean_text(figures: NDArray[np.float64]) -> str:
    """Return mean and sample standard deviation."""
    return f"{figures.mean():.1f} ± {figures.std(ddof=1):.1f}" if len(figures) > 1 else "-"


def crossing_table(rows: Sequence[Mapping[str, str]], share: float) -> str:
    """Return the crossings of each graph."""
    cells = []
    for dataset in DATA:
        lines = lines_of(rows, dataset, share)
        cells.append((dataset, *(crossing_text(lines[above], lines[below]) for above, below in CROSSINGS)))
    return table(("people", *(f"*{above}* over *{below}*" for above, below in CROSSINGS)), cells)


def crossing_text(above: Line, below: Line) -> str:
    """Return the crossing with its interval and number of seeds."""
    epsilons = [epsilon for epsilon in EPSILONS if len(above.get(epsilon, ())) and len(below.get(epsilon, ()))]
    if len(epsilons) < 2:
        return "-"
    seeds = min(len(line[epsilon]) for line in (above, below) for epsilon in epsilons)
    differences = np.array([above[epsilon][:seeds] - below[epsilon][:seeds] for epsilon in epsilons])
    rng = np.random.default_rng(0)
    draws = rng.integers(seeds, size=(SAMPLES, seeds))
    samples = [crossing(epsilons, differences[:, draw].mean(axis=1)) for draw in draws]
    low, high = np.quantile(samples, (0.025, 0.975), method="nearest")
    found = crossing(epsilons, differences.mean(axis=1))
    name = [_epsilon_text(value, epsilons) for value in (found, low, high)]
    return name[0] if name[0] == name[1] == name[2] else f"{name[0]} ({name[1]} to {name[2]})"


def crossing(epsilons: Sequence[float], differences: Sequence[float] | NDArray[np.float64]) -> float:
    """Return the least epsilon from which the differences stay above 0: 0 for all of them, infinity for none.

    >>> crossing([1, 4], [-1, 1]), crossing([1, 4], [1, 2]), crossing([1, 4], [1, -2])
    (2.0, 0.0, inf)
    """
    if differences[-1] <= 0:
        return math.inf
    below = [place for place, difference in enumerate(differences) if difference <= 0]
    if not below:
        return 0.0
    left, right = math.log2(epsilons[below[-1]]), math.log2(epsilons[below[-1] + 1])
    low, high = differences[below[-1]], differences[below[-1] + 1]
    return float(2 ** (left + (right - left) * -low / (high - low)))


def _epsilon_text(epsilon: float, measured: Sequence[float]) -> str:
    if epsilon == 0:
        return f"below {measured[0]:g}"
    return f"above {measured[-1]:g}" if epsilon == math.inf else f"{epsilon:.1f}"


def telling_rows(rows: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, ...]]:
    """Yield the lowest difference by telling, and which graphs lose by Holm's test, by volunteers and figure."""
    for share in SHARES:
        lines = {dataset: lines_of(rows, dataset, share) for dataset in DATA}
        pairs = [(f"{method}, epsilon {epsilon:g}", f"{trusted}: device", f"{with_friends}: device", epsilon)
                 for method, trusted, with_friends in (("vote", "nobody", "friends"),
                                                       ("secure-sum", "a sum", "a sum and friends"))
                 for epsilon in EPSILONS]  # fmt: skip
        pairs.append(("no reports", "no reports, nobody: device", "no reports, friends: device", EPSILONS[0]))
        for name, without, told, epsilon in pairs:
            gains = {dataset: each[told][epsilon] - each[without][epsilon] for dataset, each in lines.items()
                     if epsilon in each[told]}  # fmt: skip
            if gains:
                worst = min(gains, key=lambda dataset: float(gains[dataset].mean()))
                lost = ", ".join(holm({dataset: _p_of_loss(each) for dataset, each in gains.items()}))
                loss = f"{worst} {gains[worst].mean():+.1f} ± {gains[worst].std(ddof=1):.1f}"
                yield f"{100 * share:g} %", name, f"{len(gains)}", loss, lost or "none"


def _p_of_loss(gains: NDArray[np.float64]) -> float:
    if not gains.std():
        return float(gains[0] >= 0)
    return float(ttest_1samp(gains, 0.0, alternative="less").pvalue)


def holm(values: Mapping[str, float]) -> list[str]:
    """Return the names whose hypothesis is rejected at :data:`LEVEL`.

    >>> holm({"a": 0.02, "b": 0.01, "c": 0.9})
    ['b', 'a']
    """
    rejected = []
    for place, name in enumerate(sorted(values, key=values.__getitem__)):
        if values[name] > LEVEL / (len(values) - place):
            break
        rejected.append(name)
    return rejected


def share_table(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the table of Cora at a person's epsilon 2, by the share of people who tell."""
    heads = ("volunteers", "figure", "nobody tells", *(f"{100 * part:g} % tell" for part in reversed((1.0, *TELLING))))
    cells = []
    for share in SHARES:
        own = [row for row in rows if (row["dataset"], row["volunteers"], row["told"], row["method"])
               == ("cora", f"{share:g}", "guess", "vote")]  # fmt: skip
        for name, column, epsilon in (("vote, epsilon 2", "device", 2.0), ("no reports", "device_alone", 4.0)):
            parts = [[row for row in own if row["share"] == f"{part:g}"] for part in reversed((1.0, *TELLING))]
            full = _figures(parts[-1], "vote", epsilon, column)
            told = [_figures(part, "vote", epsilon if place == len(TELLING) else 2.0, f"{column}_with_friends")
                    for place, part in enumerate(parts)]  # fmt: skip
            cells.append((f"{100 * share:g} %", name, mean_text(full), *map(mean_text, told)))
    return table(heads, cells)


def label_table(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the table of Cora where people who know their label tell it."""
    cells = []
    for share in SHARES:
        own = [row for row in rows if (row["volunteers"], row["told"]) == (f"{share:g}", "label")]
        figures = (_figures(own, "vote", 4.0, f"{name}_with_friends") for name in ("device", "device_alone"))
        cells.append((f"{100 * share:g} %", *map(mean_text, figures)))
    return table(("volunteers", "vote, epsilon 4", "no reports"), cells)


def shuffled_table() -> str:
    """Return the central epsilon of shuffled reports of Cora's people, by accountant."""
    cells = []
    for local in (1.0, 2.0, 4.0):
        alone: dict[str, Any] = {"people": PEOPLE, "local": local, "delta": DELTA}
        values = (shuffled_epsilon(**alone), shuffled_grr_epsilon(**alone, categories=CLASSES),
                  variation_ratio_epsilon(**alone, categories=CLASSES))  # fmt: skip
        cells.append((f"{local:g}", *(f"{value:.3f}" for value in values)))
    return table(("local epsilon", "any report, upper bound", "GRR, upper bound", "GRR, Wang et al."), cells)


def draw(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the picture as SVG: a column for each graph, 10 % volunteers above 1 %.

    The curator's line is cut where it is below all lines of devices, which would else be pressed together.
    """
    import vl_convert

    names = [*LINES, *ALONE]
    charts = [[_chart(lines_of(rows, dataset, share), dataset, share, names) for dataset in DATA] for share in SHARES]
    half = len(DATA) // 2
    soft, edge = ON_WHITE["soft"], ON_WHITE["line"]
    axis = {"labelColor": soft, "titleColor": soft, "gridColor": ON_WHITE["grid"], "domainColor": edge,
            "tickColor": edge, "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"}  # fmt: skip
    picture = {
        "$schema": SCHEMA, "background": "white", "padding": 10,
        "vconcat": [{"hconcat": line[part]} for part in (slice(half), slice(half, None)) for line in charts],
        "config": {"view": {"stroke": None}, "axis": axis, "title": {"fontSize": 12, "fontWeight": "normal"},
                   "legend": {"labelColor": soft, "labelFontSize": 12, "title": None, "orient": "top", "columns": 4,
                              "labelLimit": 300, "symbolStrokeWidth": 2}},
    }  # fmt: skip
    return str(vl_convert.vegalite_to_svg(json.dumps(picture))) + "\n"


def _chart(
    lines: Mapping[str, Mapping[float, Any]], dataset: str, share: float, names: Sequence[str]
) -> dict[str, Any]:
    points = [(name, epsilon, statistics.fmean(figures))
              for name, line in lines.items() for epsilon, figures in line.items()]  # fmt: skip
    values = [{"line": name, "epsilon": epsilon, "accuracy": accuracy} for name, epsilon, accuracy in points]
    heights = [accuracy for name, _, accuracy in points if "curator" not in name]
    room = 0.06 * (max(heights) - min(heights))
    x = {"field": "epsilon", "type": "quantitative", "title": "a person's epsilon",
         "scale": {"type": "log", "base": 2, "domain": [EPSILONS[0], EPSILONS[-1]], "nice": False, "padding": 8},
         "axis": {"values": list(EPSILONS), "format": "d", "grid": False}}  # fmt: skip
    y = {"field": "accuracy", "type": "quantitative", "title": "test accuracy, %",
         "scale": {"domain": [min(heights) - room, max(heights) + room], "zero": False, "nice": False},
         "axis": {"tickCount": 5}}  # fmt: skip
    colour = {"field": "line", "type": "nominal", "sort": None, "scale": cycled(names, SERIES),
              "legend": {"columns": 4, "orient": "top"}}  # fmt: skip
    dashes = [[5, 3] if name in ALONE else [1, 0] for name in names]
    dash = {**colour, "scale": {"domain": list(names), "range": dashes}}
    marks = [*SHAPES[: len(LINES)], *("stroke" for _ in ALONE)]
    shape = {**colour, "scale": {"domain": list(names), "range": marks}}
    reported = {"filter": {"not": {"field": "line", "oneOf": list(ALONE)}}}
    seen = {"type": "point", "filled": True, "size": 45, "opacity": 1, "aria": False, "clip": True}
    return {
        "title": f"{dataset}, {100 * share:g} % volunteers", "width": 230, "height": 190,
        "data": {"values": values},
        "layer": [
            {"mark": {"type": "line", "strokeWidth": 2, "aria": False, "clip": True},
             "encoding": {"x": x, "y": y, "color": colour, "strokeDash": dash}},
            {"transform": [reported], "mark": seen,
             "encoding": {"x": x, "y": y, "color": colour, "shape": shape}},
        ],
    }  # fmt: skip


if __name__ == "__main__":
    main()
