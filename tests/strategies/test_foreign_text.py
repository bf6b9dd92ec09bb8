"""Text from other people: what a terminal and a spreadsheet get of it."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from ldpsim.strategies.foreign_text import csv_cell, from_csv_cell, printable

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
