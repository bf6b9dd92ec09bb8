"""Badge of a method that leaves something in clear."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SIGN = "◎"  # in a chart's labels; a ring marks the point itself
MEANING = f"{SIGN} and a ring: the method leaves something in clear"
_PARTS = {"relationship": "edges", "vector": "features"}


def badge_of(row: Mapping[str, Any]) -> str:
    """Return what a method leaves in clear, in a few words; empty for nothing.

    Labels are not counted: the levels that comparisons show leave public labels out.

    >>> levels = {"relationship": {"status": "unprotected"}, "vector": {"status": "bounded"}}
    >>> badge_of({"trust": "reports", "levels": levels})
    'edges in clear'
    """
    open_ = [name for name, entry in row["levels"].items() if entry["status"] == "unprotected"]
    if not open_:
        return ""
    if row["trust"] == "owner":
        return "in clear to the curator"
    parts = [words for name, words in _PARTS.items() if name in open_]
    return f"{' and '.join(parts) or 'part of the record'} in clear"
