"""Figures of each chart, as CSV to download."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from ldpsim.cli.report.gather import ShownResult
from ldpsim.strategies.foreign_text import csv_cell
from ldpsim.strategies.results.levels import shown_levels
from ldpsim.strategies.results.shown_nulls import null_columns

Row = Mapping[str, Any]


def tables(rows: Sequence[Row], results: Sequence[ShownResult]) -> dict[str, str]:
    """Return CSV texts by name; figures are not rounded.

    Args:
        rows: Of the page; each is the mean over its seeds.
        results: The results of all rows.
    """
    labels = {folder: row["label"] for row in rows for folder in row["folders"]}
    return {
        "results": _csv([_result(entry, labels) for entry in results]),
        "all-figures": _csv([_whole(row) for row in rows]),
        "nulls": _csv([{**_head(row), **_nulls(row)} for row in rows]),
        "privacy": _csv([{**_head(row), **_privacy(row)} for row in rows]),
        "bytes": _csv([{**_head(row), **_cost(row)} for row in rows]),
        "rounds-and-seconds": _csv([{**_head(row), **_time(row)} for row in rows]),
        "edges": _csv([{"method": row["label"], **_edges(row)} for row in rows]),
        "degrees": _csv([entry for row in rows for entry in _degrees(row)]),
    }


def data_link(text: str) -> str:
    """Return a ``data:`` address that downloads the text; signs that mean nothing in one stay as they are."""
    return "data:text/csv;charset=utf-8," + quote(text, safe=",:;=/()@!*$|")


def _head(row: Row) -> dict[str, Any]:
    return {"method": row["label"], "test_accuracy": row["test"], "std": row["std"], "repeats": row["repeats"],
            "results": row["n"]}  # fmt: skip


def _result(entry: ShownResult, labels: Mapping[str, str]) -> dict[str, Any]:
    row = entry.row
    best = row["best_null"]
    seed = None if row["seed"] is None else int(row["seed"])
    return {"method": labels.get(row["folder"], row["method"]), "dataset": entry.people["name"], "seed": seed,
            "population": entry.people["digest"][:12], "test_accuracy": row["test"], "best_null": best,
            "best_null_test": row["nulls"][best]["test"] if best else None, "folder": row["folder"]}  # fmt: skip


def _nulls(row: Row) -> dict[str, Any]:
    return null_columns(row["nulls"], row["verdict"])


def _privacy(row: Row) -> dict[str, Any]:
    found = {"trust": row["trust"], "claimed": row["claimed"]["value"], "claim": row["claimed"]["statement"]}
    for name in shown_levels():
        entry = row["levels"][name]
        one = entry.get("of_one") or {"value": None}
        found |= {f"holds_{name}": entry["value"], f"holds_{name}_status": entry["status"],
                  f"holds_{name}_delta": entry["delta"], f"holds_{name}_of_one": one["value"]}  # fmt: skip
    return found


def _cost(row: Row) -> dict[str, Any]:
    return {"downlink_bytes_per_device": row["down"], "uplink_bytes_per_device": row["up"], "devices": row["asked"],
            "bytes_per_silo": row["silo"]}  # fmt: skip


def _time(row: Row) -> dict[str, Any]:
    return {"rounds": row["rounds"], **{f"seconds_{name}": value for name, value in row["seconds"].items()}}


def _edges(row: Row) -> dict[str, Any]:
    return {f"edge_{name}" if name != "kept" else "edges": value for name, value in row["edges"].items()}


def _whole(row: Row) -> dict[str, Any]:
    nulls = {name: value for name, value in _nulls(row).items() if name != "verdict"}  # text; the other table has it
    return {**_head(row), **nulls, **_privacy(row), **_cost(row), **_time(row), **_edges(row),
            "clear": row["badge"], "command": row["command"], "folder": row["folder"]}  # fmt: skip


def _degrees(row: Row) -> list[dict[str, Any]]:
    found = row["degrees"]
    if found is None:
        return []
    places = range(len(found["from"]))
    return [
        {"method": row["label"], "degree_from": found["from"][at],
         **{name: None if found[name] is None else found[name][at] for name in ("true", "noisy", "reconstructed")}}
        for at in places
    ]  # fmt: skip


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    stream = io.StringIO(newline="")
    if rows:
        writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\r\n")
        writer.writeheader()
        writer.writerows({key: csv_cell(value) for key, value in row.items()} for row in rows)
    return stream.getvalue()
