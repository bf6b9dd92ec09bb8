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
# Names of the null models; an attribute, or "all", follows SHUFFLED.
CHANCE, GRAPH_ALONE, FEATURES_ALONE, SHUFFLED = "chance", "graph_alone", "features_alone", "shuffled_"
COMMON_NEIGHBOURS, PAGERANK = "common_neighbours", "pagerank"  # of links

Nulls = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class NullSpec:
    """Words of a null model.

    Args:
        heading: Name in a table.
        words: Explanation, as the end of a sentence.
        subject: Its results, as the beginning of a sentence (plural).
    """

    heading: str
    words: str
    subject: str = ""

    @property
    def attribute(self) -> str | None:
        """Private attribute that is shuffled; None if none is."""
        before, _, rest = self.heading.partition("shuffled ")
        return None if before else rest


NULLS = {
    CHANCE: NullSpec("chance", "always the largest class"),
    GRAPH_ALONE: NullSpec(
        "graph alone", "labels spread over the curator's graph", "labels spread over the graph alone"
    ),
    COMMON_NEIGHBOURS: NullSpec(
        "common neighbours", "number of neighbours that two people share", "numbers of common neighbours"
    ),
    PAGERANK: NullSpec("pagerank", "PageRank of one person, seen from the other", "PageRank scores of the graph alone"),
    FEATURES_ALONE: NullSpec(
        "features alone", "no graph, the features that the curator has", "predictions from features alone"
    ),
    f"{SHUFFLED}features": NullSpec(
        "shuffled features", "the same run with somebody else's features", "results with features of other people"
    ),
    f"{SHUFFLED}adjacency": NullSpec(
        "shuffled adjacency", "the same run with somebody else's neighbours", "results with edges of other people"
    ),
    f"{SHUFFLED}label": NullSpec(
        "shuffled label", "the same run with somebody else's label", "results with labels of other people"
    ),
    f"{SHUFFLED}all": NullSpec(
        "shuffled all", "the same run with somebody else's data throughout", "results with private data of other people"
    ),
}

_OF_LINKS = NullSpec("chance", "any order of the pairs")


def spec_of(name: str, *, links: bool) -> NullSpec:
    """Return the words of a null model; chance has other words in the task of links."""
    return _OF_LINKS if links and name == CHANCE else NULLS[name]


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
    section = record.get("nulls") or (record.get("links") or {}).get("nulls") or {}
    entries = {**section, **{f"{SHUFFLED}{name}": entry for name, entry in (section.get("shuffled") or {}).items()}}
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
    return max(nulls, key=lambda name: (name != CHANCE, nulls[name]["test"]), default=None)


# Null models that read one kind of data, by the level at which a result says whether these data are public.
_PUBLIC_DATA = {"relationship": (GRAPH_ALONE, COMMON_NEIGHBOURS, PAGERANK), "bit_feature": (FEATURES_ALONE,)}


def asking_nobody(record: Mapping[str, Any]) -> str | None:
    """Return the best null model that reads public data alone, so that no device has to be asked.

    Without public labels that is chance. None if the run itself asked nobody, or has no null models.
    """
    from curator.privacy.guarantee import PUBLIC  # it imports numpy, and `ldpsim --help` needs the names above

    nulls, holds = nulls_of(record), record["privacy"]["holds"]
    if CHANCE not in nulls or not record["devices"]["asked"]:
        return None
    free = [CHANCE]
    if holds["label"]["status"] != "bounded":
        free += [name for level, names in _PUBLIC_DATA.items() if holds[level]["detail"].endswith(PUBLIC)
                 for name in names if name in nulls]  # fmt: skip
    return max(free, key=lambda name: float(nulls[name]["test"]))


def null_columns(nulls: Nulls, verdict: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the columns of a table: each null model with its spread, the margin, the verdict."""
    row: dict[str, Any] = {}
    for name in NULLS:
        row[name] = nulls.get(name, {}).get("test")
        if name != CHANCE:  # it is no training: it has no spread of its own
            row[f"{name}_std"] = nulls.get(name, {}).get("std")
    margin = (verdict and verdict["margin"]) or {}
    return {**row, "margin": margin.get("value"), "margin_low": margin.get("low"), "margin_high": margin.get("high"),
            "standing": verdict and verdict["standing"], "verdict": verdict and verdict["text"]}  # fmt: skip


COLUMNS = tuple(null_columns({}, None))
