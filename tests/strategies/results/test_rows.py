"""The flat row of a result, its data frame and its CSV, and numbers as people read them."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import pytest

from ldpsim.strategies.results.numbers import NONE, bytes_, count, duration, percent, plus_minus, points, seconds, size
from ldpsim.strategies.results.rows import csv_text, data_frame, figures, row_of, write_table
from tests.cli.conftest import RECORD, WITH_NULLS


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_has_claimed_and_held_and_nulls() -> None:
    record: dict[str, Any] = {**RECORD, **{name: WITH_NULLS[name] for name in ("nulls", "verdict", "reference")}}
    row = row_of(record, "hogs-0", 3)
    assert (row["cell"], row["claimed"], row["holds_relationship"], row["holds_label_status"]) == (
        3, 8.0, 14.4, "unprotected",
    )  # fmt: skip
    assert (row["shuffled_adjacency"], row["standing"], row["nonprivate_test"]) == (0.3311, "below", 0.8511)
    assert (row["answered"], row["edges_kept"], row["folder"]) == (2900, 10238.0, "hogs-0")
    found = dict(figures(record))
    assert (found["test"], found["graph_alone"], found["holds_user"]) == (0.6124, 0.7884, 21797.6)
    assert not {"cell", "epsilon", "noise_seed", "std", "holds_label", "method"} & set(found)
    assert all(type(value) is float for value in found.values())


def test_a_column_has_one_type_and_the_last_ones_stay_last() -> None:
    rows = [{"cell": 1, "a": 1, "b": "x", "folder": "f", "error": None}, {"cell": 2, "a": 0.5, "b": 2, "c": True}, {}]
    frame = data_frame(rows)
    assert [str(frame[name].dtype) for name in "abc"] == ["float64", "string", "boolean"]
    assert list(frame.columns) == ["cell", "a", "b", "c", "folder", "error"]
    assert [row["a"] for row in rows_of(csv_text(frame))] == ["1.0", "0.5", ""]
    assert [row["b"] for row in rows_of(csv_text(frame))] == ["x", "2", ""]
    assert rows_of(csv_text(frame))[1]["c"] == "true"


def test_no_cell_is_a_formula_and_a_table_is_written_whole(tmp_path: Path) -> None:
    frame = data_frame([{"method": "=1+1", "margin": -0.5, "n": "-0.5"}])
    write_table(tmp_path / "table.csv", frame)
    assert (tmp_path / "table.csv").read_text() == "method,margin,n\n'=1+1,-0.5,-0.5\n"


def test_shares_are_points_and_per_cent() -> None:
    assert (points(0.8125), points(None), points(math.nan), points(0.5, 0)) == ("81.2", NONE, NONE, "50")
    assert (percent(0.5), percent(None)) == ("50.0 %", NONE)
    assert (plus_minus(0.0104), plus_minus(0.5, 0), plus_minus(None)) == (" ± 1.0", " ± 50", "")


def test_bytes_seconds_and_counts() -> None:
    assert [size(value) for value in (12, 1500, 2.5e6, 3e9, 2e16)] == ["12 B", "1.5 kB", "2.5 MB", "3.0 GB", "20.0 PB"]
    assert (bytes_(0), bytes_(402)) == ("none", "402 B")
    assert [seconds(value) for value in (None, 0, 0.01, 1.24, 1234.0)] == [NONE, "0.0", "<0.1", "1.2", "1,234"]
    assert (count(1, "round"), count(1200, "round")) == ("1 round", "1,200 rounds")


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.2, "0 s"), (99.4, "99 s"), (100, "2 min"), (5940, "99 min"), (6000, "1 h 40 min"), (7500, "2 h 05 min")],
)
def test_durations(value: float, words: str) -> None:
    assert duration(value) == words
