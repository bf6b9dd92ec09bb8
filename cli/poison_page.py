"""Page of ``ldpsim poison``: the verdict, the figure and the tables, in one file that fetches nothing."""

from __future__ import annotations

import base64
from pathlib import Path

from cli.poison_words import COLUMNS, breakdown_lines, by_method, named_lie, null_model_words
from devices.atomic_files import write_atomically
from strategies.attacks.campaign import CampaignResult


def write_page(result: CampaignResult, picture: Path, path: Path) -> None:
    """Write the page of a result.

    Args:
        result: The result.
        picture: Its figure, a PNG.
        path: The HTML file.
    """
    from cli.report.page import environment

    text = environment().get_template("poison.html").render(
        dataset=str(result.settings["dataset"]), lines=breakdown_lines(result.rows), passed=result.passed,
        headings=["lie", *(column.heading for column in COLUMNS)],
        picture=base64.b64encode(picture.read_bytes()).decode("ascii"),
        methods=[
            (title, null_model_words(rows),
             [[named_lie(row).strip(), *(column.words(row) for column in COLUMNS)] for row in rows])
            for title, rows in by_method(result.rows).items()
        ],
    )  # fmt: skip
    write_atomically(path, text)
