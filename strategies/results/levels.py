"""Levels at which results are compared, made of the levels of guarantee.

``bit`` is one entry of a person's record, a neighbour or a feature: the worse of
``bit_adjacency`` and ``bit_feature``. The others are those of :mod:`ldpsim.curator.privacy.levels`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS, MERGED

_NOTHING = Level("not asked").to_dict()
CLOSE = 0.01  # relative: equal losses may be this far below the target if they come in steps


def compared_levels() -> dict[str, tuple[str, ...]]:
    """Return the levels of guarantee that each compared level consists of, by its name."""
    parts: dict[str, tuple[str, ...]] = {}
    for name, spec in LEVELS.items():
        parts[spec.compared] = (*parts.get(spec.compared, ()), name)
    return parts


def shown_levels(most: int | None = None) -> dict[str, tuple[str, str]]:
    """Return term and sentence of the levels that comparisons show, by name.

    Args:
        most: Number of levels; those of the first ranks stay. None for all.
    """
    ranks = {name: LEVELS[parts[0]].rank for name, parts in compared_levels().items()}
    kept = {name for _, name in sorted((rank, name) for name, rank in ranks.items() if rank is not None)[:most]}
    specs = {name: LEVELS[parts[0]] for name, parts in compared_levels().items() if name in kept}
    return {name: MERGED.get(name, (spec.term, spec.changes)) for name, spec in specs.items()}


def level_term(level: str) -> str:
    """Return the name of a compared level as people read it.

    >>> level_term("bit"), level_term("node")
    ('a bit', 'a person as others report it')
    """
    return MERGED[level][0] if level in MERGED else LEVELS[compared_levels()[level][0]].term


def at_the_level(level: str) -> str:
    """Return a compared level at the end of a sentence.

    >>> at_the_level("relationship")
    'at the level of a relationship'
    """
    return f"at the level of {level_term(level)}"


def level_named(text: str, option: str = "--match") -> str:
    """Return the level of this name; ``central-node`` is ``central_node``.

    Raises:
        ValueError: for another text.
    """
    name = text.strip().lower().replace("-", "_")
    if name not in compared_levels():
        raise ValueError(f"{option} {text}: the level must be one of {', '.join(compared_levels())}")
    return name


def held(holds: Mapping[str, Any], level: str) -> dict[str, Any]:
    """Return the guarantee at a level, with the fields of :class:`~ldpsim.curator.privacy.level.Level`.

    One unprotected part makes the level unprotected; parts that were not asked lose nothing.
    ``value`` is None unless the status is ``bounded``.

    Args:
        holds: ``privacy.holds`` of a result.
        level: One of :func:`compared_levels`.

    Raises:
        ValueError: for an unknown level or status, or a bounded level without a finite value of 0 or more.
    """
    parts = compared_levels()
    if level not in parts:
        raise ValueError(f"{level}: results are not compared at this level (known: {', '.join(parts)})")
    worst: dict[str, Any] | None = None
    for part in parts[level]:
        entry = holds[part]
        status, value = entry["status"], entry["value"]
        if status not in ("bounded", "unprotected", "not asked"):
            raise ValueError(f"privacy.holds.{part}: {status!r} is no status")
        if status == "bounded" and not (_is_number(value) and 0 <= value < math.inf):
            raise ValueError(f"privacy.holds.{part}: a bounded level needs a finite value of 0 or more")
        found = {
            **_NOTHING,
            **entry,
            "status": status,
            "value": float(value) if status == "bounded" else None,
            "delta": float(entry["delta"]) if _is_number(entry.get("delta")) else 0.0,
            "detail": str(entry.get("detail") or ""),
        }
        if worst is None or _badness(found) > _badness(worst):
            worst = found
    assert worst is not None
    return worst


def compared_loss(entry: Mapping[str, Any]) -> float:
    """Return the loss by which a bounded level is compared: that of one collection."""
    one = entry.get("of_one")
    return float(entry["value"] if one is None else one["value"])


def _badness(entry: Mapping[str, Any]) -> float:
    if entry["status"] == "unprotected":
        return math.inf
    return -1.0 if entry["status"] == "not asked" else float(entry["value"])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
