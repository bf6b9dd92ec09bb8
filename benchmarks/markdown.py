"""Tables in Markdown, as the pages of results have them.

>>> print(table(("a", "b"), [("1", "2")]))
| a | b |
| --- | --- |
| 1 | 2 |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, without a line end after it."""
    first, *others = (f"| {' | '.join(cells)} |" for cells in (heads, *rows))
    return "\n".join([first, "|" + " --- |" * len(heads), *others])
