"""Defences against devices that lie: they read reports alone, so they cost no privacy.

A defence flags people, whose reports then count as never given, or changes reports, or both. One defence after the
other flags people, and each judges the reports of those who are left. Only then are reports changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldpsim.curator.defences.agreement import keep_agreed
from ldpsim.curator.defences.defence import Defence as Defence
from ldpsim.curator.defences.defence import Notes, nobody
from ldpsim.curator.defences.degree import clip_degrees, implausible_degrees
from ldpsim.curator.defences.duplicates import duplicated
from ldpsim.curator.names import nearest
from ldpsim.curator.reports.exclusion import silenced
from ldpsim.curator.reports.reports import Reports, joined_reports
from ldpsim.devices.array_types import BoolArray

NONE, ALL = "none", "all"

# In the order in which they are applied: colluders who send one list would move other people's counts.
DEFENCES: Mapping[str, Defence] = {
    "duplicates": Defence(judge=duplicated),  # rows or features that more people share than chance allows
    "degree": Defence(judge=implausible_degrees, mend=clip_degrees),  # degrees and the row of the same person
    "both-ends": Defence(mend=keep_agreed),  # a claim that the other end denies
}


@dataclass(frozen=True, eq=False)
class Defended:
    """Reports after the defences.

    Args:
        reports: The reports, as if flagged people had not answered.
        flagged: bool (n,), True for people whose reports were excluded.
        notes: What each defence did, by its name: JSON values.
    """

    reports: Reports = field(repr=False)
    flagged: BoolArray = field(repr=False)
    notes: Mapping[str, Any]


def defences_named(text: str) -> tuple[str, ...]:
    """Return the defences of a comma-separated list, in the order of :data:`DEFENCES`; ``none`` is none, ``all`` all.

    Raises:
        ValueError: for an unknown name, or for ``none`` or ``all`` beside others.

    >>> defences_named("none"), defences_named("all") == tuple(DEFENCES)
    ((), True)
    """
    words = [word.strip() for word in text.split(",")]
    if len(words) == 1 and words[0] in (NONE, ALL):
        return tuple(DEFENCES) if words[0] == ALL else ()
    for word in words:
        if word not in DEFENCES:
            names = (NONE, ALL, *DEFENCES)
            if word in (NONE, ALL):
                raise ValueError(f"{word} stands alone, without other defences")
            raise ValueError(f"there is no {word}{nearest(word, names)} (there are {', '.join(names)})")
    return tuple(name for name in DEFENCES if name in words)


def defend(names: Iterable[str], reports: Reports, false_alarm: float) -> Defended:
    """Apply defences to reports.

    Args:
        names: Names of :data:`DEFENCES`.
        reports: Reports of everybody.
        false_alarm: Probability that one honest person is flagged by one defence, two-sided. It is divided by the
            number of people before anybody is excluded: it bounds the probability that a defence excludes anybody of
            an honest population.
    """
    chosen = {name: DEFENCES[name] for name in names}
    level = false_alarm / reports.facts.n
    flagged = nobody(reports)
    notes: dict[str, Notes] = {name: {} for name in chosen}
    for name, defence in chosen.items():
        if defence.judge is not None:
            parts = reports.parts or (reports,)
            judged = [defence.judge(part, level / len(parts)) for part in parts]
            suspects = np.logical_or.reduce([guilty for guilty, _ in judged])
            notes[name] = {**judged[-1][1], "flagged": int(suspects.sum())}
            flagged |= suspects
            reports = silenced(reports, suspects)
    for name, defence in chosen.items():
        if defence.mend is not None:
            mended = [defence.mend(part, level) for part in reports.parts or (reports,)]
            reports = joined_reports([part for part, _ in mended]) if reports.parts else mended[0][0]
            notes[name] |= mended[-1][1]
    return Defended(reports, flagged, notes)
