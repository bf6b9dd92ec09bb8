"""Section ``groups`` of a result, which somebody else may have written, as pages and the first screen show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ldpsim.strategies.foreign_text import number, text
from ldpsim.strategies.group_accuracy.people_groups import CLASS, DEGREE, EVERYBODY
from ldpsim.strategies.results.averages import (
    Interval,
)

MODELS = ("method", "best_null", "without_noise")


NO_GROUPS = "no accuracy by groups: --no-groups, or no single model of everybody"


@dataclass(frozen=True)
class GroupRow:
    """Accuracy in one group of people.

    Args:
        by: Property that divides the people, or ``everybody``.
        group: Name of the group.
        people: Number of scored people in it, the mean over repeats.
        accuracy: Accuracy of each of :data:`MODELS` that is known, with a 95 % interval.
        more_lost: How much more accuracy the group loses to the noise than everybody does; None if not known.
        worse: Whether that is measurable; None if not known.
    """

    by: str
    group: str
    people: float
    accuracy: Mapping[str, Interval]
    more_lost: float | None
    worse: bool | None

    @property
    def words(self) -> str:
        """The group in words."""
        if self.by == CLASS:
            return f"class {self.group}"
        if self.by == DEGREE:
            return _SHOWN_DEGREES.get(self.group, f"{self.group} friends")
        return EVERYBODY if self.by == EVERYBODY else _LABELLED.get(self.group, self.group)

    @property
    def subject(self) -> str:
        """The group as the subject of a sentence."""
        if self.by == CLASS:
            return f"People of {self.words}"
        return "People without friends" if (self.by, self.group) == (DEGREE, "0") else f"People with {self.words}"

    @property
    def lost(self) -> float | None:
        """Accuracy that the group loses to the noise; None if one of both figures is not known."""
        clean, own = self.accuracy.get("without_noise"), self.accuracy.get("method")
        return None if clean is None or own is None else clean.value - own.value


_SHOWN_DEGREES = {"0": "no friends", "6+": "6 or more friends"}


_LABELLED = {"yes": "a labelled friend", "no": "no labelled friend"}


def group_rows(record: Mapping[str, Any]) -> list[GroupRow]:
    """Return the rows of a result, everybody first; empty if it has none.

    Raises:
        ValueError: one line, for a section that cannot be read.
    """
    section = record.get("groups")
    if section is None:
        return []
    try:
        return [_row(entry) for entry in section["rows"]]
    except (KeyError, TypeError, AttributeError):
        raise ValueError("groups cannot be read") from None


def _row(entry: Mapping[str, Any]) -> GroupRow:
    people, more = number(entry["people"]), entry["more_lost"]
    accuracy = {model: _interval(entry[model]) for model in MODELS if entry[model] is not None}
    excess = None if more is None else number(more["value"])
    if people is None or "method" not in accuracy or (more is not None and excess is None):
        raise KeyError("people")
    worse = entry["worse"] if isinstance(entry["worse"], bool) else None
    return GroupRow(text(entry["by"]), text(entry["group"]), people, accuracy, excess, worse)


def _interval(entry: Mapping[str, Any]) -> Interval:
    ends = [number(entry[part]) for part in ("value", "low", "high")]
    shares = [end for end in ends if end is not None and 0 <= end <= 1]
    if len(shares) < len(ends):
        raise KeyError("value")
    return Interval(*shares)


def worse_off(rows: Sequence[GroupRow]) -> list[GroupRow]:
    """Return the groups that lose measurably more to the noise than everybody does, the worst first."""
    return sorted((row for row in rows if row.worse), key=lambda row: -(row.more_lost or 0.0))


def words_of_groups(rows: Sequence[GroupRow]) -> str:
    """Return one line about the group that is worst off, if any measurably is; else an empty text."""
    worse = worse_off(rows)
    if not worse:
        return ""
    everybody = rows[0].lost
    beside = "" if everybody is None else f", everybody {100 * everybody + 0.0:.1f}"
    return f"{worse[0].subject} lose {100 * (worse[0].lost or 0.0):.1f} points to noise{beside}"
