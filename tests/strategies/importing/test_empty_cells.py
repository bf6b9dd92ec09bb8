"""Empty cells: refused with one line a column, filled, marked, or their people left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldpsim.strategies.importing.empty_cells import without_empty_cells
from ldpsim.strategies.importing.faults import FileFaults
from ldpsim.strategies.importing.options import ImportOptions

NAN = np.nan
CELLS = pd.DataFrame(
    [[1, NAN, 0, 1], [3, 5, NAN, NAN], [NAN, NAN, 1, 0]], index=list("abc"), columns=["x", "y", "city=A", "city=B"]
)
SOURCES = ("x", "y", "city", "city")


def _filled(missing: str, cells: Any = CELLS) -> tuple[Any, list[str], FileFaults]:
    faults = FileFaults()
    made, notes = without_empty_cells(
        cells, SOURCES, ImportOptions(missing=missing), lambda who, _: f"p.csv: row {who}", faults
    )
    return made, notes, faults


def test_refused() -> None:
    _, _, faults = _filled("refuse")
    assert [(fault.place, fault.what) for fault in faults] == [
        ("p.csv: row c, column x", "is empty"), ("p.csv: row a, column y", "is empty (2 rows)"),
        ("p.csv: row b, column city", "is empty"),
    ]  # fmt: skip
    assert all(fault.change == {"missing": "zero"} for fault in faults)


@pytest.mark.parametrize(
    ("missing", "rows"),
    [
        ("zero", [[1, 0, 0, 1], [3, 5, 0, 0], [0, 0, 1, 0]]),
        ("mean", [[1, 5, 0, 1], [3, 5, 0.5, 0.5], [2, 5, 1, 0]]),
        ("mark", [[1, 0, 0, 1, 0, 1, 0], [3, 5, 0, 0, 0, 0, 1], [0, 0, 1, 0, 1, 1, 0]]),
    ],
)
def test_filled(missing: str, rows: list[list[float]]) -> None:
    made, notes, faults = _filled(missing)
    np.testing.assert_array_equal(made, rows)
    assert not faults and notes[0].startswith(f"empty cells, --missing {missing}: 1 in x, 2 in y, 1 in city")
    assert ("itself a release" in notes[0]) == (missing == "mean")


def test_marks_have_names() -> None:
    assert list(_filled("mark")[0])[4:] == ["x is empty", "y is empty", "city is empty"]


def test_dropped() -> None:
    made, notes, _ = _filled("drop", CELLS.assign(y=[NAN, 5, 2]).assign(**{"city=A": 0, "city=B": [1, NAN, 0]}))
    assert made.empty and notes[0].endswith("people left out: 3")
    made, notes, _ = _filled("drop", CELLS.fillna({"x": 1, "city=A": 0, "city=B": 0}))
    assert list(made.index) == ["b"] and notes == ["empty cells, --missing drop: 2 in y; people left out: 2"]


@pytest.mark.parametrize("missing", ["refuse", "zero", "mean", "mark", "drop"])
def test_whole_cells_stay(missing: str) -> None:
    whole = CELLS.fillna(7.0)
    made, notes, faults = _filled(missing, whole)
    assert made is whole and not notes and not faults
