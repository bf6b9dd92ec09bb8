"""Cells of tables and attributes of nodes: numbers, masks, and the lines about those that are neither."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any

_WORDS = {"true": 1.0, "false": 0.0}
MASKS = {"train_mask": "train", "val_mask": "val", "test_mask": "test"}  # names that PyG and DGL use


def number(value: Any, place: str) -> float:
    """Return a cell as a number; ``true`` is 1 and ``false`` is 0.

    Raises:
        ValueError: one line with the place, and the way out.
    """
    text = str(value).strip().lower()
    try:
        return _WORDS[text] if text in _WORDS else float(value)
    except (TypeError, ValueError):
        name = place.rpartition("column ")[2].partition("[")[0]
        fault = "is empty" if text in ("", "none") else f"{reprlib.repr(value)} is not a number"
        raise ValueError(f"{place}: {fault}; write a number there, or leave the column out: --ignore {name}") from None


def numbers(cells: Sequence[Any], place: str, columns: Sequence[str]) -> list[float]:
    """Return the cells of a row as numbers.

    Raises:
        ValueError: one line about the first cell that is none.
    """
    try:
        return list(map(float, cells))  # ten times faster than one by one
    except (TypeError, ValueError):
        return [number(cell, f"{place}, column {name}") for cell, name in zip(cells, columns, strict=True)]
