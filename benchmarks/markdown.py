"""Tables in Markdown, as the pages of results have them.

>>> print(table(("a", "b"), [("1", "2")]))
| a | b |
| --- | --- |
| 1 | 2 |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, without a line end after it."""
    return "\n".join([*table_head(heads), *map(table_row, rows)])


def table_head(heads: Sequence[str]) -> Iterator[str]:
    """Yield the line of the headings and the rule below it."""
    yield table_row(heads)
    yield "|" + " --- |" * len(heads)


def table_row(cells: Iterable[str]) -> str:
    """Return one line of a table."""
    return f"| {' | '.join(cells)} |"
