"""Null models and verdict of a result: their names and words, and what tables show of them.

A null model has less information than the method: no features, no graph, or somebody else's
data. A method that is not above its null models got nothing out of that information.
Results of earlier versions, and runs with ``--no-nulls``, have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NOT_TAKEN = "not taken"
_SHUFFLED = "shuffled_"

Nulls = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class NullSpec:
    """Words of a null model.

    Args:
        heading: Name in a table.
        words: Explanation, as the end of a sentence.
    """

    heading: str
    words: str

    @property
    def attribute(self) -> str | None:
        """Private attribute that is shuffled; None if none is."""
        before, _, rest = self.heading.partition("shuffled ")
        return None if before else rest


NULLS = {
    "chance": NullSpec("chance", "always the largest class"),
    "graph_alone": NullSpec("graph alone", "labels spread over the curator's graph"),
    "features_alone": NullSpec("features alone", "no graph, the features that the curator has"),
    f"{_SHUFFLED}features": NullSpec("shuffled features", "the same run with somebody else's features"),
    f"{_SHUFFLED}adjacency": NullSpec("shuffled adjacency", "the same run with somebody else's neighbours"),
    f"{_SHUFFLED}label": NullSpec("shuffled label", "the same run with somebody else's label"),
    f"{_SHUFFLED}all": NullSpec("shuffled all", "the same run with somebody else's data throughout"),
}

# Standing of a method among its null models: words, and whether that is good, open or bad.
STANDINGS = {
    "above": ("above", "good"),
    "even": ("not above", "open"),
    "below": ("below", "bad"),
    "chance": ("at chance", "bad"),
    "alone": ("above chance", "open"),
    "": (NOT_TAKEN, "open"),
}


def nulls_of(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return ``test`` and ``std`` of the null models that a result has, in the order of :data:`NULLS`."""
    section = record.get("nulls") or {}
    entries = {**section, **{f"{_SHUFFLED}{name}": entry for name, entry in (section.get("shuffled") or {}).items()}}
    return {name: {"test": entries[name]["test"], "std": entries[name].get("std")} for name in NULLS
            if entries.get(name) is not None}  # fmt: skip


def verdict_of(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the verdict of a result with its ``standing``, a key of :data:`STANDINGS`; None without null models."""
    found = record.get("verdict")
    if not found:
        return None
    margin = found.get("margin")
    if found["above_chance"] is False:
        standing = "chance"
    elif margin is None:
        standing = "alone" if found["above_chance"] else ""
    elif found["above_nulls"]:
        standing = "above"
    else:
        standing = "below" if margin["high"] < 0 else "even"
    return {"text": found["text"], "margin": margin, "standing": standing}


def best_null(nulls: Nulls) -> str | None:
    """Return the name of the best null model; chance counts only where it is the only one."""
    return max(nulls, key=lambda name: (name != "chance", nulls[name]["test"]), default=None)


def null_columns(nulls: Nulls, verdict: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the columns of a table: each null model with its spread, the margin, the verdict."""
    row: dict[str, Any] = {}
    for name in NULLS:
        row[name] = nulls.get(name, {}).get("test")
        if name != "chance":  # it is no training: it has no spread of its own
            row[f"{name}_std"] = nulls.get(name, {}).get("std")
    margin = (verdict and verdict["margin"]) or {}
    return {**row, "margin": margin.get("value"), "margin_low": margin.get("low"), "margin_high": margin.get("high"),
            "standing": verdict and verdict["standing"], "verdict": verdict and verdict["text"]}  # fmt: skip


COLUMNS = tuple(null_columns({}, None))
