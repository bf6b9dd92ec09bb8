"""Text from other people: what a terminal and a spreadsheet get of it."""

from __future__ import annotations

import csv
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldpsim.strategies.foreign_text import csv_cell, from_csv_cell, printable
from ldpsim.strategies.importing import ImportOptions, import_graph

FORMULAS = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''-x", "＝1"]


@given(st.text())
def test_a_printable_text_has_no_sign_that_does_something(text: str) -> None:
    shown = printable(text)
    assert all(sign in "\n\t\x7f" or unicodedata.category(sign) not in ("Cc", "Cs", "Zl", "Zp") for sign in shown)
    shown.encode()
    if text.isprintable():
        assert shown == text


@given(st.text() | st.sampled_from(FORMULAS))
def test_a_cell_is_no_formula_and_comes_back(text: str) -> None:
    assert from_csv_cell(csv_cell(text)) == text
    if csv_cell(text)[:1] in ("=", "+", "-", "@", "\t", "\r"):
        float(csv_cell(text))


@pytest.mark.parametrize("number", ["-1", "+2.5", "-1.5e-07", -3, 0.25, None, True])
def test_numbers_stay_numbers(number: object) -> None:
    assert csv_cell(number) is number


def test_names_of_an_import_are_no_formulas_and_are_read_back(tmp_path: Path) -> None:
    people = [name.strip() for name in FORMULAS]
    with (tmp_path / "edges.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("source", "target"), *((name, people[0]) for name in people[1:])])
    import_graph([tmp_path / "edges.csv"], ids=tmp_path / "ids.csv", vaults=tmp_path / "vaults")
    for path in (tmp_path / "ids.csv", tmp_path / "vaults" / "people.csv"):
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert all(row["id"][0] == "'" for row in rows)
        assert sorted(from_csv_cell(row["id"]) for row in rows) == sorted({from_csv_cell(name) for name in people})
    again = tmp_path / "again.csv"
    import_graph([tmp_path / "edges.csv", tmp_path / "ids.csv"], options=ImportOptions(ignore=("node",)), ids=again)
    with again.open(newline="") as file:
        assert sorted(row["id"] for row in csv.DictReader(file)) == sorted(row["id"] for row in rows)
