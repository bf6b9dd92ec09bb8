"""Page of lying devices on Cora (``docs/results/poison.md``), with its table and picture.

    python -m benchmarks.poison.page [--folder FOLDER]

Without a folder the page and the picture are written again from ``docs/results/poison.csv``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks import RESULTS
from benchmarks.poison import accounts
from benchmarks.poison.sets import DEFENDED, MORE, SETS
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
from strategies.attacks.poison.laws import SIGMAS
from strategies.attacks.poison.options import NONE, PoisonCell
from strategies.attacks.poison.rows import BREAKDOWN, poison_rows

NAME, TABLE, PICTURE = "poison.md", "poison.csv", "figures/poison.png"


def measured(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of all cells that are finished in a folder."""
    cells: dict[str, PoisonCell] = {}
    for entry in (*SETS, *DEFENDED, *MORE):
        cells |= {cell.name: cell for cell in all_cells(entry.options(3)) if cell.name not in cells}
    found = {name: path for name in cells if (path := folder / "cells" / f"{name}.json").is_file()}
    return poison_rows(list(cells.values()), {name: json.loads(path.read_text()) for name, path in found.items()})


def page(rows: Table, joined: Mapping[str, Table]) -> str:
    """Return the page: of people who lie, and by graph of accounts that join."""
    groups = grouped(rows)
    parts = ["# Devices that lie: six methods on Cora", *note("head"), summary(rows)]
    said = [line for title, group in groups.items() for line in verdicts(title, group)]
    parts += ["## Verdicts", "\n".join(f"- {line}" for line in said), "## Damage by share of liars"]
    parts += [f"![Accuracy of the honest by share of liars]({PICTURE})", *note("picture")]
    for title, group in groups.items():
        parts += [f"### {title[0].upper()}{title[1:]}", beside(group), lies_table(group)]
    parts += [
        "## Defences",
        *note("defences"),
        defences_table(groups),
        *accounts.section(joined),
        "## How it was measured",
        *note("missing"),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def summary(rows: Table) -> str:
    """Return the counts of the page."""
    laws = [row["passed"] for row in rows if row["law"]]  # a count of false alarms passes too, and is no law
    most = int(max(row["repeats"] for row in rows))
    broken = sorted({row["method"] for row in rows if _breaks(row)})
    return (
        f"{len(rows)} rows; the most repeats of a row are {most}. {sum(laws)} of {len(laws)} rows with a law agree "
        f"with it. Lies cost at least 5 points more than silence for {', '.join(broken) or 'no method'}. A row agrees "
        f"if its number is within {SIGMAS:g} standard deviations of theory; a count may be one event beyond."
    )  # fmt: skip


def _breaks(row: Mapping[str, Any]) -> bool:
    known = row["attack"] not in (NONE, SILENT) and row["defence"] == NONE and row["vs_silent"] is not None
    return known and row["vs_silent"] <= -BREAKDOWN


def verdicts(title: str, group: Table) -> Iterator[str]:
    """Yield a sentence for each attack: its breakdown share, response beside input, and silence."""
    silent = {row["share"]: row for row in group if row["attack"] == SILENT}
    plain = [row for row in group if row["defence"] == NONE and row["vs_silent"] is not None]
    for attack in dict.fromkeys(row["attack"] for row in plain if row["attack"] not in (NONE, SILENT)):
        rows = [row for row in plain if row["attack"] == attack]
        at = min((row["share"] for row in rows if _breaks(row)), default=None)
        worst = min(rows, key=lambda row: row["vs_silent"])
        words = (
            f"no share up to {percent(max(row['share'] for row in rows))} costs at least 5 points more than silence"
            if at is None else
            f"from {percent(at)} of liars on, honest people lose at least 5 points more than under silence"
        )  # fmt: skip
        yield (
            f"**{title}, `{attack}`**: {words}; the worst difference is {points(worst['vs_silent'])} points "
            f"({worst['lie']}, {percent(worst['share'])}). {_input_beside_response(rows)}{_goal_words(rows)}"
            f"{_silence(silent.get(max(silent, default=0.0)))}"
        )  # fmt: skip


def _input_beside_response(rows: Table) -> str:
    last = max(row["share"] for row in rows)
    by = {row["lie"]: row["accuracy"] for row in rows if row["share"] == last}
    if len(by) < 2:
        return ""
    gap = by["response"] - by["input"]
    return f"At {percent(last)}, accuracy under response lies minus accuracy under input lies is {points(gap)} points. "


def _goal_words(rows: Table) -> str:
    words = {"inflate": "are predicted as the class", "connect": "of the chosen pairs are kept",
             "influence": "is the mean rank of the chosen people's degrees"}  # fmt: skip
    row = max(rows, key=lambda row: (row["share"], row["lie"] == "response"))
    if row["goal"] not in words or row["goal_value"] is None or row["goal_clean"] is None:
        return ""
    return (f"The goal at {percent(row['share'])}: {100 * row['goal_value']:.1f} % {words[row['goal']]}, "
            f"{100 * row['goal_clean']:.1f} % without lies. ")  # fmt: skip


def _silence(row: Mapping[str, Any] | None) -> str:
    if row is None or row["vs_clean"] is None:
        return ""
    return f"Silence of {percent(row['share'])} costs {points(row['vs_clean'])} points."


def beside(group: Table) -> str:
    """Return the null models of the run in which nobody lies."""
    nulls: Mapping[str, float] = next((row["nulls"] for row in group if row["nulls"]), {})
    words = ", ".join(f"{name.replace('_', ' ')} {100 * value:.1f} %" for name, value in nulls.items())
    return f"Null models where nobody lies: {words}." if words else ""


def lies_table(group: Table) -> str:
    """Return the table of one method and budget, without defences."""
    head = ("| lie | share | accuracy % | to silence | goal | false pairs a liar | measured | theory | bound | repeats "
            "|\n|---|---|---|---|---|---|---|---|---|---|")  # fmt: skip
    lines = []
    for row in sorted((row for row in group if row["defence"] == NONE), key=order):
        spread = "" if row["std"] is None else f" ± {100 * row['std']:.1f}"
        goal = "" if row["goal"] == "untargeted" or row["goal_value"] is None else _goal_cell(row)
        name = "nobody" if row["attack"] == NONE else f"`{row['attack']}` {row['lie']}".strip()
        law = row["law"] if row["law"] != "honest disagreements" else None
        cells = (name, percent(row["share"]), f"{100 * row['accuracy']:.1f}{spread}",
                 "" if row["attack"] in (NONE, SILENT) or row["vs_silent"] is None else points(row["vs_silent"]),
                 goal, number(row["fakes_accepted"], 1), number(row["measured"] if law else None, 3),
                 number(row["theory"] if law else None, 3), number(row["bound"], 3),
                 f"{row['repeats']:.0f}")  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([head, *lines])


def _goal_cell(row: Mapping[str, Any]) -> str:
    clean = "" if row["goal_clean"] is None else f" ({100 * row['goal_clean']:.1f})"
    return f"{row['goal']} {100 * row['goal_value']:.1f}{clean}"


def main() -> None:
    """Write the page, its picture and, from a folder of cells, its table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path)
    folder = parser.parse_args().folder
    if folder is not None:
        write_rows(measured(folder), RESULTS / TABLE)
    rows = read_rows(RESULTS / TABLE)
    draw(rows, RESULTS / PICTURE, about="cora")
    (RESULTS / NAME).write_text(page(rows, accounts.tables()))


if __name__ == "__main__":
    main()
