"""Result of a stress test on disk, in ``<out>/stress-<dataset>-<hash>-<seed>/``.

The files are ``result.json`` (rows, whether all passed, settings), ``table.csv`` and
``stress.png``. result.json is written whole or not at all, and an existing one is not changed.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from devices.atomic_files import write_atomically
from strategies.attacks.stress.figure import draw
from strategies.attacks.stress.options import StressResult
from strategies.results import folder as run_folder
from strategies.setup.fingerprint import config_hash

SCHEMA = 1
COLUMNS = (
    "protection", "adversary", "fault", "covered", "attribute", "asks", "recovered", "one_query_bound", "theory",
    "distinct_releases", "edge_precision", "edge_recall", "edge_top", "prior_precision", "prior_recall", "passed",
)  # fmt: skip


def record_of(result: StressResult) -> dict[str, Any]:
    """Return the content of result.json."""
    return {
        "schema": SCHEMA,
        "rows": result.rows,
        "passed": result.passed,
        "settings": result.settings,
        "answers": result.answers,
        "seconds": result.seconds,
    }


def table_csv(rows: list[dict[str, Any]]) -> str:
    """Return the rows as CSV, shares with six decimals."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: f"{v:.6f}" if isinstance(v, float) else v for k, v in row.items()})
    return text.getvalue()


def write_stress(result: StressResult, out: Path) -> Path:
    """Write a result and return its folder.

    Raises:
        ValueError: if it cannot be written.
    """
    digest = config_hash(result.settings)
    dataset, seed = str(result.settings["dataset"]), result.settings["seed"]
    with run_folder.hold_folder(out, method="stress", dataset=dataset, digest=digest, seed=seed) as (folder, _):
        draw(result, folder / "stress.png")
        write_atomically(folder / "table.csv", table_csv(result.rows))
        run_folder.write_result(folder, record_of(result))
    return folder
