"""Privacy of a result in words: hidden or not, level by level.

The one rule for these words. The terminal and the pages show them; docs/concepts.md
explains them and has the thresholds, which a test compares with :data:`PROTECTIONS`.

The rule reads two sections of a result. ``privacy.holds`` bounds what anybody can learn: a
loss epsilon (and delta) limits the chance of a right guess between two equally likely values
to (e^epsilon + delta) / (1 + e^epsilon). The loss is that of one collection; the sum over
several stands beside the words (:mod:`ldpsim.strategies.outputs.sums`). ``reconstruction`` is a measured attack: the
share of the friendships that the curator's own graph contains. A friendship that was found is not hidden, whatever its
bound is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ldpsim.curator.privacy.level import VOLUNTEERS
from ldpsim.curator.privacy.levels import LEVELS, PUBLIC_PARTS, LevelSpec
from ldpsim.curator.shown import shown_delta
from ldpsim.strategies.results.numbers import IN_CLEAR, guessed, percent
from ldpsim.strategies.results.numbers import epsilon as shown

NOT_HIDDEN, NOT_ASKED = "not hidden", "not asked"
EVERYTHING = "everything"
FOUND = 0.5  # recall and precision of the curator's edges from which friendships count as recovered


@dataclass(frozen=True)
class Protection:
    """Degree of protection.

    Args:
        most: Largest chance of a right guess between two equally likely values.
        word: The words for it.
        tone: ``good``, ``open`` or ``bad``.
    """

    most: float
    word: str
    tone: str


PROTECTIONS = (
    Protection(0.60, "hidden well", "good"),
    Protection(0.75, "hidden fairly well", "good"),
    Protection(0.90, "partly hidden", "open"),
    Protection(0.99, "hardly hidden", "bad"),
    Protection(1.00, "no meaningful protection", "bad"),
)
_EXAMPLES = (0.4, 1.0, 2.0, 4.0)  # an epsilon for each degree but the last


@dataclass(frozen=True)
class PrivacyInWords:
    """One finding: its subject, the word for it, and the reason.

    Args:
        levels: Levels of guarantee that it is about.
        subject: What is hidden or not.
        word: Word of a :class:`Protection`, or ``not hidden``, ``in clear``, ``not asked``.
        tone: ``good``, ``open`` or ``bad``; empty for what was not asked.
        detail: Reason with its figures; may be empty.
    """

    levels: tuple[str, ...]
    subject: str
    word: str
    tone: str
    detail: str

    @property
    def text(self) -> str:
        """The finding in one sentence without a full stop."""
        return f"{self.subject}: {self.word}" + (f" ({self.detail})" if self.detail else "")


def guess(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest chance of a right guess between two equally likely values.

    >>> guess(0.0), round(guess(1.0), 3)
    (0.5, 0.731)
    """
    return min((1.0 + delta * math.exp(-epsilon)) / (1.0 + math.exp(-epsilon)), 1.0)


def of_100(entry: Mapping[str, Any]) -> int:
    """Return how often of 100 times a guess is right at most, rounded up: 100 in clear, 50 without an answer.

    Args:
        entry: A level of ``privacy.holds``; of several collections one alone counts.

    >>> [of_100({"status": "bounded", "value": loss, "delta": 0.0}) for loss in (0.0, 1.0, 9.0)]
    [50, 74, 100]
    """
    if entry["status"] == "bounded":
        one = entry.get("of_one") or entry
        return math.ceil(100 * guess(one["value"], one["delta"] or 0.0))
    return 50 if entry["status"] == NOT_ASKED else 100


def claimed(record: Mapping[str, Any]) -> str:
    """Return the statement of the method's paper, with its figure.

    >>> claimed({"privacy": {"claimed": {"statement": "(epsilon, 0.001)-DP", "value": 8.92}}})
    '(epsilon, 0.001)-DP: 8.92'
    """
    statement, value = record["privacy"]["claimed"]["statement"] or "nothing", record["privacy"]["claimed"]["value"]
    return str(statement) if value is None or shown(value) in statement else f"{statement}: {shown(value)}"


def protection(epsilon: float, delta: float = 0.0) -> Protection:
    """Return the degree of protection of a bounded level.

    >>> protection(1.0).word
    'hidden fairly well'
    """
    chance = guess(epsilon, delta)
    return next(each for each in PROTECTIONS if chance <= each.most)


def which_epsilon_hides() -> str:
    """Return the sentence that stands before a person is asked for an epsilon, as the guide for deciders has it.

    >>> which_epsilon_hides()[:57]
    'Which epsilon hides? 0.4: hidden well (right guess 59.9 %'
    """
    first, *rest = [f"{epsilon:g}: {protection(epsilon).word} ({{}}{guessed(guess(epsilon))})" for epsilon in _EXAMPLES]
    return (
        "Which epsilon hides? " + ", ".join([first.format("right guess "), *(each.format("") for each in rest)]) + "."
    )


def recovered(record: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return recall and precision of the edges that the curator found; None if it had none to find.

    An edge that is public, or that the curator reads in clear, is not found.
    """
    reconstruction, holds = record["reconstruction"], record["privacy"]["holds"]
    recall, precision = reconstruction.get("edge_recall"), reconstruction.get("edge_precision")
    if recall is None or precision is None or holds["relationship"]["status"] == "unprotected":
        return None
    return float(recall), float(precision)


def density_of(people: Mapping[str, Any]) -> float:
    """Return the share of all pairs of people that are edges: the precision of pairs that are drawn at random.

    >>> density_of({"nodes": 4, "edges": 3})
    0.5
    """
    nodes, edges = people["nodes"], people["edges"]
    return float(2 * edges / max(nodes * (nodes - 1), 1))


def privacy_in_words(record: Mapping[str, Any]) -> tuple[PrivacyInWords, ...]:
    """Return the findings of a result, in the order of the levels.

    Levels with the same word for the same reason are one finding. Levels of more than one
    attribute are left out if they were not asked. The levels are those of everybody but volunteers, who are a finding
    of their own.

    Args:
        record: Content of a result.json.

    Raises:
        ValueError: for an unknown status of a level.
    """
    by_level = {level: _level(record, level) for level, spec in LEVELS.items() if spec.spoken}
    findings = _together({level: words for level, words in by_level.items()
                          if words[0] != NOT_ASKED or LEVELS[level].attribute is not None})  # fmt: skip
    if VOLUNTEERS in record["privacy"]["holds"]["user"].get("not_counted", ()):
        findings = (
            *findings,
            PrivacyInWords((), "label and features of volunteers", IN_CLEAR, "bad", "they report nothing else"),
        )
    return tuple(replace(each, subject=EVERYTHING) for each in findings) if len(findings) == 1 else findings


_NOT_COUNTED = "not counted: the public "
_PUBLIC = {("label",): "of training and validation people"}


def _together(by_level: Mapping[str, tuple[str, str, str]]) -> tuple[PrivacyInWords, ...]:
    """Make one finding of the levels with the same word, tone and detail."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for level, words in by_level.items():
        groups.setdefault(words, []).append(level)
    return tuple(
        PrivacyInWords(tuple(levels), ", ".join(LEVELS[level].term for level in levels), *words)
        for words, levels in groups.items()
    )


def _not_counted(record: Mapping[str, Any], entry: Mapping[str, Any], spec: LevelSpec) -> list[str]:
    """Return what is public of a record and left out of the figure of its private part."""
    if spec.unit not in ("record", "node"):
        return []
    parts = [" and ".join(PUBLIC_PARTS[name] for name in entry["public"])] if entry["private_value"] is not None else []
    return parts + (["label"] if record["privacy"]["holds"]["label"]["status"] == "unprotected" else [])


@dataclass(frozen=True)
class Protected:
    """Figures of the guarantee at one level.

    Args:
        epsilon: The loss of one collection as text, or ``in clear``, ``public`` or ``not asked``.
        chance: The best guess between two values, as text; empty without a loss.
        word: The word for it, as in :class:`PrivacyInWords`.
        tone: ``good``, ``open`` or ``bad``; empty for what was not asked.
        detail: Reason with its figures; may be empty.
    """

    epsilon: str
    chance: str
    word: str
    tone: str
    detail: str


def protected(record: Mapping[str, Any], level: str) -> Protected:
    """Return what holds at a level of one collection; where a part of a record is public, of the private rest.

    Args:
        record: Content of a result.json.
        level: A key of :data:`ldpsim.curator.privacy.levels.LEVELS`.

    Raises:
        ValueError: for an unknown status.
    """
    entry, spec = record["privacy"]["holds"][level], LEVELS[level]
    status, loss, delta = entry["status"], entry["value"], entry["delta"] or 0.0
    if entry["private_value"] is not None:  # the figures are those of the private part
        status, loss, delta = "bounded", entry["private_value"], entry["private_delta"] or 0.0
    if status == "bounded" and (one := entry.get("of_one")) is not None:
        loss, delta = one["value"], one["delta"] or 0.0
    if status == "unprotected":
        public = tuple(entry["public"])
        return Protected("public" if public else IN_CLEAR, "", IN_CLEAR, "bad",
                         _PUBLIC.get(public, "") if public else entry["detail"] or "")  # fmt: skip
    if status == "not asked":
        found = Protected(NOT_ASKED, "", NOT_ASKED, "", "")
    elif status == "bounded":
        grade, left_out = protection(loss, delta), _not_counted(record, entry, spec)
        details = [_NOT_COUNTED + " and ".join(left_out)] if left_out and grade is not PROTECTIONS[-1] else []
        details += [f"delta {shown_delta(delta)}"] if delta else []
        found = Protected(shown(loss), guessed(guess(loss, delta)), grade.word, grade.tone, "; ".join(details))
    else:
        raise ValueError(f"privacy.holds.{level}: {status!r} is no status")
    edges = recovered(record) if spec.unit == "edge" else None
    if edges is None:
        return found
    recall, precision = (percent(share) for share in edges)
    if min(edges) >= FOUND:
        rebuilt = f"{recall} were rebuilt"
        return replace(found, word=NOT_HIDDEN, tone="bad", detail=rebuilt)
    return replace(found, detail="; ".join(filter(None, (found.detail, f"{recall} found, precision {precision}"))))


def _level(record: Mapping[str, Any], level: str) -> tuple[str, str, str]:
    """Return word, tone and detail of a level."""
    found = protected(record, level)
    best = found.chance and found.word not in (NOT_HIDDEN, PROTECTIONS[-1].word)
    public = found.epsilon if found.epsilon == "public" else ""
    details = filter(None, (f"best guess {found.chance}" if best else "", public, found.detail))
    return found.word, found.tone, "; ".join(details)
