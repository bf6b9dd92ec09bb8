"""Graphs that are rebuilt from what runs publish, on Cora: every method with a released output, at two budgets.

python -m benchmarks.audits.rebuild [--only hogs] [--pages-only]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.markdown import table
from benchmarks.study import Measured, Row, Study, main, rows_in
from curator.privacy.shown import shown_loss

KEYS = ("method", "budget", "words")
ATTACKERS = ("public", "similarity", "influence", "together")
COLUMNS = ("claimed", "delta", *(f"{name}{of}" for name in (*ATTACKERS, "coins") for of in ("", "_std")),
           "largest_auc", "lower_bound", "right", "guesses", "pairs", "coin_pairs", "runs", "passed",
           "detail")  # fmt: skip
DATASET, RUNS, PAIRS = "cora", 3, 200
BUDGETS = (1.0, 8.0)
PICTURE = "figures/rebuild.png"


@dataclass(frozen=True)
class RebuildCell:
    """A method at a budget in its own sense.

    Args:
        method, epsilon: Method and budget; None for a method without one.
        settings: Parameters.
        words: Budget or setting in words, where it is not epsilon alone.
        turn: Place in the order of the runs.
    """

    method: str
    epsilon: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    words: str = ""
    turn: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        """Values of :data:`KEYS`."""
        return self.method, "" if self.epsilon is None else f"{self.epsilon:g}", self.words


_LOCAL = ("hogs", "rgnn", "lpgnn", "blink", "sbp", "vote")
_OWNERS = ("gap", "progap")
_OTHERS = ("rr", "dprr", "ldpgcn", "ldpgen", "lp-and", "fp-blink", "solitude")
_FEW = {"rounds": "5"}
_QUERIES = {"pate-m": "200", "privgnn": "5"}
CELLS = (
    RebuildCell("raw", words="clear data"), RebuildCell("mlp", words="clear data, no edges"),
    *(RebuildCell(name, epsilon) for name in _LOCAL for epsilon in BUDGETS),
    *(RebuildCell(name, epsilon, {"level": "edge"}, "an edge", 1) for name in _OWNERS for epsilon in BUDGETS),
    *(RebuildCell(name, None, {"lambda_": noise, "queries": queries}, f"λ {noise}, {queries} labels", 2)
      for name, queries in _QUERIES.items() for noise in ("0.1", "1")),
    *(RebuildCell(name, epsilon, turn=3) for name in _OTHERS for epsilon in BUDGETS),
    *(RebuildCell(name, None, _FEW, "updates in clear, 5 rounds", 3) for name in ("fedavg-mlp", "fedavg-gnn")),
)  # fmt: skip


def run(cell: RebuildCell) -> dict[str, Any]:
    """Attack a method and return its row."""
    from strategies.attacks.audit.rebuild import RebuildOptions, audit_rebuild

    asked = RebuildOptions(methods=(cell.method,), runs=RUNS, pairs=PAIRS, dataset=DATASET, epsilon=cell.epsilon,
                           settings=cell.settings)  # fmt: skip
    return audit_rebuild(asked)[0].to_dict()


def rows_of(cell: RebuildCell, found: Mapping[str, Any] | None) -> list[Row]:
    """Return the row of the table; its figures are empty without a result."""
    figures: dict[str, Any] = {}
    if found is not None:
        names = ("claimed", "delta", "largest_auc", "lower_bound", "right", "guesses", "pairs", "passed", "detail")
        figures = {name: found[name] for name in names}
        figures |= {"coin_pairs": found["coins"], "runs": len(found["coin_aucs"])}
        for name, aucs in {**found["aucs"], "coins": found["coin_aucs"]}.items():
            figures |= {name: float(np.mean(aucs)), f"{name}_std": float(np.std(aucs, ddof=1))}
    return [{**dict(zip(KEYS, cell.key, strict=True)), **{name: _plain(figures.get(name)) for name in COLUMNS}}]


def page(rows: Sequence[Row]) -> str:
    """Return the page of the rows."""
    missing = [f"{row['method']} at {row['budget'] or row['words']}" for row in rows if not row["coins"]]
    rows = [row for row in rows if row["coins"]]
    judged = [row for row in rows if row["passed"]]
    bounded = [row for row in rows if row["largest_auc"]]
    above = {float(row["coins"]) - float(row["largest_auc"]): float(row["coins_std"]) for row in bounded}
    over = {points: spread for points, spread in above.items() if points > 0}
    runs = [int(row["runs"]) for row in rows]
    text = (Path(__file__).parent / "notes" / "rebuild.md").read_text()
    return text.format(
        rows=len(rows), fewest=min(runs), most=max(runs), pairs=PAIRS, judged=len(judged), bounded=len(bounded),
        below=len(bounded) - len(over), over=len(over), largest=_points(str(max(over, default=0.0))),
        within=sum(points <= spread for points, spread in over.items()),
        gained={budget: _gained(row for row in judged if row["budget"] == f"{budget:g}") for budget in BUDGETS},
        missing=f"Not measured, since a row takes more than 5 CPU minutes: {', '.join(missing)}." if missing else "",
        held=sum(row["passed"] == "True" for row in judged), table=_table(rows), picture=PICTURE,
    )  # fmt: skip


def _gained(rows: Iterable[Row]) -> str:
    """Return how many points all signals together are above public data alone: from the least to the most."""
    gains = [100 * (float(row["together"]) - float(row["public"])) for row in rows]
    return f"{min(gains):.1f} to {max(gains):.1f}" if gains else "-"


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}" if 0 < value < 1e-3 else f"{value:.4f}"  # a delta of 1e-5 is not 0
    return "" if value is None else f"{value}"


def _table(rows: Sequence[Row]) -> str:
    heads = ("method", "epsilon", "public data", "similar predictions", "influence", "all of it", "edges of coins",
             "at most", "epsilon of an edge")  # fmt: skip
    lines = [(row["method"] + (f" ({row['words']})" if row["words"] else ""), row["budget"] or "-",
              *(_spread(row, name) for name in (*ATTACKERS, "coins")), _points(row["largest_auc"]),
              row["claimed"] and shown_loss(float(row["claimed"])) or "no bound")
             for row in rows]  # fmt: skip
    return table(heads, lines)


def _spread(row: Row, name: str) -> str:
    return f"{_points(row[name])} ± {_points(row[f'{name}_std'])}" if row[name] else "-"


def _points(share: str) -> str:
    return f"{100 * float(share):.1f}" if share else "-"


def draw(rows: Sequence[Row], where: Path) -> None:
    """Draw real edges on the left and edges of coins on the right, a line a row."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [row for row in rows if row["coins"]][::-1]
    figure, axes = pyplot.subplots(1, 2, figsize=(9, 0.24 * len(rows) + 1.4), sharey=True)
    marks = {"public": ("|", "public data alone"), "similarity": ("s", "similar predictions"),
             "influence": ("^", "influence of features"), "together": ("o", "all of it")}  # fmt: skip
    places = range(len(rows))
    for number, (name, (mark, words)) in enumerate(marks.items()):
        there = [(100 * float(row[name]), place) for place, row in zip(places, rows, strict=True) if row[name]]
        axes[0].plot(*zip(*there, strict=True), linestyle="", marker=mark, markersize=6, label=words,
                     color="black" if name == "public" else f"C{number}", markerfacecolor="none")  # fmt: skip
    axes[1].errorbar([100 * float(row["coins"]) for row in rows], places,
                     xerr=[100 * float(row["coins_std"]) for row in rows], linestyle="", marker="o", markersize=4,
                     capsize=2, color="C3", label="all of it")  # fmt: skip
    bounded = [(100 * float(row["largest_auc"]), place)
               for place, row in zip(places, rows, strict=True) if row["largest_auc"]]  # fmt: skip
    axes[1].plot(*zip(*bounded, strict=True), linestyle="", marker="|", markersize=9, markeredgewidth=2, color="black",
                 label="at most, by the guarantee")  # fmt: skip
    axes[0].set_yticks(
        places, [f"{row['method']} {row['budget'] or row['words'].partition(',')[0]}" for row in rows], fontsize=7
    )
    axes[0].set_ylim(-1, len(rows))
    for axis, title in zip(axes, ("real edges", "edges of coins"), strict=True):
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("area under the ROC curve, %", fontsize=8)
        axis.set_xlim(30, 101)
        axis.axvline(50, color="0.7", linewidth=0.8, zorder=0)
        axis.grid(axis="x", alpha=0.3)
        axis.tick_params(axis="x", labelsize=8)
        axis.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.45 / figure.get_figheight()), ncols=2,
                    frameon=False)  # fmt: skip
    figure.tight_layout()
    where.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(where, dpi=90)
    pyplot.close(figure)


def study(home: Path) -> Study:
    """Return the study."""
    return Study(
        name="rebuild", cells=CELLS, results=Measured(home / "rows.jsonl", run), keys=KEYS,
        key_of=lambda cell: cell.key, rows_of=rows_of, page=lambda found: page(rows_in(found)),
        columns=(*KEYS, *COLUMNS), figure="coins", picture=PICTURE, draw=draw,
    )  # fmt: skip


if __name__ == "__main__":
    main(__doc__, "rebuild", lambda home: [study(home)])
