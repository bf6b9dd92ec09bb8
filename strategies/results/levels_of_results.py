"""Levels at which results are compared, made of the levels of guarantee.

``bit`` is one entry of a person's record, a neighbour or a feature: the worse of
``bit_adjacency`` and ``bit_feature``, with the larger delta of both. The others are those of
:mod:`ldpsim.curator.privacy.levels`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import LEVELS, MERGED, compared_levels, level_term, parts_of
from ldpsim.strategies.foreign_text import number
from ldpsim.strategies.results.numbers import short_loss, word_of

_NOTHING = Level("not asked").to_dict()
_FROM_BEST = ("not asked", "bounded", "unprotected")
CLOSE = 0.01  # relative: equal losses may be this far below the target if they come in steps


def shown_levels(most: int | None = None) -> dict[str, tuple[str, str]]:
    """Return term and sentence of the levels that comparisons show, by name.

    Args:
        most: Number of levels; those of the first ranks stay. None for all.
    """
    ranks = {name: LEVELS[parts[0]].rank for name, parts in compared_levels().items()}
    names = {name for _, name in sorted((rank, name) for name, rank in ranks.items() if rank is not None)[:most]}
    specs = {name: LEVELS[parts[0]] for name, parts in compared_levels().items() if name in names}
    return {name: MERGED.get(name, (spec.term, spec.changes)) for name, spec in specs.items()}


def at_the_level(level: str) -> str:
    """Return a level at the end of a sentence.

    >>> at_the_level("relationship")
    'at the level of a friendship'
    """
    return f"at the level of {level_term(level)}"


def held(holds: Mapping[str, Any], level: str) -> dict[str, Any]:
    """Return the guarantee at a level, with the fields of :class:`~ldpsim.curator.privacy.level.Level`.

    One unprotected part makes the level unprotected; parts that were not asked lose nothing.
    ``value`` is None unless the status is ``bounded``.

    Args:
        holds: ``privacy.holds`` of a result.
        level: A compared level, or one of its parts.

    Raises:
        ValueError: for an unknown level or status, or a bounded level without a finite value of 0 or more.
    """
    guarantees = []
    for part in parts_of(level):
        entry = holds[part]
        status, value = entry["status"], entry["value"]
        if status not in _FROM_BEST:
            raise ValueError(f"privacy.holds.{part}: {status!r} is no status")
        if status == "bounded" and not (_is_number(value) and 0 <= value < math.inf):
            raise ValueError(f"privacy.holds.{part}: a bounded level needs a finite value of 0 or more")
        guarantees.append(
            {
                **_NOTHING,
                **entry,
                "status": status,
                "value": float(value) if status == "bounded" else None,
                "delta": float(entry["delta"]) if _is_number(entry.get("delta")) else 0.0,
                "detail": str(entry.get("detail") or ""),
            }
        )
    return worst_guarantee(guarantees)


def worst_guarantee(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what holds for all of several guarantees: the worst status, then the largest loss.

    The delta is the largest one too: the guarantee with the largest epsilon may have a smaller delta than another.

    Args:
        entries: Guarantees as :func:`held` returns them.
    """
    worst = max(entries, key=_badness)
    alike = [entry for entry in entries if entry["status"] == worst["status"]]
    merged = {**worst, **{name: _largest(alike, name) for name in ("delta", "private_delta")}}
    if worst["status"] == "bounded" and worst.get("of_one") is not None:
        ones = [entry.get("of_one") or entry for entry in alike]
        loss = max(compared_loss(entry) for entry in alike)
        merged["of_one"] = {**worst["of_one"], "value": loss, "delta": _largest(ones, "delta")}
    return merged


def compared_loss(entry: Mapping[str, Any]) -> float:
    """Return the loss by which a bounded level is compared: that of one collection."""
    one = entry.get("of_one")
    return float(entry["value"] if one is None else one["value"])


def loss_in_column(entry: Mapping[str, Any]) -> str:
    """Return the loss of one collection that holds at one level, in few letters."""
    return short_loss(compared_loss(entry)) if entry["status"] == "bounded" else word_of(entry["status"])


def _badness(entry: Mapping[str, Any]) -> tuple[int, float]:
    loss = number(entry["private_value" if entry["status"] == "unprotected" else "value"])
    return _FROM_BEST.index(entry["status"]), math.inf if loss is None else loss


def _largest(entries: Sequence[Mapping[str, Any]], name: str) -> float:
    return max(number(entry.get(name)) or 0.0 for entry in entries)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
