"""Link prediction on Cora: privge with ten seeds beside re-runs of its code, other methods with three.

    python -m benchmarks.papers.links [--only hogs] [--pages-only]

The re-runs are our own, of the algorithm that the published code
has; no figure of them is from the paper.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.markdown import table
from benchmarks.papers import NOTES
from benchmarks.papers.cell_row import held
from benchmarks.papers.index import write_index
from benchmarks.study import Measured, Row, Study, main, rows_in

NULLS = ("common_neighbours", "pagerank", "features_alone", "shuffled_features", "shuffled_adjacency", "shuffled_all")
PRIVGE = {"r": "0.5", "debias": "false", "weight_decay": "0.05"}  # of the published code's link task on Cora
# re-run: figure in per cent, standard deviation, number of seeds
AGAIN = {("privge", "1"): (82.9, 0.8, 2), ("privge", "inf"): (88.2, 0.5, 2)}
NULLS_AGAIN = {"shuffled_features": (82.7, 1.4, 2), "pagerank": (84.2, 1.4, 2), "common_neighbours": (71.4, 0.1, 2)}


@dataclass(frozen=True)
class LinkCell:
    """One row: a method at a budget.

    Args:
        method, epsilon: Method and budget in its own sense; ``inf``: features in clear.
        repeats: Number of seeds; each has its own held-out edges, noise and training.
        settings: Parameters.
    """

    method: str
    epsilon: str
    repeats: int
    settings: Mapping[str, str] = field(default_factory=dict)


CELLS = (
    LinkCell("privge", "1", 10, PRIVGE), LinkCell("privge", "inf", 3, PRIVGE), LinkCell("lpgnn", "1", 3),
    LinkCell("hogs", "8", 3), LinkCell("blink", "8", 3), LinkCell("solitude", "8", 3), LinkCell("raw", "", 3),
)  # fmt: skip


def run(cell: LinkCell) -> dict[str, str]:
    """Run a cell and return its row."""
    from strategies import RunOptions, simulate

    budget: dict[str, Any] = {"eps_features": float("inf")} if cell.epsilon == "inf" else {}
    if cell.epsilon not in ("", "inf"):
        budget = {"epsilon": float(cell.epsilon)}
    started = time.process_time()
    record = simulate(RunOptions(
        method=cell.method, task="links", dataset="cora", repeats=cell.repeats,
        settings=cell.settings, reference=False, device="cpu", engine="local", out=None, **budget,
    )).record  # fmt: skip
    return {**row_of(cell, record), "cpu_seconds": f"{time.process_time() - started:.0f}"}


def row_of(cell: LinkCell, record: Mapping[str, Any]) -> dict[str, str]:
    """Return the row of a cell's result; shares are in per cent."""
    links, verdict = record["links"], record["verdict"]
    taken = {**links["nulls"], **{f"shuffled_{name}": entry for name, entry in links["nulls"]["shuffled"].items()}}
    bought = verdict["bought"].get("all") or {}
    edge = record["privacy"]["holds"]["relationship"]
    row = {"method": cell.method, "epsilon": cell.epsilon, "seeds": f"{cell.repeats}",
           "settings": " ".join(f"{key}={value}" for key, value in cell.settings.items()),
           "auc": _percent(links["test"]["auc"]), "auc_sd": _percent(links["std"]),
           "average_precision": _percent(links["test"]["average_precision"]), "score": links["score"]}  # fmt: skip
    for name in NULLS:
        entry = taken.get(name) or {}
        row |= {name: _percent(entry.get("test")), f"{name}_sd": _percent(entry.get("std"))}
    return {
        **row,
        "best_null": verdict["best_null"] or "",
        **{f"margin{part and '_' + part}": _percent((verdict["margin"] or {}).get(part or "value"))
           for part in ("", "low", "high")},
        **{f"bought{part and '_' + part}": _percent(bought.get(part or "value")) for part in ("", "low", "high")},
        "edge": held(edge),
    }  # fmt: skip


def page(rows: Sequence[Row]) -> str:
    """Return the page of the rows."""
    return (NOTES / "links.md").read_text().format(cells=_said(rows), table=_table(rows), beside=_beside(rows))


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2f}"


def _figure(row: Row, name: str) -> str:
    if not row[name]:
        return "-"
    spread = row.get(f"{name}_sd") or ""
    return f"{float(row[name]):.1f}" + (f" ± {float(spread):.1f}" if spread else "")


def _interval(row: Row, name: str) -> str:
    if not row[name]:
        return "-"
    value, low, high = (float(row[name + part]) for part in ("", "_low", "_high"))
    return f"{value:+.1f} ({low:+.1f} to {high:+.1f})"


def _table(rows: Sequence[Row]) -> str:
    heads = ("method", "epsilon", "seeds", "AUC", "average precision", "common neighbours", "pagerank",
             "features alone", "shuffled all", "margin over the best null", "private data gained",
             "epsilon of an edge")  # fmt: skip
    figures = ("auc", "average_precision", "common_neighbours", "pagerank", "features_alone", "shuffled_all")
    return table(heads, [
        (row["method"], row["epsilon"] or "-", row["seeds"], *(_figure(row, name) for name in figures),
         _interval(row, "margin"), _interval(row, "bought"), row["edge"])
        for row in rows
    ])  # fmt: skip


def _beside(rows: Sequence[Row]) -> str:
    beside = [(row["method"], row["epsilon"], row, "auc", AGAIN[key]) for row in rows
              if (key := (row["method"], row["epsilon"])) in AGAIN]  # fmt: skip
    beside += [(name.replace("_", " "), "1" if "shuffled" in name else "-", row, name, known)
               for row in rows if (row["method"], row["epsilon"]) == ("privge", "1")
               for name, known in NULLS_AGAIN.items()]  # fmt: skip
    return table(("what", "epsilon", "ours", "re-run of the code"), [
        (what, epsilon, f"{_figure(row, name)}, {row['seeds']} seeds", f"{value:.1f} ± {spread:.1f}, {seeds} seeds")
        for what, epsilon, row, name, (value, spread, seeds) in beside
    ])  # fmt: skip


def _said(rows: Sequence[Row]) -> str:
    above = [row["method"] for row in rows if row["margin_low"] and float(row["margin_low"]) > 0]
    said = f"{len(above)} of {len(rows)} rows are measurably above their best null model."
    return said if len(rows) == len(CELLS) else f"{len(rows)} of {len(CELLS)} rows were run.\n{said}"


def study(home: Path) -> Study:
    """Return the study."""
    return Study(
        name="links", cells=CELLS, results=Measured(home / "rows.jsonl", run), keys=("method", "epsilon"),
        key_of=lambda cell: (cell.method, cell.epsilon), rows_of=lambda cell, row: [] if row is None else [row],
        page=lambda found: page(rows_in(found)), figure="auc",
    )  # fmt: skip


if __name__ == "__main__":
    main(__doc__, "links", lambda home: [study(home)], lambda found, where: write_index())
