"""The flat row of a result: the one view that tables, data frames and means over seeds are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpsim.curator.methods.spec import TRUSTED
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.strategies.foreign_text import csv_cell, number
from ldpsim.strategies.results.verdict import DEVICES, null_columns, shown_nulls_of, shown_verdict
from ldpsim.strategies.setup.option_spec import BUDGET, declared
from ldpsim.strategies.setup.options import RunOptions, Seeds

if TYPE_CHECKING:
    from pandas import DataFrame

Row = dict[str, Any]
_LAST = ("folder", "error")
_COLUMNS = {name: spec for name, spec in declared(RunOptions).items() if spec.column and not spec.local}
_ACCURACY = ("test", "val", "macro_f1", "std", "curator", "device", "device_std")
_WITH_FRIENDS = ("device_with_friends", "device_with_friends_std")  # a result before friends told has none
_OPTIONS = sorted(_COLUMNS, key=lambda name: _COLUMNS[name].panel != BUDGET)  # budgets come first
_GIVEN = {"cell", *_OPTIONS, *(f"{name}_seed" for name in declared(Seeds))}


def row_of(record: Mapping[str, Any], folder: str, cell: int = 1) -> Row:
    """Return the row of a result.

    Args:
        record: Content of its result.json.
        folder: Name of its folder.
        cell: Number of the cell, from 1.
    """
    config, devices, data = record["config"], record["devices"], record["dataset"]
    privacy, graph = record["privacy"], record["reconstruction"]
    row: Row = {
        "cell": cell,
        "status": "done",
        "method": record["method"],
        "dataset": data["name"],
        "gnn": record["gnn"],
        **{name: data[name] for name in ("nodes", "edges", "features", "classes")},
        **{name: {**config, **config["budget"]}.get(name) for name in _OPTIONS},
        **{f"{name}_seed": record["seeds"][name] for name in declared(Seeds)},
        "config_hash": record["config_hash"],
        **{name: record["accuracy"][name] for name in _ACCURACY},
        **{name: record["accuracy"].get(name) for name in _WITH_FRIENDS},
        **{name: ((record.get("nulls") or {}).get(name) or {}).get("test") for name in DEVICES},
        **{name: record["reference"].get(name) for name in ("nonprivate_test", "nonprivate_test_own_settings")},
        **null_columns(shown_nulls_of(record), shown_verdict(record)),
        "trust": privacy["trust"],
        "trusted": trusted_in(record),
        "claimed": privacy["claimed"]["value"],
    }
    for level, entry in privacy["holds"].items():
        one = entry.get("of_one") or {"value": None}
        row |= {f"holds_{level}": entry["value"], f"holds_{level}_status": entry["status"],
                f"holds_{level}_delta": entry["delta"], f"holds_{level}_of_one": one["value"]}  # fmt: skip
    return row | {
        "collections": privacy["collections"],
        "searched": privacy["searched"],
        "asked": devices["asked"],
        # A retry counts as replayed, so the sum does not depend on interruptions.
        "answered": devices["reported"] + devices["replayed"],
        **{name: devices[name] for name in ("refused", "silent", "failed")},
        **{name: value for name, value in record["communication"].items() if not isinstance(value, Mapping)},
        **{name: graph[name] for name in ("edge_precision", "edge_recall", "feature_mae")},
        "edges_kept": graph["edges"],
        **{f"seconds_{name}": value for name, value in record["seconds"].items()},
        "peak_rss_bytes": record["memory"]["peak_rss_bytes"],
        **{f"param_{name}": value for name, value in config["parameters"].items() if name != "gnn"},
        "folder": folder,
        "error": None,
    }  # fmt: skip


def trusted_in(record: Mapping[str, Any]) -> str:
    """Return who must be trusted; an older result does not say so, and it follows from its trust and its scores.

    >>> trusted_in({"privacy": {"trust": "trusted curator"}, "accuracy": {"curator": None}})
    'server'
    """
    privacy = record["privacy"]
    if privacy.get("trusted") in TRUSTED:
        return str(privacy["trusted"])
    if privacy["trust"] == "untrusted curator":
        return "nobody"
    return "owner" if record["accuracy"].get("curator") is not None else "server"


def figures(record: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Return name and value of the numbers that a run measured: those of its row that are no options."""
    row = row_of(record, "")
    return [(name, float(value)) for name, value in row.items()
            if name not in _GIVEN and not name.startswith("param_") and number(value) is not None]  # fmt: skip


def failed_row(cell: int, options: RunOptions, digest: object, line: str) -> Row:
    """Return the row of a cell without a result: its options, its config hash if there is one, and the reason."""
    values = asdict(options)
    return {
        "cell": cell,
        "status": "failed",
        **{name: values[name] for name in ("method", "dataset", "gnn", *_OPTIONS)},
        **{f"{name}_seed": value for name, value in options.seeds_of(0).to_dict().items()},
        **{f"param_{name}": value for name, value in options.settings.items()},
        "config_hash": digest if isinstance(digest, str) else None,
        "error": line,
    }


def data_frame(rows: Sequence[Row]) -> DataFrame:
    """Return rows as a pandas DataFrame. A column has one type: numbers if all its values are, else text."""
    from pandas import DataFrame

    names = list(dict.fromkeys(name for row in sorted(rows, key=len, reverse=True) for name in row))
    names = [name for name in names if name not in _LAST] + [name for name in _LAST if name in names]
    frame = DataFrame(rows, columns=names, dtype=object)
    for name in names:
        kinds = {type(value) for value in frame[name].dropna()}
        if kinds <= {int, float}:
            frame[name] = frame[name].astype("Int64" if kinds == {int} else "float64")
        elif kinds == {bool}:
            frame[name] = frame[name].astype("boolean")
        else:
            frame[name] = frame[name].map(str, na_action="ignore").astype("string")
    return frame


def write_table(path: Path, frame: DataFrame) -> None:
    """Write a table as CSV, completely or not at all."""
    write_atomically(path, csv_text(frame))


def csv_text(frame: DataFrame) -> str:
    """Return a table as CSV; truth is ``true`` or ``false``, and no cell is a formula for a spreadsheet."""
    return str(frame.astype(object).map(_cell, na_action="ignore").to_csv(index=False, lineterminator="\n"))


def _cell(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else csv_cell(value)
