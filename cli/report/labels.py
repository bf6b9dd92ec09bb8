"""Names for rows: the method, and what sets results of one method apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from cli.report.rows import text

_SHORT = {"epsilon": "ε", "eps_adjacency": "ε edges", "eps_features": "ε features", "eps_labels": "ε labels"}
# Where a run happened sets nothing apart; the rest of a configuration may.
_SAME = {"data_dir", "engine", "workers", "ray_address", "state", "out", "save_reports", "from_reports", "reference",
         "device", "budget", "parameters", "reference_training", "provenance", "sampler", "method"}  # fmt: skip


def name_rows(rows: Sequence[dict[str, Any]], records: Sequence[Mapping[str, Any]]) -> None:
    """Give every row a ``label`` of its own.

    Args:
        rows: Changed in place.
        records: The result of each row.
    """
    for row, record in zip(rows, records, strict=True):
        twins = [other for other, its in zip(records, rows, strict=True) if its["method"] == row["method"]]
        row["label"] = row["method"]
        if len(twins) > 1:
            options = [_options(twin) for twin in twins]
            apart = [key for key in _options(record) if len({each.get(key) for each in options}) > 1]
            row["label"] = text(" ".join([row["method"], *_said(_options(record), apart)]))
    seen: Counter[str] = Counter()
    for row in rows:
        seen[row["label"]] += 1
        if seen[row["label"]] > 1:
            row["label"] = f"{row['label']} ({seen[row['label']]})"


def _options(record: Mapping[str, Any]) -> dict[str, str]:
    config = record.get("config")
    found: dict[str, str] = {}
    for key, value in config.items() if isinstance(config, Mapping) else ():
        if key in _SAME:
            continue
        if isinstance(value, Mapping):
            found |= {f"{inner}": text(entry) for inner, entry in value.items()}
        else:
            found[key] = text(value)
    found["gnn"] = text(record.get("gnn", ""))
    return found


def _said(options: Mapping[str, str], keys: Sequence[str]) -> list[str]:
    return [f"{_SHORT.get(key, key.replace('_', ' '))} {options[key]}" for key in keys if options[key] != "None"][:4]
