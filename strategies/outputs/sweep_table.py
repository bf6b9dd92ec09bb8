"""Table of a sweep: one flat row per cell, as CSV and, if pyarrow is installed, as Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.strategies.foreign_text import csv_cell
from ldpsim.strategies.results.shown_nulls import COLUMNS, null_columns, shown_nulls_of, shown_verdict
from ldpsim.strategies.setup.option_spec import BUDGET, declared
from ldpsim.strategies.setup.options import RunOptions, Seeds

if TYPE_CHECKING:
    from pandas import DataFrame

SweepRow = dict[str, Any]
# Measured values: they differ when the same cell runs again.
MEASURED = ("seconds_population", "seconds_collect", "seconds_reconstruct", "seconds_train", "seconds_nulls",
            "seconds_total", "peak_rss_bytes")  # fmt: skip
_COLUMNS = {name: spec for name, spec in declared(RunOptions).items() if spec.column and not spec.personal}
_OPTIONS = sorted(_COLUMNS, key=lambda name: _COLUMNS[name].panel != BUDGET)  # budgets come first
_SEEDS = tuple(declared(Seeds))
_FIRST = (
    "cell", "status", "method", "dataset", "gnn", "nodes", "edges", "features", "classes", *_OPTIONS,
    *(f"{name}_seed" for name in _SEEDS), "config_hash", "test", "val", "macro_f1", "std", "nonprivate_test",
    "nonprivate_test_own_settings", *COLUMNS, "trust", "claimed", "holds", "collections", "searched",
    "asked", "answered", "refused", "silent", "failed", "rounds", "messages", "downlink_bytes", "uplink_bytes",
    "downlink_bytes_per_device", "uplink_bytes_per_device", "edge_precision", "edge_recall", "edges_kept",
    "feature_mae", "aggregate_mae", *MEASURED,
)  # fmt: skip
_LAST = ("folder", "error")
_OF_A_LEVEL = ("", "_status", "_delta", "_of_one")


def failed_row(number: int, options: RunOptions, digest: str | None, line: str) -> SweepRow:
    """Return the row of a cell without a result: its options and the reason."""
    asked = asdict(options)
    return {
        "cell": number,
        "status": "failed",
        **{name: asked[name] for name in ("method", "dataset", "gnn", *_OPTIONS)},
        **{f"{name}_seed": value for name, value in options.seeds_of(0).to_dict().items()},
        **{f"param_{name}": _read(value) for name, value in options.settings.items()},
        "config_hash": digest,
        "error": line,
    }


def row_of(number: int, record: Mapping[str, Any], folder: str) -> SweepRow:
    """Return the row of a result.

    Args:
        number: Number of the cell, from 1.
        record: Content of its result.json.
        folder: Name of its folder.
    """
    config, devices, communication = record["config"], record["devices"], record["communication"]
    made, privacy, found = record["dataset"], record["privacy"], record["reconstruction"]
    row: SweepRow = {
        "cell": number,
        "status": "done",
        "method": record["method"],
        "dataset": made["name"],
        "gnn": record["gnn"],
        **{name: made[name] for name in ("nodes", "edges", "features", "classes")},
        **{name: {**config, **config["budget"]}.get(name) for name in _OPTIONS},
        **{f"{name}_seed": record["seeds"][name] for name in _SEEDS},
        **{f"param_{name}": value for name, value in config["parameters"].items() if name != "gnn"},
        "config_hash": record["config_hash"],
        **{name: record["accuracy"][name] for name in ("test", "val", "macro_f1", "std")},
        **{name: record["reference"].get(name) for name in ("nonprivate_test", "nonprivate_test_own_settings")},
        **null_columns(shown_nulls_of(record), shown_verdict(record)),
        "trust": privacy["trust"],
        "claimed": privacy["claimed"]["value"],
        "collections": privacy["collections"],
        "searched": privacy["searched"],
        # A retry counts as replayed, so the sum does not depend on interruptions.
        "answered": devices["reported"] + devices["replayed"],
        **{name: devices[name] for name in ("asked", "refused", "silent", "failed")},
        **{name: communication[name] for name in communication if name in _FIRST},
        **{name: found[name] for name in ("edge_precision", "edge_recall", "feature_mae", "aggregate_mae")},
        "edges_kept": found["edges"],
        **{f"seconds_{name}": value for name, value in record["seconds"].items()},
        "peak_rss_bytes": record["memory"]["peak_rss_bytes"],
        "folder": folder,
    }
    for level in LEVELS:
        held = privacy["holds"][level]
        one = held.get("of_one") or {"value": None}
        row |= {f"holds_{level}": held["value"], f"holds_{level}_status": held["status"],
                f"holds_{level}_delta": held["delta"], f"holds_{level}_of_one": one["value"]}  # fmt: skip
    return row


def columns(rows: Sequence[SweepRow]) -> list[str]:
    """Return the columns of a table: the fixed ones, with the parameters of all cells before the last two."""
    held = [f"holds_{level}{part}" for level in LEVELS for part in _OF_A_LEVEL]
    place = _FIRST.index("holds")  # four columns for each level of guarantee stand there
    parameters = sorted({name for row in rows for name in row if name.startswith("param_")})
    return [*_FIRST[:place], *held, *_FIRST[place + 1 :], *parameters, *_LAST]


def typed(rows: Sequence[SweepRow]) -> list[SweepRow]:
    """Return rows with every column. A column has one type: numbers if all its values are, else text; None if empty."""
    names = columns(rows)
    full = [{name: row.get(name) for name in names} for row in rows]
    for name in names:
        kinds = {type(row[name]) for row in full if row[name] is not None}
        if len(kinds) > 1:
            to: type = float if kinds == {int, float} else str
            for row in full:
                row[name] = None if row[name] is None else to(row[name])
    return full


def data_frame(rows: Sequence[SweepRow]) -> DataFrame:
    """Return rows as a pandas DataFrame, with the columns of ``table.csv``.

    Raises:
        ModuleNotFoundError: where pandas is not installed.
    """
    from pandas import DataFrame

    return DataFrame(typed(rows), columns=columns(rows))


def write_tables(folder: Path, rows: Sequence[SweepRow]) -> tuple[Path, Path | None]:
    """Write ``table.csv`` and, if pyarrow is installed, ``table.parquet``; each completely or not at all.

    Returns:
        The two paths; None if no Parquet file could be written. An older Parquet file is
        then removed, so that the two tables of a folder never disagree.
    """
    full = typed(rows)
    write_atomically(folder / "table.csv", csv_text(columns(rows), [list(row.values()) for row in full]))
    return folder / "table.csv", _write_parquet(folder / "table.parquet", full)


def csv_text(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return rows of values below their names as CSV; truth is ``true`` or ``false``, and None is empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(
        [str(value).lower() if isinstance(value, bool) else csv_cell(value) for value in row] for row in rows
    )
    return text.getvalue()


def _write_parquet(path: Path, rows: Sequence[SweepRow]) -> Path | None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        path.unlink(missing_ok=True)
        return None
    content = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), content)
    write_atomically(path, content.getvalue())
    return path


def _read(text: str) -> Any:
    """Return the value of a setting's text, so that a column keeps its type when a cell fails."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
