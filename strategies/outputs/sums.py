"""Sum of what holds over several collections of the same people, level by level.

A loss or a delta adds to those of every other collection that asks the same people with fresh noise, whatever its
method. Figures and words of a result are those of one collection; this sum stands beside them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ldpsim.curator.privacy.level import Level
from ldpsim.curator.privacy.levels import compared_levels, level_term
from ldpsim.curator.shown import shown_delta
from ldpsim.devices.datasets import GENERATED
from ldpsim.devices.mechanisms import round_up
from ldpsim.strategies.results.levels_of_results import held, worst_guarantee
from ldpsim.strategies.results.numbers import epsilon

Holds = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class AskedInAll:
    """Several collections of the same people.

    Args:
        people: Name of their data set.
        collections: Number of collections.
        holds: What holds over all of them at each compared level, with the fields of a level.
        made: Whether they were really made; else they stand for ones that nobody will make.
    """

    people: str
    collections: int
    holds: Holds
    made: bool = True

    @property
    def text(self) -> str:
        """The sum in one sentence with its figures."""
        figures = {level: _figure(entry) for level, entry in self.holds.items() if entry["status"] != "not asked"}
        bounds = [f"{level_term(level)} {figure}" for level, figure in figures.items() if figure]
        clear = [level_term(level) for level, figure in figures.items() if not figure]
        losses = "; ".join(filter(None, (", ".join(bounds), "in clear: " * bool(clear) + ", ".join(clear))))
        if self.made:
            return f"{self.collections:,} collections asked the same people ({self.people}), and losses add: {losses}."
        return f"If {self.collections:,} collections asked the same people, losses would add: {losses}."

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {"people": self.people, "collections": self.collections, "holds": dict(self.holds)}


def added(several: Sequence[Holds]) -> dict[str, dict[str, Any]]:
    """Return what holds at each level over collections of the same people, each with fresh noise.

    Args:
        several: Levels of each collection, with the fields of :class:`~ldpsim.curator.privacy.level.Level`.

    >>> one = {"user": Level("bounded", 2.0).to_dict()}
    >>> added([one] * 16)["user"]["value"]
    32.0
    """
    return {name: _added([holds[name] for holds in several]).to_dict() for name in several[0]}


def _added(entries: Sequence[Mapping[str, Any]]) -> Level:
    levels = [entry for entry in entries if entry["status"] != "not asked"]
    if not levels:
        return Level("not asked")
    parts = [("value", "delta") if entry["status"] == "bounded" else ("private_value", "private_delta")
             for entry in levels]  # fmt: skip
    losses = [entry[value] for entry, (value, _) in zip(levels, parts, strict=True)]
    if None in losses:
        return Level("unprotected")
    loss = round_up(math.fsum(losses))
    delta = math.fsum(entry[delta] or 0.0 for entry, (_, delta) in zip(levels, parts, strict=True))
    if all(entry["status"] == "bounded" for entry in levels):
        return Level("bounded", loss, delta)
    return Level("unprotected", private_value=loss, private_delta=delta)


def in_all(records: Iterable[Mapping[str, Any]]) -> dict[str, AskedInAll]:
    """Return the sums for people who were really asked in more than one collection, by :func:`key_of_people`.

    Null models and references ask nobody, and noise of a seed protects nobody: they count for nothing. Results from
    the reports of one collection count once, by their worst levels.

    Args:
        records: Contents of result.json files.
    """
    people: dict[str, dict[Any, list[Mapping[str, Any]]]] = {}
    for place, record in enumerate(records):
        if really_asked(record):
            reports = record["devices"].get("reports_sha256") if record["devices"]["asked"] else None
            people.setdefault(key_of_people(record), {}).setdefault(reports or place, []).append(record)
    sums = {}
    for key, collections in people.items():
        first = next(iter(collections.values()))[0]
        number = sum(same[0]["privacy"]["collections"] for same in collections.values())
        if number > 1:
            levels = [[levels_of(record) for record in same] for same in collections.values()]
            holds = added(
                [{name: worst_guarantee([each[name] for each in same]) for name in same[0]} for same in levels]
            )
            sums[key] = AskedInAll(first["dataset"]["name"], number, holds)
    return sums


def key_of_people(record: Mapping[str, Any]) -> str:
    """Return a key of the people of a result: parts of one data set may share them, made-up ones have a seed."""
    data = record["dataset"]
    return str(data["digest"] if data["name"] in GENERATED else data["name"])


def of_repeats(record: Mapping[str, Any]) -> AskedInAll | None:
    """Return the sum over the repeats of a run; None for one collection."""
    privacy = record["privacy"]
    if privacy["collections"] < 2:
        return None
    return AskedInAll(record["dataset"]["name"], privacy["collections"], levels_of(record), made=really_asked(record))


def levels_of(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return what holds in a result at each compared level."""
    return {level: held(record["privacy"]["holds"], level) for level in compared_levels()}


def really_asked(record: Mapping[str, Any]) -> bool:
    """Return whether people were asked, or an owner released something, with noise that no seed tells."""
    if record["devices"]["asked"]:
        return record.get("simulation_seeded") is False
    return record["privacy"]["trust"] == "trusted curator" and record["seeds"]["noise"] is None


def _figure(entry: Mapping[str, Any]) -> str:
    """Return the loss, or that of what is not public; empty without one."""
    for value, delta, rest in (("value", "delta", ""), ("private_value", "private_delta", " for the rest")):
        if entry.get(value) is not None:
            at = f" (delta {shown_delta(entry[delta])})" if entry[delta] else ""
            return f"{epsilon(entry[value])}{at}{rest}"
    return ""
