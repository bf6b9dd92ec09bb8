"""Data of one or more people in a JSON file, given to a vault at enrolment.

    {
      "facts": {"n": 4, "d": 256, "classes": 5},
      "records": {"2": {"features": [3, 17, 200], "neighbours": [0, 3], "label": 1}}
    }

``facts`` are public and the same for everybody (``feature_low``, ``feature_high``,
``domains`` and ``class_names`` may be given). A record's key is the person's public number,
0 .. n - 1. ``features`` lists the columns that are 1, or maps columns to values; ``label`` may
be left out. Each device keeps its own list of neighbours, also where another's disagrees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ldpsim.devices.atomic_files import read_file
from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.foreign.strict_json import by_number, number_below, read_json

_RECORD = {"features", "neighbours", "label"}
_LARGEST = float(np.finfo(np.float32).max)


def read_own_data(path: Path) -> tuple[Population, tuple[int, ...]]:
    """Read the file.

    Returns:
        A population in which everybody else's record is empty, and whose records it holds.

    Raises:
        ValueError: one line: the file is missing or not of this form, or the first value
            that does not fit the facts.
    """
    try:
        data = read_json(read_file(path), finite=False)  # a value that is not has its person's line below
    except OSError as error:
        raise ValueError(f"--data {path}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"--data {path}: not a JSON file ({error})") from error
    if not isinstance(data, dict) or set(data) != {"facts", "records"} or not isinstance(data["records"], dict):
        raise ValueError(f'--data {path}: it must hold "facts" and "records" and nothing else')
    try:
        facts = PublicFacts.from_dict(data["facts"])
    except ValueError as error:
        raise ValueError(f"--data {path}: the public facts are not as they should be ({error})") from error
    if not data["records"]:
        raise ValueError(f"--data {path}: it holds no record")
    records = by_number(data["records"], facts.n, f"{path.name}: person")
    return _population(path, facts, records), tuple(sorted(records))


def _population(path: Path, facts: PublicFacts, records: Mapping[int, Any]) -> Population:
    sizes, near = np.zeros(facts.n, np.int64), np.zeros(facts.n, np.int64)
    columns: list[int] = []
    values: list[float] = []
    neighbours: list[int] = []
    labels = np.full(facts.n, -1, np.int64)
    for person, record in sorted(records.items()):
        where = f"{path.name}: person {person}"
        if not isinstance(record, dict) or not set(record) <= _RECORD or not {"features", "neighbours"} <= set(record):
            raise ValueError(f"{where}: a record has features, neighbours and, where there is one, a label")
        features = _features(record["features"], facts.d, where)
        columns += features
        values += features.values()
        sizes[person] = len(features)
        if not isinstance(record["neighbours"], list):
            raise ValueError(f"{where}: neighbours must be a list of people")
        others = {number_below(other, facts.n, f"{where}: neighbour") for other in record["neighbours"]} - {person}
        neighbours += sorted(others)
        near[person] = len(others)
        if "label" in record:
            labels[person] = number_below(record["label"], facts.classes, f"{where}: label")
    checked = build_population(
        path.stem, n=facts.n, d=facts.d, edges=np.zeros((2, 0), np.int64),
        feature_indptr=np.concatenate([[0], np.cumsum(sizes)]), feature_indices=np.array(columns, np.int64),
        feature_values=np.array(values, np.float32), labels=labels, classes=facts.classes,
        feature_range=(facts.feature_low, facts.feature_high), domains=facts.domains, class_names=facts.class_names,
    )  # fmt: skip
    indptr = np.concatenate([[0], np.cumsum(near)]).astype(np.int64)
    return replace(checked, neighbour_indptr=indptr, neighbour_indices=np.array(neighbours, np.int32))


def _features(features: Any, d: int, where: str) -> dict[int, float]:
    if not isinstance(features, dict | list):
        raise ValueError(f"{where}: features are a list of columns, or columns with their values")
    entries = features.items() if isinstance(features, dict) else [(column, 1.0) for column in features]
    by_column: dict[int, float] = {}
    for column, value in entries:
        at = number_below(column, d, f"{where}: feature column")
        if at in by_column:
            raise ValueError(f"{where}: feature column {at} is given twice")
        if type(value) not in (int, float) or abs(value) > _LARGEST:
            raise ValueError(f"{where}: feature column {at} is not a number in the public range")
        by_column[at] = float(value)
    return by_column
