"""Arrays of strangers: each one that is no matrix, or no list of numbers, is refused before anything uses it.

The places that use these checks have tables of their own, beside the tests of silos, raw records, saved reports,
layouts, checkpoints and teachers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ldpsim.devices.array_types import check_rows, checked_numbers

STARTS, COLUMNS, VALUES = np.array([0, 2, 2, 3]), np.array([0, 4, 1]), np.array([0.5, 1.0, 2.0])

WRONG_ROWS: list[dict[str, Any]] = [
    *({"columns": np.array([0, wrong, 1])} for wrong in (-1, 5, 200, 2_000_000_000, -(1 << 40))),
    {"columns": np.array([0, (1 << 64) - 1, 1], np.uint64)},
    *({"columns": COLUMNS.astype(kind)} for kind in (np.float64, bool, object, "<U4", "S2", "datetime64[s]", ">i8")),
    {"columns": COLUMNS[None]}, {"columns": COLUMNS[:2]}, {"columns": np.array(3)},
    *({"starts": np.array(wrong)} for wrong in ([0, 3, 2, 3], [1, 2, 2, 3], [0, 2, 2, 2], [0, 2, 2, 4], [0, -1, 2, 3],
                                                [0, 2, 3], [0, 2, 2, 3, 3], [], [0, 1 << 40, 2, 3])),
    {"starts": STARTS.astype(float)}, {"starts": STARTS.astype(object)}, {"starts": STARTS[:, None]},
    *({"values": np.array([1.0, wrong, 2.0])} for wrong in (np.nan, np.inf, -np.inf)),
    {"values": VALUES[:2]}, {"values": VALUES[None]}, {"values": VALUES.astype(object)},
    {"values": VALUES.astype("<U4")}, {"values": VALUES.astype(complex)},
    {"shape": (2, 5)}, {"shape": (4, 5)}, {"shape": (3, 4)}, {"shape": (3, 0)},
]  # fmt: skip


def test_rows_that_are_a_matrix_are_accepted() -> None:
    for kind in (np.int32, np.int64, np.uint8):
        check_rows("rows", (3, 5), STARTS.astype(kind), COLUMNS.astype(kind), VALUES)
    check_rows("rows", (0, 0), np.array([0]), np.zeros(0, np.int64))


@pytest.mark.parametrize("wrong", WRONG_ROWS, ids=str)
def test_rows_that_are_no_matrix_are_refused(wrong: dict[str, Any]) -> None:
    given: dict[str, Any] = {"shape": (3, 5), "starts": STARTS, "columns": COLUMNS, "values": VALUES, **wrong}
    with pytest.raises(ValueError, match="^rows") as caught:
        check_rows("rows", **given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [
    np.array([3]), np.array([-2]), np.array([1.0]), np.array([[1]]), np.array(1), np.array(["1"]), np.array([None]),
    np.array([True]), np.array([1], ">i4"), np.array([(1,)], [("a", "i4")]),
], ids=repr)  # fmt: skip
def test_numbers_that_are_no_places_are_refused(wrong: NDArray[Any]) -> None:
    assert checked_numbers("labels", np.array([-1, 2], np.int8), 3, first=-1).dtype == np.int64
    with pytest.raises(ValueError, match="^labels: "):
        checked_numbers("labels", wrong, 3, first=-1)
