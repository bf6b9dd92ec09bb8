from __future__ import annotations

import copy
from typing import Any

from cli.report.labels import name_rows


def labels(*records: dict[str, Any]) -> list[str]:
    rows = [{"method": record["method"]} for record in records]
    name_rows(rows, records)
    return [row["label"] for row in rows]


def changed(record: dict[str, Any], **config: Any) -> dict[str, Any]:
    other = copy.deepcopy(record)
    other["config"] |= config
    return other


def test_a_method_that_stands_there_once_is_its_name(record: dict[str, Any]) -> None:
    other = {**record, "method": "raw"}
    assert labels(record, other) == ["hogs", "raw"]


def test_results_of_one_method_are_told_apart_by_what_differs(record: dict[str, Any]) -> None:
    one, two = changed(record, epsilon=3.0, seed=1, settings={"tau": "0.5"}), changed(record, epsilon=8.0, seed=1)
    assert labels(one, two) == ["hogs ε 3.0 tau 0.5", "hogs ε 8.0"]
    assert labels(one, one) == ["hogs", "hogs (2)"]


def test_where_it_ran_tells_nothing_apart(record: dict[str, Any]) -> None:
    assert labels(changed(record, workers=1, out="a"), changed(record, workers=2, out="b")) == ["hogs", "hogs (2)"]
