"""A plain HTML table for notebooks: every text in it is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_ALIGNED = ' style="text-align:left;vertical-align:top"'  # a notebook's own style aligns at the right


def html_table(title: str, rows: Iterable[Sequence[str]], headings: Sequence[str] = ()) -> str:
    """Return a table; every text is escaped, and a line end in a cell is kept.

    Args:
        title: Its caption.
        rows: Texts of the cells; the first of a row is its heading.
        headings: Texts above the columns; none by default.

    >>> html_table("a<b", [("x", "1")]).replace(_ALIGNED, "")
    '<table><caption>a&lt;b</caption><tbody><tr><th scope="row">x</th><td>1</td></tr></tbody></table>'
    """
    above = "".join(f'<th scope="col"{_ALIGNED}>{escape(words)}</th>' for words in headings)
    head = f"<thead><tr>{above}</tr></thead>" if headings else ""
    body = "".join(
        f'<tr><th scope="row"{_ALIGNED}>{escape(first)}</th>{"".join(map(_cell, rest))}</tr>' for first, *rest in rows
    )
    return f"<table><caption>{escape(title)}</caption>{head}<tbody>{body}</tbody></table>"


def _cell(words: str) -> str:
    return f"<td{_ALIGNED}>{escape(words).replace(chr(10), '<br>').replace(' %', '&nbsp;%')}</td>"
