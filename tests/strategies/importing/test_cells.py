"""Cells as numbers, and the line about a cell that is none."""

from __future__ import annotations

import pytest

from strategies.importing.cells import number, numbers


def test_numbers_and_words() -> None:
    assert numbers(["1", " 2.5", "-3e2"], "row 2", ["a", "b", "c"]) == [1.0, 2.5, -300.0]
    assert numbers(["True", "false", "4"], "row 2", ["a", "b", "c"]) == [1.0, 0.0, 4.0]
    assert numbers([True, 2, 0.5], "node 1", ["a", "b", "c"]) == [1.0, 2.0, 0.5]


@pytest.mark.parametrize(
    ("cell", "fault"),
    [("Paris", "'Paris' is not a number"), ("", "is empty"), ("  ", "is empty"), (None, "is empty"), ({}, "{} is not")],
)
def test_the_first_cell_at_fault_is_named(cell: object, fault: str) -> None:
    with pytest.raises(ValueError, match=rf"p\.csv: row 7, column b: {fault}.*--ignore b$"):
        numbers(["1", cell, "Rome"], "p.csv: row 7", ["a", "b", "c"])


def test_the_remedy_names_the_whole_attribute() -> None:
    with pytest.raises(ValueError, match="--ignore x$"):
        number("red", "g.gml: node 1", "x[3]", "x")
