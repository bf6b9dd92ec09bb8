"""One's own record from a file: what is taken, and the one line that says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ldpsim.devices.enrolment.record_file import read_own_data

FACTS = {"n": 4, "d": 8, "classes": 3}
RECORD: dict[str, Any] = {"features": [5, 1], "neighbours": [3, 0, 3], "label": 2}


def write(folder: Path, records: Any, facts: Any = FACTS) -> Path:
    path = folder / "own.json"
    path.write_text(json.dumps({"facts": facts, "records": records}))
    return path


def test_a_record_is_read(tmp_path: Path) -> None:
    population, residents = read_own_data(write(tmp_path, {"1": RECORD}))
    assert residents == (1,) and len(population) == 4
    record = population.record(1)
    assert record.feature_indices.tolist() == [1, 5] and record.feature_values.tolist() == [1.0, 1.0]
    assert record.neighbours.tolist() == [0, 3] and record.neighbours.dtype == "int32" and record.label == 2
    for other in (0, 2, 3):  # nobody's record is made up from another's
        empty = population.record(other)
        assert (len(empty.feature_indices), len(empty.neighbours), empty.label) == (0, 0, -1)


def test_values_and_disagreeing_neighbours(tmp_path: Path) -> None:
    facts = {**FACTS, "feature_low": -1.0, "feature_high": 2.0}
    records = {"3": {"features": {"0": -0.5, "7": 2}, "neighbours": [1]}, "1": {"features": [], "neighbours": []}}
    population, residents = read_own_data(write(tmp_path, records, facts))
    assert residents == (1, 3)
    assert population.record(3).feature_values.tolist() == [-0.5, 2.0]
    assert population.record(3).neighbours.tolist() == [1] and population.record(1).neighbours.tolist() == []
    assert population.record(3).label == -1


@pytest.mark.parametrize(("records", "says"), [
    ({}, "no record"),
    ([], "nothing else"),
    ({"4": RECORD}, "person 4"),
    ({"-1": RECORD}, "person -1"),
    ({"x": RECORD}, "person x"),
    ({"9" * 5000: RECORD}, r"person 9{40}\.\.\.: a whole number below 4"),
    ({"1": RECORD, "01": RECORD}, "given twice"),
    ({"1": []}, "a record has features"),
    ({"1": {"features": []}}, "a record has features"),
    ({"1": {**RECORD, "name": "Ann"}}, "a record has features"),
    ({"1": {**RECORD, "features": [8]}}, "feature column 8"),
    ({"1": {**RECORD, "features": [1, 1]}}, "column 1 is given twice"),
    ({"1": {**RECORD, "features": 3}}, "a list of columns"),
    ({"1": {**RECORD, "features": {"1": "x"}}}, "not a number"),
    ({"1": {**RECORD, "features": {"1": 10**400}}}, "has more than 20 digits"),
    ({"1": {**RECORD, "features": {"1": 1.5}}}, "row 1, column 1: feature outside"),
    ({"1": {**RECORD, "features": {"1": float("nan")}}}, "row 1, column 1: feature that is not a finite"),
    ({"1": {**RECORD, "neighbours": [4]}}, "neighbour 4"),
    ({"1": {**RECORD, "neighbours": [True]}}, "neighbour True"),
    ({"1": {**RECORD, "neighbours": "03"}}, "a list of people"),
    ({"1": {**RECORD, "label": 3}}, "label 3"),
    ({"1": {**RECORD, "label": -1}}, "label -1"),
])  # fmt: skip
def test_a_bad_record_is_one_line(tmp_path: Path, records: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        read_own_data(write(tmp_path, records))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [{"d": 8.0}, {"feature_low": "a"}, {"domains": "ab"}, {"people": 4}], ids=str)
def test_bad_facts_are_one_line(tmp_path: Path, wrong: dict[str, Any]) -> None:
    path = write(tmp_path, {"1": RECORD}, {**FACTS, **wrong})
    with pytest.raises(ValueError, match="own.json: the public facts are not as they should be") as caught:
        read_own_data(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No such file"):
        read_own_data(tmp_path / "none.json")
    for data in (b"\xff{", b"[" * 10**6, b'{"facts": {"n": 4, "n": 5}, "records": {}}'):
        (tmp_path / "x.json").write_bytes(data)
        with pytest.raises(ValueError, match="not a JSON file") as caught:
            read_own_data(tmp_path / "x.json")
        assert "\n" not in str(caught.value)
