"""Tables in Markdown."""

from __future__ import annotations

from benchmarks.markdown import table


def test_a_table_has_headings_a_rule_and_a_line_for_each_row() -> None:
    assert table(("a", "b"), [("1", "2"), ("3", "")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 |  |"
    assert table(("one",), []) == "| one |\n| --- |"
