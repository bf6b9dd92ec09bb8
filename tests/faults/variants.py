"""Broken variants of the product: the simulator has to find each of them. A variant changes the code for a while."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any
from unittest import mock

import devices.answer_many
import devices.collector
import devices.device
import devices.ledger.chain
import devices.ledger.counter_folder
import devices.ledger.counter_postgres
import devices.ledger.ledger
import devices.ledger.ledger_file
import devices.ledger.schema
from devices.device import Device, Refusal
from devices.ledger import decisions
from devices.ledger.counter import CounterCheck
from devices.ledger.counter_folder import FolderCounter
from devices.ledger.counter_postgres import PostgresCounter
from devices.ledger.ledger_file import LedgerFile
from devices.ledger.rows import Head
from devices.query import Query
from tests.faults import sqlite

Patch = Callable[[], Any]
VARIANTS: dict[str, Patch] = {}
_put = mock.patch.object


def variant(text: str) -> Callable[[Patch], Patch]:
    """Enter a variant under its name, in words."""

    def enter(make: Patch) -> Patch:
        VARIANTS[text] = make
        return make

    return enter


@contextmanager
def broken(name: str) -> Iterator[None]:
    """Change the code as a variant says."""
    made = VARIANTS[name]()
    with ExitStack() as stack:
        for patch in made if isinstance(made, list) else [made]:
            stack.enter_context(patch)
        yield


def _statements(change: Callable[[str], str]) -> Any:
    """Change the SQL that the product sends to SQLite."""
    execute = sqlite.Connection.execute
    return _put(sqlite.Connection, "execute", lambda db, sql, *more: execute(db, change(sql), *more))


# --- the ledger's transaction ---------------------------------------------------------------


@variant("the reply leaves before the commit")
def _late_commit() -> Any:
    @contextmanager
    def transaction(ledger: LedgerFile, devices: Any = ()) -> Iterator[None]:
        if ledger._db.in_transaction and not ledger._depth:
            ledger._db.execute("COMMIT")  # of the answer before
        with mock.patch.object(ledger, "_db", _Keeping(ledger._db)):
            with real(ledger, devices):
                yield

    real = LedgerFile.transaction
    return _put(LedgerFile, "transaction", transaction)


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
    return _put(devices.ledger.schema, "make_durable", lambda path: None)


@variant("a failed batch is not undone")
def _no_undo() -> Any:
    def undo(ledger: LedgerFile) -> None:
        if ledger._db.in_transaction:
            ledger._db.execute("COMMIT")

    return _put(LedgerFile, "_undo", undo)


@variant("a batch whose commit fails gives its replies")
def _damaged_batch() -> Any:
    def answer(state: Any, people: Any, question: bytes) -> Any:
        found: list[Any] = []

        def many(*given: Any) -> Any:
            found.extend(real_many(*given))
            return list(found)

        with _put(devices.answer_many, "answer_many", many):
            answers = real(state, people, question)
        return found if found and set(answers) == {Refusal.LEDGER_DAMAGED} else answers

    real, real_many = devices.answer_many.answer_together, devices.answer_many.answer_many
    from tests.faults import life

    return _put(life, "answer_together", answer)


@variant("the epoch is not compared")
def _no_epoch() -> Any:
    def present(ledger: Any) -> None:
        ledger.epoch = ledger._db.execute(devices.ledger.schema.PRESENT).fetchall()[0][0]
        real(ledger)

    real = LedgerFile._check_present
    return _put(LedgerFile, "_check_present", present)


# --- the decision -----------------------------------------------------------------------------


def _decision(change: Callable[..., Any]) -> Any:
    real = decisions.decide
    return _put(decisions, "decide", lambda answers, head, query, *, replay: change(real, answers, head, query, replay))


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
        now = devices.ledger.rows.time.time()
        return real([a for a in answers if now - a.time < 86400], head, query, replay=replay)

    return _decision(change)


@variant("a retry is drawn from the present data")
def _drawn_again() -> Any:
    def claim(device: Device, query: Query) -> Any:
        found = real(device, query)
        if isinstance(found, devices.device.Report) and found.replayed:
            parts = []
            for ask in query.asks:
                read = [device._data_digest(name) for name in ask.attributes]
                key = device._noise_key(b"noise", query.question(ask.attribute), *read,
                                        device.ledger.nonce(device.index))  # fmt: skip
                parts.append(devices.device.pack_parts(device._perturb(ask, query, key)))
            return devices.device.Report(devices.device.pack_report(tuple(parts)), replayed=True)
        return found

    real = Device._claim
    return _put(Device, "_claim", claim)


@variant("the question is not in the key of the noise")
def _common_noise() -> Any:
    def key(device: Device, *parts: bytes) -> bytes:
        return real(device, parts[0], *parts[2:])

    real = Device._noise_key
    return _put(Device, "_noise_key", key)


# --- the counter ------------------------------------------------------------------------------


@variant("the counter is read before the lock")
def _read_early() -> Any:
    @contextmanager
    def transaction(ledger: LedgerFile, wanted: Any = ()) -> Iterator[None]:
        if ledger._depth or ledger._counter is None:
            with real(ledger, wanted):
                yield
            return
        early = CounterCheck(ledger._counter, wanted or range(5))
        with mock.patch.object(devices.ledger.ledger_file, "CounterCheck", lambda *given: early):
            with real(ledger, wanted):
                yield

    real = LedgerFile.transaction
    return _put(LedgerFile, "transaction", transaction)


@variant("the counter is not compared")
def _no_comparison() -> Any:
    def compare(check: CounterCheck, device: int, head: Head, chain: Any) -> None:
        check.entry(device)
        check.end(device, head, chain)

    return [_put(CounterCheck, "compare", compare), _put(CounterCheck, "_is_ours", staticmethod(lambda *given: True))]


@variant("the counter is never advanced")
def _never_settled() -> Any:
    return _put(CounterCheck, "settle", lambda check: None)


@variant("the counter is advanced after the reply")
def _settled_late() -> Any:
    waiting: list[Any] = []

    def settle(check: CounterCheck) -> None:
        while waiting:
            with suppress(devices.ledger.ledger.LedgerDamaged):
                real(waiting.pop())
        waiting.append(check)

    real = CounterCheck.settle
    return _put(CounterCheck, "settle", settle)


@variant("the counter is advanced before the commit")
def _settled_early() -> Any:
    def end(check: CounterCheck, device: int, head: Head, chain: Any) -> None:
        real(check, device, head, chain)
        check.settle()

    real = CounterCheck.end
    return _put(CounterCheck, "end", end)


@variant("only the number of answers is compared with the counter")
def _number_alone() -> Any:
    return _put(devices.ledger.counter, "_holds", lambda answers, head: head.answers <= len(answers))


@variant("a counter that is behind is a mismatch")
def _behind_is_lost() -> Any:
    def compare(check: CounterCheck, device: int, head: Head, chain: Any) -> None:
        if check.entry(device).head != head:
            raise devices.ledger.counter.CounterMismatch([device])
        check.end(device, head, chain)

    return _put(CounterCheck, "compare", compare)


@variant("a counter's file is set and not compared")
def _file_set() -> Any:
    def advance(counter: FolderCounter, changes: Any) -> dict[int, Head]:
        for device, (_, new) in changes.items():
            real(counter, {device: (counter.entries([device])[device].head, new)})
        return {}

    real = FolderCounter.advance
    return _put(FolderCounter, "advance", advance)


@variant("a counter's file is not synced")
def _file_not_synced() -> Any:
    execute = sqlite.Connection.execute

    def run(db: Any, sql: str, *more: Any) -> Any:
        return execute(db, "PRAGMA synchronous=OFF" if "counter" in db.path and "=FULL" in sql else sql, *more)

    return _put(sqlite.Connection, "execute", run)


@variant("a counter's row on the server is not locked")
def _not_locked() -> Any:
    return _put(devices.ledger.counter_postgres, "_LOCK", devices.ledger.counter_postgres._SELECT)


@variant("the server's commit does not wait for its disk")
def _server_not_durable() -> Any:
    return _put(devices.ledger.counter_postgres, "_DURABLE", "SELECT to_regclass('')")


@variant("a step of the counter that is repeated after a lost connection is a mismatch")
def _not_idempotent() -> Any:
    def advance(counter: PostgresCounter, changes: Any) -> dict[int, Head]:
        times = 0

        def counting(work: Any) -> Any:
            def once(db: Any) -> Any:
                nonlocal times
                times += 1
                return work(db)

            return run(once)

        run = counter._run
        with mock.patch.object(counter, "_run", counting):
            left = real(counter, changes)
        return left if times < 2 else {device: Head(9, b"x") for device in changes}

    real = PostgresCounter.advance
    return _put(PostgresCounter, "advance", advance)


@variant("the reply of a copy that lost leaves")
def _lost_leaves() -> Any:
    def settle(check: CounterCheck) -> None:
        with suppress(devices.ledger.counter.CounterMismatch):
            real(check)

    real = CounterCheck.settle
    return _put(CounterCheck, "settle", settle)


# --- the collector, refusals, and a rotten file -------------------------------------------------


def _verified(check: Callable[[str, bytes], bool]) -> Any:
    return _put(devices.device, "is_signed_by", check)


@variant("the signature covers the collection's id alone")
def _wrong_bytes() -> Any:
    seen: dict[bytes, bytes] = {}

    def check(collector: str, question: bytes) -> bool:
        if devices.collector.is_signed_by(collector, question):
            seen[question[:69]] = question[69:100]
            return True
        return seen.get(question[:69]) == question[69:100]

    return _verified(check)


@variant("a signature is verified under any key")
def _any_key() -> Any:
    from tests.faults.questions import KEYS

    return _verified(lambda collector, question: any(
        devices.collector.is_signed_by(key.public, question) for key in KEYS))  # fmt: skip


@variant("an unsigned question passes")
def _unsigned_passes() -> Any:
    return _verified(lambda collector, question: question[:1] == b"{" or devices.collector.is_signed_by(
        collector, question))  # fmt: skip


@variant("a refusal does not look at the ledger")
def _blind_refusal() -> Any:
    return _put(Device, "_refuse", lambda device, refusal: refusal)


@variant("a refusal depends on the data")
def _refusal_of_data() -> Any:
    def decide(device: Device, query: Query) -> Any:
        found = real(device, query)
        return Refusal.UNKNOWN_QUERY if found is Refusal.REPORT_COLLECTED and device._record.label == 2 else found

    real = Device._decide
    return _put(Device, "_decide", decide)


@variant("the chain of seals is not checked")
def _no_seals() -> Any:
    return [_put(devices.ledger.ledger, "checked", lambda answers, key: iter(answers)),
            _put(devices.ledger.ledger, "sound_alone", lambda rows, keys: [True] * len(rows))]  # fmt: skip


@variant("seals are compared in their first byte")
def _short_seals() -> Any:
    compare = hmac.compare_digest
    return _put(devices.ledger.chain.hmac, "compare_digest", lambda a, b: compare(a[:1], b[:1]))
