"""Page and picture of docs/results/trust-or-ask.md: from gap.csv, and from vote.csv, sbp.csv and volunteers.csv."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from benchmarks.markdown import table
from benchmarks.study import Found, Row, read_rows, rows_in
from ldpsim.curator.shown import loss_in_table
from ldpsim.strategies.palette import MARKS, SERIES

ASKED = ("vote", "sbp")  # with public features: relationships are private, as at the edge level
SHARE = "0.25"  # of volunteers, of the reports in which everything of the others is private
POINTS = 1.5
GRAPHS = {"cora": "Cora", "citeseer": "CiteSeer", "pubmed": "PubMed", "facebook": "Facebook",
          "generated": "The generated graph, 3,000 people"}  # fmt: skip
CELL = ("method", "dataset", "level", "epsilon", "hops")
ORACLE = Path(__file__).with_name("oracles") / "gap.csv"  # the public code, with the settings of the part `oracle`


def values(rows: Sequence[Row], **wanted: str) -> list[float]:
    """Return accuracies in percent of the rows with these values."""
    return [100 * float(row["accuracy"]) for row in rows if all(row[name] == value for name, value in wanted.items())]


def shown(found: Sequence[float]) -> str:
    """Return mean, deviation and number in words; a dash for none."""
    if not found:
        return "-"
    spread = f" ± {statistics.stdev(found):.1f}" if len(found) > 1 else ""
    return f"{statistics.fmean(found):.1f}{spread} ({len(found)})"


def agrees(ours: Sequence[float], public: Row) -> bool:
    """Return whether the means differ by 1.5 points at most, or by three errors of their difference.

    A public figure of one seed has the deviation of ours.
    """
    own = statistics.stdev(ours) if len(ours) > 1 else 0.0
    theirs = float(public["sd"] or own)
    error = math.sqrt(own**2 / len(ours) + theirs**2 / int(public["seeds"]))
    return abs(statistics.fmean(ours) - float(public["mean"])) <= max(POINTS, 3 * error)


def oracle_table(rows: Sequence[Row]) -> str:
    """Return our figures beside those of the public code."""
    lines = []
    for public in read_rows(ORACLE):
        ours = values(rows, part="oracle", **{name: public[name] for name in CELL})
        if not ours:
            continue
        spread = f" ± {float(public['sd']):.1f}" if public["sd"] else ""
        theirs = f"{float(public['mean']):.1f}{spread} ({public['seeds']})"
        name = "network without a graph" if public["hops"] == "0" else public["method"]
        budget = "no noise" if public["epsilon"] == "none" else public["epsilon"]
        lines.append((public["dataset"], name, public["level"], budget, shown(ours), theirs,
                      f"{statistics.fmean(ours) - float(public['mean']):+.1f}",
                      "yes" if agrees(ours, public) else "no"))  # fmt: skip
    return table(("people", "method", "level", "epsilon", "ours", "public code", "difference", "agrees"), lines)


def reports(dataset: str, method: str) -> dict[float, list[float]]:
    """Return loss of a relationship -> accuracies, of a method that asks everybody once; edges alone are private."""
    found: dict[float, list[float]] = {}
    for row in read_rows(RESULTS / f"{'vote' if method == 'vote' else 'sbp'}.csv"):
        if (row["dataset"], row["setting"], row["method"]) == (dataset, "public features", method) and row["test"]:
            found.setdefault(2 * float(row["budget"]), []).append(float(row["test"]))
    return {loss: seen for loss, seen in sorted(found.items()) if loss >= 1}


def volunteered(dataset: str) -> dict[float, list[float]]:
    """Return loss of a person -> accuracies of `vote` beside volunteers: list, features and label are private."""
    found: dict[float, list[float]] = {}
    for row in read_rows(RESULTS / "volunteers.csv"):
        if (row["labels"], row["dataset"], row["volunteers"]) == ("asked", dataset, SHARE):
            found.setdefault(float(row["epsilon"]), []).append(100 * float(row["accuracy"]))
    return dict(sorted(found.items()))


def nobody(dataset: str, method: str) -> list[float]:
    """Return accuracies of a row of vote.csv that asks nobody: ``features alone`` or ``no noise``."""
    return [float(row["test"]) for row in read_rows(RESULTS / "vote.csv") if row["test"]
            and (row["dataset"], row["setting"], row["method"]) == (dataset, "nobody asked", method)]  # fmt: skip


def owned(rows: Sequence[Row], dataset: str, method: str, level: str, hops: str = "2") -> dict[float, list[float]]:
    """Return loss -> accuracies of an owner's method: of a relationship, or of a person who joins."""
    name = "relationship" if level == "edge" else "person_joins"
    found: dict[float, list[float]] = {}
    for row in rows:
        if (row["part"], row["dataset"], row["method"], row["level"], row["hops"]) == (
            "trust", dataset, method, level, hops
        ) and row[name]:  # fmt: skip
            found.setdefault(float(loss_in_table(float(row[name]))), []).append(100 * float(row["accuracy"]))
    return dict(sorted(found.items()))


def relationship_table(rows: Sequence[Row], dataset: str) -> str:
    """Return accuracies at equal losses of a relationship."""
    losses = (2.0, 4.0, 8.0, 16.0)
    lines = [(f"`{method}`: an owner is trusted", *(shown(owned(rows, dataset, method, "edge").get(loss, []))
              for loss in losses)) for method in ("gap", "progap")]  # fmt: skip
    lines += [(f"`{method}`: everybody is asked once", *(shown(reports(dataset, method).get(loss, []))
               for loss in losses)) for method in ASKED]  # fmt: skip
    alone = values(rows, part="trust", dataset=dataset, level="edge", hops="0", epsilon="none")
    lines.append(("the owner's network without a graph", *[shown(alone)] * 4))
    lines.append(("features alone (ridge or perceptron)", *[shown(nobody(dataset, "features alone"))] * 4))
    clear = values(rows, part="trust", dataset=dataset, method="gap", level="edge", hops="2", epsilon="none")
    lines.append(("`gap` without noise", *[shown(clear)] * 4))
    lines.append(("GCN without noise", *[shown(nobody(dataset, "no noise"))] * 4))
    return table(("loss of a relationship", *(f"{loss:g}" for loss in losses)), measured(lines))


def person_table(rows: Sequence[Row], dataset: str) -> str:
    """Return accuracies at equal losses of a person, and what a replaced record loses."""
    losses = (4.0, 8.0, 16.0)
    lines = [(f"`{method}`: an owner is trusted", *(shown(owned(rows, dataset, method, "node").get(loss, []))
              for loss in losses)) for method in ("gap", "progap")]  # fmt: skip
    alone = owned(rows, dataset, "gap", "node", "0")
    lines.append(("the owner's private network without a graph", *(shown(alone.get(loss, [])) for loss in losses)))
    asked = volunteered(dataset)
    lines.append(
        (f"`vote`, {100 * float(SHARE):g} % volunteers in clear", *(shown(asked.get(loss, [])) for loss in losses))
    )
    return table(("loss of a person", *(f"{loss:g}" for loss in losses)), measured(lines))


def measured(lines: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the lines with a figure."""
    return [line for line in lines if any(cell != "-" for cell in line[1:])]


def by_graph(make: Callable[[Sequence[Row], str], str], rows: Sequence[Row]) -> str:
    """Return a table for each graph, with its name as the title."""
    return "\n\n".join(f"### {title}\n\n{make(rows, dataset)}" for dataset, title in GRAPHS.items())


def draw(rows: Sequence[Row], path: Path) -> None:
    """Draw Cora: accuracy over the loss of a relationship, and over that of a person."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True)
    lines: dict[str, list[Any]] = {
        "gap: an owner is trusted": [owned(rows, "cora", "gap", "edge"), owned(rows, "cora", "gap", "node")],
        "progap: an owner is trusted": [owned(rows, "cora", "progap", "edge"), owned(rows, "cora", "progap", "node")],
        "vote: everybody is asked once": [reports("cora", "vote"), None],
        "sbp: everybody is asked once": [reports("cora", "sbp"), None],
        "vote beside 25 % volunteers": [None, volunteered("cora")],
        "the owner's network without a graph": [
            values(rows, part="trust", dataset="cora", level="edge", hops="0", epsilon="none"),
            owned(rows, "cora", "gap", "node", "0"),
        ],
        "GCN without noise": [nobody("cora", "no noise"), nobody("cora", "no noise")],
    }
    for number, (label, sides) in enumerate(lines.items()):
        for panel, found in zip((left, right), sides, strict=True):
            look = {"color": SERIES[number], "label": label}
            if isinstance(found, list) and found:
                panel.axhline(statistics.fmean(found), linestyle="--", **look)
            elif found:
                at = {loss: seen for loss, seen in found.items() if loss <= 16}
                spread = [statistics.stdev(seen) if len(seen) > 1 else 0.0 for seen in at.values()]
                panel.errorbar(list(at), [statistics.fmean(seen) for seen in at.values()], spread, capsize=3,
                               marker=MARKS[number], **look)  # fmt: skip
    left.set_xlabel("loss of a relationship (log scale)\nfeatures and training labels are public")
    right.set_xlabel("loss of a person (log scale)\nlist, features and label are private")
    left.set_ylabel("test accuracy, %")
    for panel in (left, right):
        panel.set_xscale("log", base=2)
        panel.set_xticks([1, 2, 4, 8, 16], ["1", "2", "4", "8", "16"])
        panel.grid(alpha=0.3)
    shown_lines = {}
    for panel in (left, right):
        shown_lines.update(dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True)))
    figure.legend(list(shown_lines.values()), list(shown_lines), loc="lower center", ncols=3, frameon=False)
    figure.suptitle("Cora: an owner is trusted, or everybody is asked once")
    figure.tight_layout(rect=(0, 0.17, 1, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def page(found: Found) -> str:
    """Return the page."""
    rows = rows_in(found)
    text = (Path(__file__).with_name("notes") / "trust-or-ask.md").read_text()
    text = text.replace("{relationship}", by_graph(relationship_table, rows))
    text = text.replace("{person}", by_graph(person_table, rows))
    compared = oracle_table(rows)
    lines = compared.splitlines()[2:]
    text = text.replace("{agree}", f"{sum(line.endswith('| yes |') for line in lines)} of {len(lines)}")
    return text.replace("{oracle}", compared)
