"""Levels of results of schema 1, which had figures in a sentence alone.

The one place that reads a sentence of this program back. Results of today have fields (:mod:`curator.privacy.level`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from curator.privacy.level import DONATED, LABEL, TOLD, Level, OfOne
from devices.mechanisms import round_up

# The words of schema 1. They stay as they are, whatever curator/privacy/level.py says today.
_COUNTED = {"list": "adjacency", "feature vector": "features", "label": "label",
            "the bits that others report about it": TOLD}  # fmt: skip
_PUBLIC = {"edges": "adjacency", "features": "features", "labels of training and validation nodes": "label"}
_NOT_COUNTED = {
    "the label is public in this setting and not counted": LABEL,
    "features of labelled people are public in this setting and not counted": DONATED,
}
_NUMBER = r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_ALONE = re.compile(f"(.*) alone: {_NUMBER}")
_FEW = re.compile(f"at most {_NUMBER} \\+ {_NUMBER} D where nobody is in more than D lists")


def level_of_before(entry: Mapping[str, Any], repeats: int = 1) -> Level:
    """Return a level of a result of schema 1, whose figure was that of one repeat.

    The losses and the deltas of several repeats about the same people add up, so the figures are bounds.

    Args:
        entry: ``value``, ``status``, ``delta`` and ``detail`` as they were written.
        repeats: Number of repeats that asked people.

    >>> level_of_before({"status": "unprotected", "value": None, "delta": 0.0,
    ...                  "detail": "feature vector in clear; list alone: 4"}).private_value
    4.0
    """
    fields = _fields(str(entry.get("detail") or ""))
    one = OfOne(fields.get("private_value", entry["value"]) or 0.0, entry["delta"] or 0.0, repeats)
    for name in ("own", "per_list", "private_value"):
        if name in fields:
            fields[name] = round_up(repeats * fields[name])
    value = None if entry["value"] is None else round_up(repeats * float(entry["value"]))
    beside = one if repeats > 1 and (value is not None or "private_value" in fields) else None
    return Level(entry["status"], value, repeats * float(entry["delta"] or 0.0), **fields, of_one=beside)


def _fields(detail: str) -> dict[str, Any]:
    """Return the fields of a sentence; what it does not recognise is the reason."""
    found: dict[str, Any] = {}
    reason, not_counted = [], []
    for part in detail.split("; ") if detail else ():
        text = part
        if text in _NOT_COUNTED:
            not_counted.append(_NOT_COUNTED[text])
            continue
        if alone := _ALONE.fullmatch(text):
            text, found["private_value"] = alone.group(1), float(alone.group(2))
        if few := _FEW.fullmatch(text):
            found["own"], found["per_list"] = (float(figure) for figure in few.groups())
            continue
        names = text.removesuffix(" are public in this setting").removesuffix(" in clear")
        known = _COUNTED if names == text or text.endswith(" in clear") else _PUBLIC
        parts = [names] if names in known else names.split(" and ")
        if not all(each in known for each in parts):
            reason.append(part.replace("{", "{{").replace("}", "}}"))
        else:
            found["counted" if names == text else "public"] = tuple(known[each] for each in parts)
    return {**found, "not_counted": tuple(not_counted), "reason": "; ".join(reason)}
