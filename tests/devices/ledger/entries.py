"""Entries of a ledger, as tests make them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from ldpsim.devices.ledger.decisions import Decision, NewRelease, decide
from ldpsim.devices.ledger.ledger import Ledger, LedgerDamaged
from ldpsim.devices.ledger.rows import Answer, Head, TrainingEnd, head_of, reports_of, training_answers
from ldpsim.devices.mechanisms import Loss
from ldpsim.devices.query import Query

KEY = b"k" * 32


def chain_of(ledger: Ledger, device: int = 3, key: bytes = KEY) -> list[Answer]:
    """Return a device's checked answers; LedgerDamaged where nobody can trust them."""
    (found,) = ledger.chains({device: key}).values()
    if isinstance(found, LedgerDamaged):
        raise found
    return list(found)


def readable(ledger: Ledger, device: int = 3, key: bytes = KEY) -> bool:
    try:
        chain_of(ledger, device, key)
    except LedgerDamaged:
        return False
    return True


def say(ledger: Ledger, query: Query, *, replay: bool = False, device: int = 3) -> Decision:
    return decide(chain_of(ledger, device), query, replay=replay)


def report_after(answers: Sequence[Answer], query: Query, device: int = 3) -> Answer:
    """Return the row of an answer to a query, with bytes that name attribute and stage."""
    reports = {ask.attribute: [f"{ask.attribute}{query.stage}".encode()] for ask in query.asks}
    (row,) = reports_of(query, {device: head_of(answers)}, reports, {name: [b"d" * 32] for name in reports})
    return row


def training_after(answers: Sequence[Answer], device: int = 3, *, loss: float = 2.0) -> Answer:
    trained = [answer for answer in answers if answer.is_training]
    spent = trained[-1].total if trained else Loss(0.0, 0.0)
    return training_answer(
        device, head_of(answers), spent, collection="training", kind="update", scope=("features", "label"),
        fingerprint=b"f" * 32, loss=Loss(loss, loss, 1e-6), data_digest=b"d" * 64, size=100,
    )  # fmt: skip


def training_answer(
    device: int, head: Head, spent: Loss, *, fingerprint: bytes, data_digest: bytes, size: int, **more: Any
) -> Answer:
    """Return the next row of one device in a training."""
    ends = {device: TrainingEnd(head, spent)}
    (row,) = training_answers(ends, fingerprints=[fingerprint], digests=[data_digest], sizes=[size], **more)
    return row


def release(ledger: Ledger, query: Query, device: int = 3, key: bytes = KEY) -> None:
    with ledger.transaction():
        answers = chain_of(ledger, device, key)
        assert isinstance(decide(answers, query, replay=False), NewRelease)
        ledger.enter([report_after(answers, query, device)], [head_of(answers).seal], {device: key})


def train(ledger: Ledger, device: int = 3, key: bytes = KEY, *, loss: float = 2.0) -> None:
    with ledger.transaction():
        answers = chain_of(ledger, device, key)
        ledger.enter([training_after(answers, device, loss=loss)], [head_of(answers).seal], {device: key})


def harm(ledger: Ledger, statement: str, values: Sequence[Any] = ()) -> None:
    """Change the file by another connection."""
    with closing(sqlite3.connect(ledger.path)) as stranger, stranger:
        stranger.execute(statement, values)
