"""Defences against devices that lie: they read reports alone, so they cost no privacy.

A defence flags people, whose reports then count as never given, or changes reports, or both. One defence after the
other flags people, and each judges the reports of those who are left. Only then are reports changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from curator.defences.base import Defence as Defence
from curator.defences.base import Notes, nobody
from curator.defences.both_ends import keep_agreed
from curator.defences.degree import clip_degrees, implausible_degrees
from curator.defences.disagreement import disagreeing
from curator.defences.duplicates import duplicated
from curator.defences.public_sampling import sampled_publicly, with_public_sets
from curator.defences.trim import damp
from curator.defences.weight import overweight
from curator.names import nearest
from curator.reports.parts import joined_reports
from curator.reports.question import Question
from curator.reports.reports import Reports
from curator.reports.silenced import silenced
from devices.array_types import BoolArray
from devices.facts import PublicKnowledge

NONE, ALL = "none", "all"
DUPLICATES, PUBLIC_SAMPLING, TRIM = "duplicates", "public-sampling", "trim"

# In the order in which they are applied: colluders who send one list would move other people's counts.
_ALL = (
    Defence(DUPLICATES, "Rows, features or noisy updates that more people share than chance allows are excluded.",
            ("rows", "features", "updates under noise"), judge=duplicated, rounds=True),
    Defence("weight", "Rows with more or fewer ones than an honest row can hold are excluded.", ("rows",),
            judge=overweight),
    Defence("degree", "Degrees that their row contradicts are excluded; degrees are clipped and joined with the rows.",
            ("degrees", "group degrees", "noisy rows"), judge=implausible_degrees, mend=clip_degrees),
    Defence("disagreement", "Rows that differ from what others say more, or less, than noise can explain are excluded.",
            ("rows",), judge=disagreeing),
    Defence("both-ends", "A reported edge counts only if the other end reports it.", ("rows",), mend=keep_agreed),
    Defence(PUBLIC_SAMPLING, "A device cannot choose which features its multi-bit report is about.", ("features",),
            mend=sampled_publicly),
    Defence(TRIM, "Labels that neighbours contradict are dropped; extreme features and updates are clipped.",
            ("labels", "noisy features", "updates"), mend=damp, rounds=True),
)  # fmt: skip
DEFENCES: Mapping[str, Defence] = {defence.name: defence for defence in _ALL}


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
            known = (NONE, ALL, *DEFENCES)
            if word in (NONE, ALL):
                raise ValueError(f"{word} stands alone, without other defences")
            raise ValueError(f"there is no {word}{nearest(word, known)} (there are {', '.join(known)})")
    return tuple(name for name in DEFENCES if name in words)


def defended_questions(names: Iterable[str], questions: tuple[Question, ...], collection: str) -> tuple[Question, ...]:
    """Return the questions with the defences that change them: public sets of sampled features."""
    return with_public_sets(questions, collection) if PUBLIC_SAMPLING in names else questions


def defend(names: Iterable[str], reports: Reports, public: PublicKnowledge, false_alarm: float) -> Defended:
    """Apply defences to reports.

    Args:
        names: Names of :data:`DEFENCES`.
        reports: Reports of everybody.
        public: Public knowledge.
        false_alarm: Probability that one honest person is flagged by one defence, two-sided. It is divided by the
            number of people before anybody is excluded: it bounds the probability that a defence excludes anybody of
            an honest population.
    """
    chosen = [DEFENCES[name] for name in names]
    level = false_alarm / reports.facts.n
    flagged = nobody(reports)
    notes: dict[str, Notes] = {defence.name: {} for defence in chosen}
    for defence in chosen:
        if defence.judge is not None:
            parts = reports.parts or (reports,)
            judged = [defence.judge(part, public, level / len(parts)) for part in parts]
            found = np.logical_or.reduce([guilty for guilty, _ in judged])
            notes[defence.name] = {**judged[-1][1], "flagged": int(found.sum())}
            flagged |= found
            reports = silenced(reports, found)
    for defence in chosen:
        if defence.mend is not None:
            mended = [defence.mend(part, public, level) for part in reports.parts or (reports,)]
            reports = joined_reports([part for part, _ in mended]) if reports.parts else mended[0][0]
            notes[defence.name] |= mended[-1][1]
    return Defended(reports, flagged, notes)
