"""Page of ``ldpsim poison``: the verdict, the pictures and the tables, in one file that fetches nothing."""

from __future__ import annotations

import base64
from pathlib import Path

from cli.poison_words import breakdown_lines, by_method, columns_of, join_in, named_lie, null_model_words
from cli.words import NONE
from devices.atomic_files import write_atomically
from strategies.attacks.campaign import CampaignResult


def write_page(result: CampaignResult, path: Path) -> None:
    """Write the page of a result to an HTML file; a column without any figure is left out."""
    from cli.report.page import environment
    from strategies.attacks.poison.figure import panel_pictures

    columns = [column for column in columns_of(result.rows) if any(column.words(row) != NONE for row in result.rows)]
    text = environment().get_template("poison.html").render(
        dataset=str(result.settings["dataset"]), joined=join_in(result.rows), lines=breakdown_lines(result.rows),
        passed=result.passed, headings=["lie", *(column.heading for column in columns)],
        pictures=[(title, base64.b64encode(png).decode("ascii")) for title, png in panel_pictures(result.rows)],
        methods=[
            (title, null_model_words(rows),
             [[named_lie(row).strip(), *(column.words(row) for column in columns)] for row in rows])
            for title, rows in by_method(result.rows).items()
        ],
    )  # fmt: skip
    write_atomically(path, text)
