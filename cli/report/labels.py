"""Labels of rows, and the options that tell results apart or hold them together.

Results of one configuration that differ in their seeds alone are repeats of it. Configurations
that differ in their budgets alone lie on one line of a chart.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cli.report.rows import number, text
from strategies.setup.option_spec import BUDGET, declared
from strategies.setup.options import RunOptions

_DATA = ("dataset", "clients")  # a page names them elsewhere
_SEEDS = ("seed", "seeds")
# Personal options distinguish no results. Every row names its method already.
_OPTIONS = {
    name: spec
    for name, spec in declared(RunOptions).items()
    if not spec.personal and name not in ("method", *_DATA, *_SEEDS)
}
BUDGETS = tuple(name for name, spec in _OPTIONS.items() if spec.panel == BUDGET and spec.types == (float,))
_MOST = 4  # options in one label

Key = tuple[Any, ...]


def options_of(record: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of a result that tell configurations of one method on one data set apart."""
    config = record.get("config")
    given: Mapping[str, Any] = config if isinstance(config, Mapping) else {}
    found: dict[str, str] = {}
    for name, spec in _OPTIONS.items():
        if spec.is_table:
            entries = given.get(name)
            found |= {str(key): text(entry) for key, entry in entries.items()} if isinstance(entries, Mapping) else {}
        elif name in given:
            found[name] = _said(given[name])
    found["gnn"] = text(record.get("gnn", ""))
    found["version"] = text(record.get("ldpsim_version", ""))
    return found


def configuration(record: Mapping[str, Any], *, without: Iterable[str] = ()) -> Key:
    """Return the method and the options of a result as a key, seeds and data set left out.

    Args:
        record: Content of a result.json.
        without: More options to leave out.
    """
    options = options_of(record)
    return (text(record.get("method")), *sorted((key, options[key]) for key in options.keys() - set(without)))


def run_key(record: Mapping[str, Any], *, without: Iterable[str] = ()) -> Key:
    """Return a key of one simulation: its configuration (:func:`configuration`) and its seeds."""
    config = record.get("config")
    seed = config.get("seed") if isinstance(config, Mapping) else None
    seeds = json.dumps(record.get("seeds"), sort_keys=True)[:1000]
    return (*configuration(record, without=without), text(seed), seeds)


def budget_of(record: Mapping[str, Any]) -> tuple[float, ...]:
    """Return the budgets of a result as figures to sort by; one that is not given counts as 0."""
    config = record.get("config")
    given: Mapping[str, Any] = config if isinstance(config, Mapping) else {}
    return tuple(number(given.get(name)) or 0.0 for name in BUDGETS)


def name_rows(
    rows: Sequence[dict[str, Any]], records: Sequence[Mapping[str, Any]], *, field: str = "label",
    without: Iterable[str] = (),
) -> None:  # fmt: skip
    """Give every row a label of its own among the rows of its data set.

    Args:
        rows: Changed in place; ``panel`` is the data set's number, if there are several.
        records: A result of each row.
        field: Name of the label in a row.
        without: Options that are not said; rows that differ in them alone share a label.
    """
    options = [options_of(record) for record in records]
    by_method: dict[Any, list[int]] = {}
    for place, row in enumerate(rows):
        by_method.setdefault((row.get("panel"), row["method"]), []).append(place)
    for twins in by_method.values():
        keys = [key for key in {key: None for twin in twins for key in options[twin]} if key not in without]
        apart = [key for key in keys if len({options[twin].get(key) for twin in twins}) > 1]
        for place in twins:
            said = _words(options[place], apart) if len(twins) > 1 else []
            rows[place][field] = text(" ".join([rows[place]["method"], *said]))
    if without:
        return
    seen: Counter[Any] = Counter()
    for row in rows:
        name = (row.get("panel"), row[field])
        seen[name] += 1
        if seen[name] > 1:
            row[field] = f"{row[field]} ({seen[name]})"


def _said(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else text(value)


def _words(options: Mapping[str, str], keys: Sequence[str]) -> list[str]:
    words = {name: spec.label for name, spec in _OPTIONS.items() if spec.label}
    known = [key for key in keys if options.get(key, "None") != "None"]
    return [f"{words.get(key, key.replace('_', ' '))} {options[key]}" for key in known][:_MOST]
