"""Broken variants of the ledger: its commits, its decisions, and the noise that it stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import ldpsim.devices.answer_many
import ldpsim.devices.atomic_files
import ldpsim.devices.collector
import ldpsim.devices.device
import ldpsim.devices.ledger.chain
import ldpsim.devices.ledger.counter
import ldpsim.devices.ledger.counter_folder
import ldpsim.devices.ledger.counter_postgres
import ldpsim.devices.ledger.ledger
import ldpsim.devices.ledger.ledger_file
import ldpsim.devices.ledger.rows
import ldpsim.devices.ledger.schema
from ldpsim.devices.device import Device, Refusal
from ldpsim.devices.ledger import decisions
from ldpsim.devices.ledger.ledger_file import LedgerFile
from ldpsim.devices.ledger.open_files import OpenFiles
from ldpsim.devices.ledger.rows import Head
from ldpsim.devices.query import Query
from tests.faults import life, sqlite
from tests.faults.variants import put, variant


def _statements(change: Callable[[str], str]) -> Any:
    """Change the SQL that the product sends to SQLite."""
    execute = sqlite.Connection.execute
    return put(sqlite.Connection, "execute", lambda db, sql, *more: execute(db, change(sql), *more))


# --- the ledger's transaction ---------------------------------------------------------------


@variant("the reply leaves before the commit")
def _late_commit() -> Any:
    @contextmanager
    def transaction(ledger: LedgerFile, devices: Any = ()) -> Iterator[None]:
        if ledger._db.in_transaction and not ledger._depth:
            ledger._db.execute("COMMIT")  # of the answer before
        with put(ledger, "_db", _Keeping(ledger._db)):
            with real(ledger, devices):
                yield

    real = LedgerFile.transaction
    return put(LedgerFile, "transaction", transaction)


class _Keeping:
    """A connection that leaves a commit for later."""

    def __init__(self, db: Any) -> None:
        self._real = db

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def execute(self, sql: str, *more: Any) -> Any:
        return None if sql == "COMMIT" else self._real.execute(sql, *more)


@variant("a commit does not wait for the disk")
def _no_sync() -> Any:
    return _statements(lambda sql: sql.replace("synchronous=FULL", "synchronous=NORMAL"))


@variant("a log that a killed process left is not synced at the next start (mended)")
def _log_not_synced() -> Any:
    return put(ldpsim.devices.ledger.schema, "make_durable", lambda path: None)


@variant("a failed batch is not undone")
def _no_undo() -> Any:
    def undo(ledger: LedgerFile) -> None:
        if ledger._db.in_transaction:
            ledger._db.execute("COMMIT")

    return put(LedgerFile, "_undo", undo)


@variant("a batch whose commit fails gives its replies")
def _damaged_batch() -> Any:
    def answer(state: Any, people: Any, question: bytes) -> Any:
        found: list[Any] = []

        def many(*given: Any) -> Any:
            found.extend(real_many(*given))
            return list(found)

        with put(ldpsim.devices.answer_many, "answer_many", many):
            answers = real(state, people, question)
        return found if found and set(answers) == {Refusal.LEDGER_DAMAGED} else answers

    real, real_many = ldpsim.devices.answer_many.answer_together, ldpsim.devices.answer_many.answer_many
    return put(life, "answer_together", answer)


@variant("the files of a ledger are not compared", "removals")
def _any_files() -> Any:
    return put(OpenFiles, "check", lambda files: None)


@variant("the files of a ledger are compared before the commit alone", "removals")
def _early_files() -> Any:
    def present(ledger: Any) -> None:
        with ldpsim.devices.ledger.schema.failing("", (OSError,)):
            ledger._files.check()
        real(ledger)

    real = LedgerFile._check_present
    return [put(LedgerFile, "_check_present", present), put(LedgerFile, "_check_files", lambda ledger: None)]


# --- the decision -----------------------------------------------------------------------------


def _decision(change: Callable[..., Any]) -> Any:
    real = decisions.decide
    return put(decisions, "decide", lambda answers, head, query, *, replay: change(real, answers, head, query, replay))


@variant("attributes that were released with others are forgotten")
def _forgets_others() -> Any:
    def change(real: Any, answers: Any, head: Head, query: Query, replay: bool) -> Any:
        alone = [a for a in answers if {p.attribute for p in a.parts} == set(query.attributes)]
        return real(alone, head, query, replay=replay)

    return _decision(change)


@variant("only the latest answer is looked at")
def _latest_alone() -> Any:
    return _decision(lambda real, answers, head, query, replay: real(answers[-1:], head, query, replay=replay))


@variant("the collection is not compared")
def _any_collection() -> Any:
    return _decision(lambda real, answers, head, query, replay: real(answers, head, query, replay=True))


@variant("the bytes of an old answer go to a new question")
def _old_record() -> Any:
    def change(real: Any, answers: Any, head: Head, query: Query, replay: bool) -> Any:
        found = real(answers, head, query, replay=replay)
        old = {part.attribute: part.report for answer in answers for part in answer.parts}
        if isinstance(found, decisions.AlreadyCollected) and set(query.attributes) <= set(old):
            return decisions.Replay(tuple(old[name] for name in query.attributes))
        return found

    return _decision(change)


@variant("the grouping of a stage is not compared")
def _any_grouping() -> Any:
    def change(real: Any, answers: Any, head: Head, query: Query, replay: bool) -> Any:
        if query.stage:
            answers = [replace(a, grouping=query.grouping_digest) if a.stage else a for a in answers]
        return real(answers, head, query, replay=replay)

    return _decision(change)


@variant("a later stage is answered before the first")
def _stage_first() -> Any:
    def change(real: Any, answers: Any, head: Head, query: Query, replay: bool) -> Any:
        return decisions.NewRelease(head=head) if query.stage and not answers else real(
            answers, head, query, replay=replay)  # fmt: skip

    return _decision(change)


@variant("an answer is forgotten after a day")
def _forgets_with_time() -> Any:
    def change(real: Any, answers: Any, head: Head, query: Query, replay: bool) -> Any:
        now = ldpsim.devices.ledger.rows.time.time()
        return real([a for a in answers if now - a.time < 86400], head, query, replay=replay)

    return _decision(change)


@variant("a retry is drawn from the present data")
def _drawn_again() -> Any:
    def claim(device: Device, query: Query) -> Any:
        found = real(device, query)
        if isinstance(found, ldpsim.devices.device.Report) and found.replayed:
            parts = []
            for ask in query.asks:
                read = [device._data_digest(name) for name in ask.attributes]
                key = device._noise_key(b"noise", query.question(ask.attribute), *read,
                                        device.ledger.nonce(device.index))  # fmt: skip
                parts.append(ldpsim.devices.device.pack_parts(device._perturb(ask, query, key)))
            return ldpsim.devices.device.Report(ldpsim.devices.device.pack_report(tuple(parts)), replayed=True)
        return found

    real = Device._claim
    return put(Device, "_claim", claim)


@variant("the question is not in the key of the noise")
def _common_noise() -> Any:
    def key(device: Device, *parts: bytes) -> bytes:
        return real(device, parts[0], *parts[2:])

    real = Device._noise_key
    return put(Device, "_noise_key", key)
