"""Broken variants of the ledger: its commits, its decisions, and the noise that it stores."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import ldpsim.devices.device
import ldpsim.devices.fleet
import ldpsim.devices.ledger.schema
from ldpsim.devices.data.population import records_of
from ldpsim.devices.device import PermittedQuery, Refusal, question_to
from ldpsim.devices.draw import DrawTask, draw
from ldpsim.devices.ledger import decisions, rows
from ldpsim.devices.ledger.ledger import CounterMismatch, Ledger, LedgerDamaged
from ldpsim.devices.ledger.rows import Answer, head_of
from ldpsim.devices.ledger.schema import OpenFiles
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report
from tests.faults import sqlite
from tests.faults.variants import put, variant


def _statements(change: Callable[[str], str]) -> Any:
    """Change the SQL that the product sends to SQLite."""
    execute = sqlite.Connection.execute
    return put(sqlite.Connection, "execute", lambda db, sql, *more: execute(db, change(sql), *more))


# --- the ledger's transaction ---------------------------------------------------------------


@variant("the reply leaves before the commit")
def _late_commit() -> Any:
    @contextmanager
    def transaction(ledger: Ledger, devices: Any = ()) -> Iterator[None]:
        if ledger._db.in_transaction and not ledger.in_transaction:
            ledger._db.execute("COMMIT")  # of the answer before
        with put(ledger, "_db", _Keeping(ledger._db)):
            with real(ledger, devices):
                yield

    real = Ledger.transaction
    return put(Ledger, "transaction", transaction)


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
    def undo(ledger: Ledger) -> None:
        if ledger._db.in_transaction:
            ledger._db.execute("COMMIT")

    return put(Ledger, "_undo", undo)


@variant("a batch whose commit fails gives its replies")
def _damaged_batch() -> Any:
    @contextmanager
    def transaction(ledger: Ledger, devices: Any = ()) -> Iterator[None]:
        done = False
        try:
            with real(ledger, devices):
                yield
                done = True
        except LedgerDamaged as error:
            if not done or isinstance(error, CounterMismatch):
                raise

    real = Ledger.transaction
    return put(Ledger, "transaction", transaction)


@variant("the files of a ledger are not compared", "removals")
def _any_files() -> Any:
    return put(OpenFiles, "check", lambda files: None)


@variant("the files of a ledger are compared before the commit alone", "removals")
def _early_files() -> Any:
    def present(ledger: Any) -> None:
        with ldpsim.devices.ledger.schema.failing("", (OSError,)):
            ledger._files.check()
        real(ledger)

    real = Ledger._check_present
    return [put(Ledger, "_check_present", present), put(Ledger, "_check_files", lambda ledger: None)]


# --- the decision -----------------------------------------------------------------------------


def _decision(change: Callable[..., Any]) -> Any:
    """Change the decision; a new row still follows the last one."""
    real = decisions.decide

    def decide(answers: Any, query: Query, *, replay: bool) -> Any:
        found = change(real, answers, query, replay)
        return replace(found, head=head_of(answers)) if isinstance(found, decisions.NewRelease) else found

    return put(decisions, "decide", decide)


@variant("attributes that were released with others are forgotten")
def _forgets_others() -> Any:
    def change(real: Any, answers: Any, query: Query, replay: bool) -> Any:
        alone = [a for a in answers if {p.attribute for p in a.parts} == set(query.attributes)]
        return real(alone, query, replay=replay)

    return _decision(change)


@variant("only the latest answer is looked at")
def _latest_alone() -> Any:
    return _decision(lambda real, answers, query, replay: real(answers[-1:], query, replay=replay))


@variant("the collection is not compared")
def _any_collection() -> Any:
    return _decision(lambda real, answers, query, replay: real(answers, query, replay=True))


@variant("the bytes of an old answer go to a new question")
def _old_record() -> Any:
    def change(real: Any, answers: Any, query: Query, replay: bool) -> Any:
        found = real(answers, query, replay=replay)
        old = {part.attribute: part.report for answer in answers for part in answer.parts}
        if isinstance(found, decisions.AlreadyCollected) and set(query.attributes) <= set(old):
            return decisions.Replay(tuple(old[name] for name in query.attributes))
        return found

    return _decision(change)


@variant("the grouping of a stage is not compared")
def _any_grouping() -> Any:
    def change(real: Any, answers: Any, query: Query, replay: bool) -> Any:
        if query.stage:
            answers = [_with_grouping(a, query.grouping_digest) if a.stage else a for a in answers]
        return real(answers, query, replay=replay)

    return _decision(change)


def _with_grouping(answer: Answer, digest: bytes) -> Answer:
    head = rows._REPORT.pack(answer.time, answer.stage, len(digest)) + digest
    return answer._replace(body=head + answer.body[answer._start :])


@variant("a later stage is answered before the first")
def _stage_first() -> Any:
    def change(real: Any, answers: Any, query: Query, replay: bool) -> Any:
        first = query.stage and not answers
        return decisions.NewRelease(head=head_of(answers)) if first else real(answers, query, replay=replay)

    return _decision(change)


@variant("an answer is forgotten after a day")
def _forgets_with_time() -> Any:
    def change(real: Any, answers: Any, query: Query, replay: bool) -> Any:
        now = rows.time.time()
        return real([a for a in answers if now - a.time < 86400], query, replay=replay)

    return _decision(change)


def after_answering(change: Callable[[Any, int, Query, Any], Any]) -> Any:
    """Change the answers of devices after they were decided: state, device, query and answer give the new one."""

    def answering(state: Any, devices: Sequence[int], question: Any, *, raw: bool = False) -> Generator[Any, Any, Any]:
        answers = yield from real(state, devices, question, raw=raw)
        asked = question if isinstance(question, Refusal) else question_to(state.policy, question, raw=raw)
        if not isinstance(asked, PermittedQuery):
            return answers
        return [change(state, device, asked.query, one) for device, one in zip(devices, answers, strict=True)]

    real = ldpsim.devices.device.answering
    return [put(module, "answering", answering) for module in (ldpsim.devices.device, ldpsim.devices.fleet)]


@variant("a retry is drawn from the present data")
def _drawn_again() -> Any:
    def change(state: Any, device: int, query: Query, found: Any) -> Any:
        if not (isinstance(found, Report) and found.replayed):
            return found
        counter = state.counter(device // state.shard)
        nonce = b"" if counter is None else counter.entries([device])[device].nonce
        records = records_of(state.population, [device])
        (again,) = draw(DrawTask.of(query, [device], records, state.secrets[[device]], [nonce])).reported()
        return replace(again, replayed=True)

    return after_answering(change)


@variant("the question is not in the key of the noise")
def _common_noise() -> Any:
    return put(Query, "question", lambda query, attribute: b"")
