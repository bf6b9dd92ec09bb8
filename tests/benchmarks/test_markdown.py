"""Tables in Markdown."""

from __future__ import annotations

from benchmarks.markdown import table, table_head, table_row


def test_a_table_has_headings_a_rule_and_a_line_for_each_row() -> None:
    assert table(("a", "b"), [("1", "2"), ("3", "")]) == "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 |  |"
    assert list(table_head(("one",))) == ["| one |", "| --- |"]
    assert table_row(iter("xy")) == "| x | y |"
