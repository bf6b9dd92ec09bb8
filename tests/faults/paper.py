"""Asks and replies as the judge sees them, and what ``device.md`` says of a question, without code of the product."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from tests.faults.questions import CAP, Question


@dataclass(frozen=True)
class Outcome:
    """Reply of one device: the code of a refusal, ``report``, ``replay``, or nothing."""

    code: str
    data: bytes = b""

    @property
    def reports(self) -> bool:
        return self.code in ("report", "replay")


@dataclass(frozen=True)
class Asked:
    """One ask of one device of one copy.

    Args:
        number: Number of the ask, from 1.
        copy: Name of the copy.
        question: The question.
        refusal: Code that the bytes of the question, or the policy, deserve; empty where the ledger decides.
        outdated: Whether the process has a file of the ledger open that was removed or replaced.
    """

    number: int
    copy: str
    question: Question
    refusal: str = ""
    outdated: bool = False


@dataclass
class Lineage:
    """All copies of one enrolled folder.

    Args:
        counted: Whether a counter knows them.
        replay: Whether repeats of other collections get the stored bytes.
        loose: Whether only the replies are judged, because something rotted.
        free: Whether a second answer is no violation: without a counter, a copied or older folder does not know.
        changed: Whether the records changed, so that bytes may differ.
    """

    counted: bool
    replay: bool
    loose: bool = False
    free: bool = False
    changed: bool = False


def decide(answers: list[Question], question: Question, *, replay: bool) -> str:
    """Return what ``device.md`` says of a question, after these answers of one ledger."""
    if question.trains:
        return _decide_round(answers, question)
    known = {(name, answer.stage): (answer, budget) for answer in answers for name, budget in answer.asks}
    begun = [known.get((name, 0)) for name in question.attributes]
    if question.stage == 0 and not any(begun):
        return "report"
    alike = all(
        entry is not None and entry[1] == budget and entry[0].staged == question.staged
        for entry, (_, budget) in zip(begun, question.asks, strict=True)
    )
    if not alike:
        return "REPORT_COLLECTED"
    here = all(entry[0].collection == question.collection for entry in begun if entry is not None)
    given = [known.get((name, question.stage)) for name in question.attributes]
    if all(given):
        same = all(entry[0].grouping == question.grouping for entry in given if entry is not None)
        return "replay" if same and (here or replay) else "REPORT_COLLECTED"
    return "report" if here else "REPORT_COLLECTED"  # the next stage of a plan


def _decide_round(answers: list[Question], question: Question) -> str:
    """Return what it says of a round under noise: within the cap, each question once in all trainings."""
    if sum(budget for answer in answers for _, budget in answer.asks) + question.asks[0][1] > CAP:
        return "POLICY_REFUSED"
    same = any(replace(answer, collection=question.collection) == question for answer in answers)
    return "REPORT_COLLECTED" if same else "report"


def split(data: bytes) -> list[bytes]:
    """Return the pieces of a report, each of which has its length before it."""
    found, at = [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        found.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return found
