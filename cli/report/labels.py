"""Labels of rows: the method, and the options in which results of one method differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from cli.report.rows import text
from strategies.setup.option_spec import declared
from strategies.setup.options import RunOptions

# Personal options distinguish no results. Every row names its method already.
_OPTIONS = {name: spec for name, spec in declared(RunOptions).items() if not spec.personal and name != "method"}


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
    given: Mapping[str, Any] = config if isinstance(config, Mapping) else {}
    found: dict[str, str] = {}
    for name, spec in _OPTIONS.items():
        if spec.is_table:
            entries = given.get(name)
            found |= {str(key): text(entry) for key, entry in entries.items()} if isinstance(entries, Mapping) else {}
        elif name in given:
            found[name] = text(given[name])
    found["gnn"] = text(record.get("gnn", ""))
    return found


def _said(options: Mapping[str, str], keys: Sequence[str]) -> list[str]:
    words = {name: spec.label for name, spec in _OPTIONS.items() if spec.label}
    return [f"{words.get(key, key.replace('_', ' '))} {options[key]}" for key in keys if options[key] != "None"][:4]
