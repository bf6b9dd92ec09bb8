"""`vote` where few people volunteer: the rows, the tables and the picture at the beginning of docs/results/vote.md.

    python -m benchmarks.papers.volunteers [--only cora] [--pages-only]

Volunteers give label and features in clear. Everybody else answers once: people who know their label answer that where
labels are asked, and all others answer about list and features. The seeds are 2000 and up; settings were chosen on
other seeds. At an epsilon of 4 the null models are taken too.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.markdown import table
from benchmarks.study import Measured, Row, Study, main
from ldpsim.strategies.palette import MARKS, SERIES

SHARES, EPSILONS = ("0.01", "0.05", "0.1", "0.25"), ("1", "2", "4", "8")
NULLS_AT = "4"
DRAWN = ("8", NULLS_AT, "2")
PEOPLE = ("cora", "citeseer", "generated", "pubmed", "facebook")
SEEDS, FEW_SEEDS = 10, 5
LARGE = ("pubmed", "facebook")  # without null models; where labels are not asked, few cells and seeds
LABELS = ASKED, NOT_ASKED = "asked", "not asked"  # of people who do not volunteer
NULLS = {"chance": "chance", "features_alone": "own features alone", "graph_alone": "list alone"}
PICTURE = "figures/volunteers.png"


@dataclass(frozen=True)
class VolunteerCell:
    """One run.

    Args:
        dataset, volunteers, epsilon, seed: Options of the run.
        labels: ``asked`` where other people who know their label answer it in place of a vote (``--private-labels``).
    """

    dataset: str
    volunteers: str
    epsilon: str
    seed: int
    labels: str = ASKED

    @property
    def turn(self) -> int:
        """Place in the order of the runs: large data at other budgets come last."""
        return self.seed - 2000 + (50 if self.dataset in LARGE and self.epsilon != NULLS_AT else 0)


def _cells() -> Iterator[VolunteerCell]:
    for labels, dataset, share, epsilon in product(LABELS, PEOPLE, SHARES, EPSILONS):
        few = dataset in LARGE and labels == NOT_ASKED
        if few and (epsilon != NULLS_AT or share == "0.25"):
            continue
        for number in range(FEW_SEEDS if few else SEEDS):
            yield VolunteerCell(dataset, share, epsilon, 2000 + number, labels)


CELLS = tuple(_cells())


def run(cell: VolunteerCell) -> dict[str, str]:
    """Run a cell and return its row."""
    from ldpsim.strategies import RunOptions, simulate

    nulls = cell.epsilon == NULLS_AT and cell.dataset not in LARGE
    return row_of(simulate(RunOptions(
        method="vote", dataset=cell.dataset, volunteers=float(cell.volunteers), epsilon=float(cell.epsilon),
        private_labels=cell.labels == ASKED, seed=cell.seed, nulls=nulls, reference=False, device="cpu",
        engine="local", out=None,
    )).record)  # fmt: skip


def row_of(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the figures of a result, shares of the test people."""
    nulls = record["nulls"] or {}
    others = nulls.get("shuffled") or {}
    taken = {**nulls, "shuffled_all": others.get("all", next(iter(others.values()), None))}
    found = {name: "" if taken.get(name) is None else f"{taken[name]['test']:.5f}" for name in (*NULLS, "shuffled_all")}
    return {"accuracy": f"{record['accuracy']['test']:.5f}", **found}


def section(rows: Sequence[Row], labels: str) -> str:
    """Return a table of the page: accuracy by volunteers and epsilon, and the halves at 4.

    Args:
        rows: All rows.
        labels: One of :data:`LABELS`.
    """
    rows = [row for row in rows if row["labels"] == labels]
    heads = ("people", "volunteers", *(f"epsilon {epsilon}" for epsilon in EPSILONS), *NULLS.values())
    lines = []
    for dataset in PEOPLE:
        for share in SHARES:
            of = [row for row in rows if (row["dataset"], row["volunteers"]) == (dataset, share)]
            if not of:
                continue
            figures = [_figure([row for row in of if row["epsilon"] == epsilon], "accuracy") for epsilon in EPSILONS]
            halves = [_figure([row for row in of if row["epsilon"] == NULLS_AT], name) for name in NULLS]
            lines.append((dataset, f"{100 * float(share):g} %", *figures, *halves))
    return table(heads, lines)


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw accuracy over volunteers where labels are asked, a panel for each data set with null models."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    shown = [dataset for dataset in PEOPLE if dataset not in LARGE]
    figure, panels = plt.subplots(1, len(shown), figsize=(11, 4), sharey=True)
    at = f"epsilon {NULLS_AT}"
    lines = {  # figure and epsilon of each line, and its words
        **{("accuracy", epsilon): f"vote, epsilon {epsilon}" for epsilon in DRAWN},
        ("features_alone", NULLS_AT): f"{NULLS['features_alone']}, {at}",
        ("graph_alone", NULLS_AT): f"{NULLS['graph_alone']}, {at}",
        ("chance", NULLS_AT): NULLS["chance"],  # whatever the epsilon is
    }
    for panel, dataset in zip(panels, shown, strict=True):
        of = [row for row in rows if (row["labels"], row["dataset"]) == (ASKED, dataset)]
        for number, ((name, epsilon), label) in enumerate(lines.items()):
            look = {"color": SERIES[number], "marker": MARKS[number], "linestyle": "-" if name == "accuracy" else "--"}
            _line(panel, [row for row in of if row["epsilon"] == epsilon], name, label, look)
        panel.set_xscale("log")
        panel.set_xticks([100 * float(share) for share in SHARES], [f"{100 * float(share):g}" for share in SHARES])
        panel.minorticks_off()
        panel.set_title(dataset)
        panel.set_xlabel("volunteers, % of all people (log scale)")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("test accuracy, %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=3, frameon=False)
    figure.tight_layout(rect=(0, 0.14, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _line(panel: Any, rows: Sequence[Row], name: str, label: str, look: Mapping[str, str]) -> None:
    points = {
        share: [100 * float(row[name]) for row in rows if row["volunteers"] == share and row[name]] for share in SHARES
    }
    places = [share for share in SHARES if points[share]]
    means = [statistics.fmean(points[share]) for share in places]
    spread = [statistics.stdev(points[share]) if len(points[share]) > 1 else 0.0 for share in places]
    panel.errorbar([100 * float(share) for share in places], means, spread, capsize=3, label=label, **look)


def _figure(rows: Sequence[Row], name: str) -> str:
    values = [100 * float(row[name]) for row in rows if row[name]]
    if not values:
        return "-"
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):.1f}{spread} ({len(values)})"


def studies(home: Path) -> Sequence[Study]:
    """Return the study."""
    keys = ("labels", "dataset", "volunteers", "epsilon", "seed")

    def key_of(cell: VolunteerCell) -> tuple[str, ...]:
        return cell.labels, cell.dataset, cell.volunteers, cell.epsilon, str(cell.seed)

    def rows_of(cell: VolunteerCell, result: Mapping[str, str] | None) -> list[Row]:
        return [] if result is None else [{**dict(zip(keys, key_of(cell), strict=True)), **result}]

    return [Study("volunteers", CELLS, Measured(home / "volunteers.jsonl", run), keys, key_of, rows_of, None,
                  picture=PICTURE, draw=draw)]  # fmt: skip


if __name__ == "__main__":
    main(__doc__, "volunteers", studies)
