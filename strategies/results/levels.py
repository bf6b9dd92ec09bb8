"""The levels at which results are compared, from what holds level by level.

``bit`` is one entry of a person's record, a neighbour or a feature: the worse of
``bit_adjacency`` and ``bit_feature``. The others are those of :mod:`curator.privacy.guarantee`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

PARTS = {
    "bit": ("bit_adjacency", "bit_feature"),
    "relationship": ("relationship",),
    "vector": ("vector",),
    "label": ("label",),
    "user": ("user",),
    "node": ("node",),
    "central_node": ("central_node",),
}
LEVELS = tuple(PARTS)
CLOSE = 0.01  # relative: losses that were made equal may stay this far below, where they come in steps


def level_named(text: str) -> str:
    """Return the level of this name; ``central-node`` is ``central_node``.

    Raises:
        ValueError: for another text.
    """
    name = text.strip().lower().replace("-", "_")
    if name not in PARTS:
        raise ValueError(f"--match {text}: the level must be one of {', '.join(LEVELS)}")
    return name


def held(holds: Mapping[str, Any], level: str) -> dict[str, Any]:
    """Return what holds at a level, as ``{status, value, delta, detail}``.

    Args:
        holds: ``privacy.holds`` of a result.
        level: One of :data:`LEVELS`.

    One unprotected part leaves the level unprotected; parts that were not asked about lose
    nothing. ``value`` is None unless the status is ``bounded``.

    Raises:
        ValueError: for a status that no result has, or a bounded level without a finite value of 0 or more.
    """
    worst: dict[str, Any] | None = None
    for part in PARTS[level]:
        entry = holds[part]
        status, value = entry["status"], entry["value"]
        if status not in ("bounded", "unprotected", "not asked"):
            raise ValueError(f"privacy.holds.{part}: {status!r} is no status")
        if status == "bounded" and not (_is_number(value) and 0 <= value < math.inf):
            raise ValueError(f"privacy.holds.{part}: a bounded level needs a finite value of 0 or more")
        found = {
            "status": status,
            "value": float(value) if status == "bounded" else None,
            "delta": float(entry["delta"]) if _is_number(entry.get("delta")) else 0.0,
            "detail": str(entry.get("detail") or ""),
        }
        if worst is None or _badness(found) > _badness(worst):
            worst = found
    assert worst is not None
    return worst


def _badness(entry: Mapping[str, Any]) -> float:
    if entry["status"] == "unprotected":
        return math.inf
    return -1.0 if entry["status"] == "not asked" else float(entry["value"])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
