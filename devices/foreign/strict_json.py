"""JSON that somebody else wrote, read strictly: what two readers could understand in two ways is refused.

Nothing here knows the fields of a file: its own reader checks them. What is read takes up to about 30 times the memory
of the text, so a reader bounds the text before.

>>> read_json('{"n": 4}')
{'n': 4}
>>> read_json('{"n": 4, "n": 5}')
Traceback (most recent call last):
    ...
ValueError: n is given twice
"""

from __future__ import annotations

import json
import math
from typing import Any

MOST_DIGITS = 20  # of a whole number: 64 bits have as many
_SHOWN = 40  # characters of a wrong entry in an error line


def read_json(text: str | bytes, *, finite: bool = True) -> Any:
    """Return the values of a JSON text.

    Args:
        text: The text; bytes are UTF-8.
        finite: Whether Infinity and NaN are refused, and numbers that are too large to be finite.

    Raises:
        ValueError: one line, for what is no JSON, a key that an object has twice, a number that is not finite, a whole
            number of more than :data:`MOST_DIGITS` digits, or brackets that are nested deeper than Python reads.
    """
    number = _finite if finite else float
    try:
        return json.loads(
            text if isinstance(text, str) else text.decode("utf-8"),
            object_pairs_hook=_object, parse_int=_whole, parse_float=number, parse_constant=number,
        )  # fmt: skip
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def are_whole(values: Any) -> bool:
    """Return whether this is a list of whole numbers: no text, no fraction, no truth value among them."""
    return isinstance(values, list) and all(type(value) is int for value in values)


def number_below(value: Any, limit: int, what: str) -> int:
    """Return a whole number of 0 to ``limit - 1`` that stands there as a number, or as text of digits alone.

    Raises:
        ValueError: one line that begins with ``what`` and the value.

    >>> number_below(2, 4, "person"), number_below("03", 4, "person")
    (2, 3)
    """
    text = str(value)
    is_digits = type(value) in (int, str) and text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
    if not is_digits or not int(text) < limit:
        raise ValueError(f"{what} {_short(text)}: a whole number below {limit} is wanted")
    return int(text)


def by_number(values: Any, limit: int, what: str) -> dict[int, Any]:
    """Return the values of an object whose keys are numbers of 0 to ``limit - 1``, by number.

    Raises:
        ValueError: one line: it is no object, or a key is no such number, or two keys are the same number.

    >>> by_number({"2": "b", "00": "a"}, 3, "person")
    {2: 'b', 0: 'a'}
    """
    if not isinstance(values, dict):
        raise ValueError(f"an object is wanted, with the number of each {what} as a key")
    found: dict[int, Any] = {}
    for key, value in values.items():
        number = number_below(key, limit, what)
        if number in found:
            raise ValueError(f"{what} {number} is given twice")
        found[number] = value
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in pairs:
        if key in values:
            raise ValueError(f"{_short(key)} is given twice")
        values[key] = value
    return values


def _whole(text: str) -> int:
    if len(text.lstrip("-")) > MOST_DIGITS:
        raise ValueError(f"{_short(text)} has more than {MOST_DIGITS} digits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{_short(text)} is not a finite number")
    return value


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
