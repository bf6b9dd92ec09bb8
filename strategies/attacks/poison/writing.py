"""Result of ``ldpsim poison`` on disk: ``result.json``, ``table.csv``, ``poison.png`` and the finished cells.

The folder is ``<out>/poison-<dataset>-<hash>-<seed>/``. One that was stopped is continued by the same command.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from devices.atomic_files import write_atomically
from strategies.attacks.poison.figure import draw
from strategies.attacks.poison.options import PoisonOptions
from strategies.attacks.poison.running import PoisonResult, digest_of, poison
from strategies.progress import Progress, quiet
from strategies.results import folder as run_folder

COLUMNS = (
    "method", "epsilon", "attack", "lie", "goal", "knowledge", "share", "defence", "repeats", "liars", "honest_test",
    "accuracy", "std", "vs_clean", "vs_silent", "vs_silent_std", "vs_undefended", "goal_value", "goal_clean",
    "fakes_accepted", "true_lost", "found", "false_alarms", "law", "measured", "theory", "bound", "passed",
)  # fmt: skip


def table_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the rows as CSV, figures with six decimals."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: f"{value:.6f}" if isinstance(value, float) and key not in ("epsilon", "share") else value
                         for key, value in row.items()})  # fmt: skip
    return text.getvalue()


def run_and_write(asked: PoisonOptions, out: Path, *, progress: Progress = quiet) -> tuple[PoisonResult, Path]:
    """Measure, or go on with a stopped measurement, and write the result; return it and its folder.

    Raises:
        ValueError: one line: options that do not fit, or a folder that cannot be written.
    """
    run = asked.run
    with run_folder.hold_folder(out, method="poison", dataset=run.dataset, digest=digest_of(asked), seed=run.seed) as (
        folder,
        _,
    ):
        result = poison(asked, folder, progress=progress)
        progress("drawing", None)
        draw(result.rows, folder / "poison.png", about=str(result.settings["dataset"]))
        write_atomically(folder / "table.csv", table_csv(result.rows))
        if not result.failures:  # a folder without a result is continued
            run_folder.write_result(folder, result.record())
    return result, folder
