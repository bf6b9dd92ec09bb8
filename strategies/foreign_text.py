"""Texts and numbers from other people, such as names in their files: printed, shown, and in the cells of a CSV."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

# Signs that move a terminal's cursor, colour it, or turn the direction of a text; and what UTF-8 cannot write.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x80-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def printable(text: object) -> str:
    r"""Return a text from anywhere with every sign spelled that does something to a terminal.

    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    return _UNPRINTABLE.sub(lambda sign: sign[0].encode("unicode_escape").decode(), str(text))


_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")


def csv_cell(value: Any) -> Any:
    """Return a value as a cell of a CSV; a text that is a formula for a spreadsheet gets an apostrophe before it.

    >>> csv_cell("=1+1"), csv_cell("-0.5"), csv_cell(-0.5), csv_cell("plain"), from_csv_cell("'=1+1")
    ("'=1+1", '-0.5', -0.5, 'plain', '=1+1')
    """
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def from_csv_cell(text: str) -> str:
    """Return the text that :func:`csv_cell` wrote."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


_LONGEST = 600


def text(value: Any) -> str:
    """Return text as one line without control characters, at most 600 characters long."""
    signs = "".join(sign if unicodedata.category(sign)[0] != "C" else " " for sign in str(value)[: 4 * _LONGEST])
    line = " ".join(signs.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def number(value: Any) -> float | None:
    """Return a finite number, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        figure = float(value)
    except OverflowError:
        return None
    return figure if math.isfinite(figure) else None
