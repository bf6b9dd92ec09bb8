"""Fake accounts on the page of lying devices (``docs/results/poison.md``): a table and a picture for each graph.

    python -m benchmarks.poison.accounts FOLDER

writes the tables of ``python -m benchmarks.poison.run --accounts --folder FOLDER`` and the pictures. The page itself
is written by ``python -m benchmarks.poison.page``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from benchmarks.poison.sets import ACCOUNTS, DEFENDED_FROM, REPEATS, joining
from benchmarks.poison.tables import (
    Table,
    defences_table,
    grouped,
    note,
    number,
    order,
    percent,
    points,
    read_rows,
    write_rows,
)
from strategies.attacks.liars.attacks import SILENT
from strategies.attacks.poison.campaign import all_cells
from strategies.attacks.poison.figure import draw
from strategies.attacks.poison.options import NONE, PoisonCell
from strategies.attacks.poison.rows import poison_rows

GRAPHS = {"cora": "Cora", "citeseer": "CiteSeer"}
LEAST = 0.01  # a loss that is called one
ALONE = 0.02  # of one repeat: the page says that less than two points say nothing there
_COLUMNS = ("attack", "share", "accounts", "accuracy %", "to silence", "goal", "false pairs an account",
            "accounts a point", "of a one-hop vote", "measured", "theory", "repeats")  # fmt: skip
_GOALS = {"inflate": "as the class", "misclassify": "chosen as the class", "influence": "rank of the chosen"}


def measured(folder: Path, dataset: str) -> list[dict[str, Any]]:
    """Return the rows of all cells of a graph that are finished in a folder."""
    cells: dict[str, PoisonCell] = {}
    for entry in (*joining(dataset), *(replace(each, dataset=dataset, joins=True) for each in DEFENDED_FROM)):
        cells |= {cell.name: cell for cell in all_cells(entry.options(REPEATS, ACCOUNTS)) if cell.name not in cells}
    found = {name: path for name in cells if (path := folder / "cells" / f"{name}.json").is_file()}
    return poison_rows(list(cells.values()), {name: json.loads(path.read_text()) for name, path in found.items()})


def table_of(dataset: str) -> Path:
    """Return the place of a graph's rows."""
    return RESULTS / f"poison-accounts-{dataset}.csv"


def picture_of(dataset: str) -> str:
    """Return the place of a graph's picture, beside the page."""
    return f"figures/poison-accounts-{dataset}.png"


def section(by_graph: Mapping[str, Table]) -> Iterator[str]:
    """Yield the parts of the page about accounts; none without a row."""
    by_graph = {name: rows for name, rows in by_graph.items() if rows}
    if not by_graph:
        return
    yield "## Fake accounts"
    yield from note("accounts")
    yield "\n".join(f"- {line}" for name, rows in by_graph.items() for line in verdicts(name, rows))
    for name, rows in by_graph.items():
        yield f"### Accounts on {GRAPHS[name]}"
        yield f"![Accuracy of the honest by the number of accounts, {GRAPHS[name]}]({picture_of(name)})"
        for title, group in grouped(rows).items():
            yield f"**{title[0].upper()}{title[1:]}**{beside(group)}"
            yield accounts_table(group)
    defended = {f"{GRAPHS[name]}, {title}": group for name, rows in by_graph.items()
                for title, group in grouped(rows).items()}  # fmt: skip
    yield "### Defences against accounts"
    yield defences_table(defended)
    yield from note("accounts-defences")


def verdicts(graph: str, rows: Table) -> Iterator[str]:
    """Yield a line for each method: its worst attack, the accounts that a point takes, and the chosen people."""
    for title, group in grouped(rows).items():
        lies = [row for row in group if row["defence"] == NONE and row["attack"] not in (NONE, SILENT)
                and row["vs_silent"] is not None]  # fmt: skip
        worst, most = min(filter(_costs, lies), key=lambda row: row["vs_silent"], default=None), _last(lies)
        words = (
            f"no attack of up to {percent(most[0]['share'])} measurably costs a point beside silent accounts"
            if worst is None else
            f"the worst is `{worst['attack']}` of {percent(worst['share'])} ({worst['accounts']:.0f} accounts, "
            f"{worst['repeats']:.0f} repeat{'s' * (worst['repeats'] > 1)}): {points(worst['vs_silent'])} points beside "
            "silent accounts, "
            f"{worst['per_point']:.3g} accounts a point"
        )  # fmt: skip
        yield f"**{GRAPHS[graph]}, {title}**: {words}.{''.join(map(_goal, most))}"


def _costs(row: Mapping[str, Any]) -> bool:
    """Return whether a row costs a point or more and twice its standard error; of one repeat, two points or more."""
    if row["vs_silent_std"] is None:
        return bool(row["vs_silent"] <= -ALONE)
    return bool(row["vs_silent"] <= -max(LEAST, 2 * row["vs_silent_std"] / row["repeats"] ** 0.5))


def _last(lies: Table) -> list[Mapping[str, Any]]:
    """Return the response rows of the largest share."""
    share = max(row["share"] for row in lies)
    return [row for row in lies if row["share"] == share and row["lie"] == "response"]


def _goal(row: Mapping[str, Any]) -> str:
    if row["goal_value"] is None or row["goal_clean"] is None or row["goal"] not in ("misclassify", "influence"):
        return ""
    now, before, share = 100 * row["goal_value"], 100 * row["goal_clean"], percent(row["share"])
    if row["goal"] == "misclassify":
        return f" `{row['attack']}` of {share}: {now:.0f} % of the chosen people get the class ({before:.0f} %)."
    return f" `{row['attack']}` of {share}: the chosen people rise to degree rank {now:.0f} ({before:.0f})."


def beside(group: Table) -> str:
    """Return the null models of the run that nobody joins."""
    nulls: Mapping[str, float] = next((row["nulls"] for row in group if row["nulls"]), {})
    words = ", ".join(f"{name.replace('_', ' ')} {100 * value:.1f} %" for name, value in nulls.items())
    return f". Null models where nobody joins: {words}." if words else ""


def accounts_table(group: Table) -> str:
    """Return the table of one method and budget, without defences."""
    lines = []
    for row in sorted((row for row in group if row["defence"] == NONE), key=order):
        control = row["attack"] in (NONE, SILENT)
        spread = "" if row["std"] is None else f" ± {100 * row['std']:.1f}"
        goal = ""
        if row["goal"] in _GOALS and row["goal_value"] is not None and not control:
            vote = "" if row["one_hop_goal"] is None else f"; vote {100 * row['one_hop_goal']:.1f}"
            clean = "" if row["goal_clean"] is None else f" ({100 * row['goal_clean']:.1f}{vote})"
            goal = f"{_GOALS[row['goal']]} {100 * row['goal_value']:.1f}{clean}"
        law = row["law"] and row["law"] != "honest disagreements"
        name = "nobody" if row["attack"] == NONE else f"`{row['attack']}`{' input' * (row['lie'] == 'input')}"
        cells = (
            name, percent(row["share"]),
            number(row["accounts"], 0), f"{100 * row['accuracy']:.1f}{spread}",
            "" if control or row["vs_silent"] is None else points(row["vs_silent"]), goal,
            "" if row["attack"] == NONE else number(row["fakes_accepted"], 1),
            "" if control else number(row["per_point"], 0), "" if control else number(row["one_hop_per_point"], 0),
            number(row["measured"] if law and not control else None, 3),
            number(row["theory"] if law and not control else None, 3), f"{row['repeats']:.0f}",
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([f"| {' | '.join(_COLUMNS)} |", "|---" * len(_COLUMNS) + "|", *lines])


def tables() -> dict[str, Table]:
    """Return the rows of each graph that has a table."""
    return {name: read_rows(table_of(name)) for name in GRAPHS if table_of(name).is_file()}


def main() -> None:
    """Write tables and pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for name in GRAPHS:
        write_rows(measured(folder / f"accounts-{name}", name), table_of(name))
        # the goals stand in the table: a picture of all would have twenty panels
        rows = [{**row, "goal": "untargeted"} for row in read_rows(table_of(name)) if row["defence"] == NONE]
        draw(rows, RESULTS / picture_of(name), about=GRAPHS[name])


if __name__ == "__main__":
    main()
