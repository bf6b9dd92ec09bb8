"""Decision about a query from the answers that a device gave before (``device.md``, "The answer")."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ldpsim.devices.ledger.rows import TO_FRIENDS, Answer, Head, LedgerDamaged, Part, head_of
from ldpsim.devices.query import Query


@dataclass(frozen=True)
class NewRelease:
    """Nothing of this was released: draw the report, enter it, then reply.

    Args:
        spent: Sum of the losses of the device's earlier answers when the whole record changes.
        head: End of the device's chain; the new row follows it.
    """

    spent: float = 0.0
    head: Head = field(default=Head(), compare=False)


@dataclass(frozen=True)
class Replay:
    """The stored bytes of each attribute asked, in the query's order."""

    reports: tuple[bytes, ...]


@dataclass(frozen=True)
class AlreadyCollected:
    """The attribute was released to another question, or to the same question of another collection."""


_FIRST = NewRelease()
Decision = NewRelease | Replay | AlreadyCollected
_Known = dict[tuple[str, int], tuple[Answer, Part]]


def decide(answers: Sequence[Answer], query: Query, *, replay: bool) -> Decision:
    """Decide about a query that the device's policy allows.

    Args:
        answers: All answers of the device, their chain checked.
        query: The question.
        replay: Whether a repeat from another collection gets the stored bytes.

    Raises:
        LedgerDamaged: where an attribute was entered twice.
    """
    if not answers:  # nearly everybody, in a first collection
        return _FIRST if query.stage == 0 else AlreadyCollected()
    by_attribute = _by_attribute(answers)
    first = [by_attribute.get((name, 0)) for name in query.attributes]
    if query.stage == 0 and not any(first):
        to_curators = (answer for answer in answers if answer.collection != TO_FRIENDS)
        spent = math.fsum(part.loss.vector for answer in to_curators for part in answer.releases)
        return NewRelease(spent, head_of(answers))
    # From here on something that the query asks was released or reserved before.
    names = [ask.attribute for ask in query.asks]
    relevant = [by_attribute.get((name, 0)) for name in (query.attributes if query.stage else names)]
    pairs = [entry for entry in relevant if entry is not None]
    if len(pairs) < len(relevant) or any(part.fingerprint != query.fingerprint(part.attribute) for _, part in pairs):
        return AlreadyCollected()
    same_collection = all(answer.collection == query.collection for answer, _ in pairs)
    stored = [entry for name in names if (entry := by_attribute.get((name, query.stage))) is not None]
    if len(stored) == len(names):
        if any(answer.grouping != query.grouping_digest for answer, _ in stored):
            return AlreadyCollected()
        if not (same_collection or replay):
            return AlreadyCollected()
        return Replay(tuple(part.report for _, part in stored))
    if stored or not same_collection or query.stage == 0:
        return AlreadyCollected()
    earlier = [(ask.attribute, stage) for stage in range(query.stage) for ask in query.plan[stage]]
    return NewRelease(head=head_of(answers)) if all(key in by_attribute for key in earlier) else AlreadyCollected()


def _by_attribute(answers: Sequence[Answer]) -> _Known:
    by_attribute: _Known = {}
    for answer in answers:
        if not answer.is_training:
            for part in answer.parts:
                if by_attribute.setdefault((part.attribute, answer.stage), (answer, part)) != (answer, part):
                    raise LedgerDamaged("an attribute was entered twice")
    return by_attribute
