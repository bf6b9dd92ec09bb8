"""Page of ``ldpsim poison``: the verdict, the figure and the tables, in one file that fetches nothing."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cli.poison_words import (
    accuracy,
    asking_nobody,
    by_method,
    difference,
    goal_words,
    named_lie,
    number,
    share_words,
    theory,
)
from cli.words import NONE
from devices.atomic_files import write_atomically
from strategies.poison.running import PoisonResult

HEADINGS = ("lie", "share", "repeats", "accuracy %", "vs silent", "goal", "fakes a liar", "liars found %",
            "honest excluded %", "measured", "theory", "bound", "law")  # fmt: skip


def write_page(result: PoisonResult, picture: Path, path: Path) -> None:
    """Write the page of a result.

    Args:
        result: The result.
        picture: Its figure, a PNG.
        path: The HTML file.
    """
    from cli.report.page import environment

    lines = [f"{name}: 5 points less than silence from {100 * share:g} % of the people on."
             for name, share in result.record()["poison"]["breakdown"].items() if share is not None]  # fmt: skip
    text = environment().get_template("poison.html").render(
        dataset=str(result.settings["dataset"]), lines=lines, passed=result.passed, headings=HEADINGS,
        picture=base64.b64encode(picture.read_bytes()).decode("ascii"),
        methods=[(title, asking_nobody(rows), _cells(rows)) for title, rows in by_method(result.rows).items()],
    )  # fmt: skip
    write_atomically(path, text)


def _cells(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    return [
        [named_lie(row).strip(), f"{100 * row['share']:g} %", str(row["repeats"]), accuracy(row),
         difference(row), goal_words(row), number(row["fakes_accepted"]), share_words(row["found"]),
         share_words(row["false_alarms"]), _figure(row["measured"]), _figure(row["theory"]), _figure(row["bound"]),
         theory(row, marked="differs")]
        for row in rows
    ]  # fmt: skip


def _figure(value: float | None) -> str:
    return NONE if value is None else f"{value:,.3f}" if abs(value) < 10 else f"{value:,.0f}"
