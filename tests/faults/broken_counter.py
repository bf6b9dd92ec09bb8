"""Broken variants of the counters."""

from __future__ import annotations

from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import ldpsim.devices.ledger.counter
import ldpsim.devices.ledger.counter_postgres
import ldpsim.devices.ledger.ledger
from ldpsim.devices.ledger.counter import CounterCheck, CounterMismatch
from ldpsim.devices.ledger.counter_folder import FolderCounter
from ldpsim.devices.ledger.counter_postgres import PostgresCounter
from ldpsim.devices.ledger.rows import Head, LedgerDamaged
from tests.faults import sqlite
from tests.faults.variants import put, variant

# --- the counter ------------------------------------------------------------------------------


@variant("the counter is read once, when a process starts")
def _read_early() -> Any:
    def read(check: CounterCheck, wanted: list[int]) -> Any:
        counter = check._counter
        if "early" not in vars(counter):
            counter.early = real(check, list(range(5)))  # type: ignore[attr-defined]
        return {device: counter.early[device] for device in wanted if device in counter.early}  # type: ignore[attr-defined]

    real = CounterCheck._read
    return put(CounterCheck, "_read", read)


@variant("the counter is not compared")
def _no_comparison() -> Any:
    def compare(check: CounterCheck, device: int, head: Head, chain: Any) -> None:
        check.entry(device)
        check.end(device, head, chain)

    return [put(CounterCheck, "compare", compare), put(CounterCheck, "_is_ours", staticmethod(lambda *given: True))]


@variant("the counter is never advanced")
def _never_settled() -> Any:
    return put(CounterCheck, "settle", lambda check: None)


@variant("the counter is advanced after the reply")
def _settled_late() -> Any:
    def settle(check: CounterCheck) -> None:
        waiting = vars(check._counter).setdefault("waiting", [])
        while waiting:
            with suppress(LedgerDamaged):
                real(waiting.pop())
        waiting.append(check)

    real = CounterCheck.settle
    return put(CounterCheck, "settle", settle)


@variant("the counter is advanced before the commit")
def _settled_early() -> Any:
    def end(check: CounterCheck, device: int, head: Head, chain: Any) -> None:
        real(check, device, head, chain)
        check.settle()

    real = CounterCheck.end
    return put(CounterCheck, "end", end)


@variant("only the number of answers is compared with the counter")
def _number_alone() -> Any:
    return put(ldpsim.devices.ledger.counter, "_holds", lambda answers, head: head.answers <= len(answers))


@variant("a counter that is behind is a mismatch")
def _behind_is_lost() -> Any:
    def compare(check: CounterCheck, device: int, head: Head, chain: Any) -> None:
        if check.entry(device).head != head:
            raise CounterMismatch([device])
        check.end(device, head, chain)

    return put(CounterCheck, "compare", compare)


@variant("a counter that a killed process left is not synced before it is read (mended)")
def _counter_not_synced() -> Any:
    return put(FolderCounter, "_wait_for_disk", lambda counter: None)


@variant("a counter's file is set and not compared")
def _file_set() -> Any:
    def advance(counter: FolderCounter, changes: Any) -> dict[int, Head]:
        for device, (_, new) in changes.items():
            real(counter, {device: (counter.entries([device])[device].head, new)})
        return {}

    real = FolderCounter.advance
    return put(FolderCounter, "advance", advance)


@variant("a counter's file is not synced")
def _file_not_synced() -> Any:
    execute = sqlite.Connection.execute

    def run(db: Any, sql: str, *more: Any) -> Any:
        return execute(db, "PRAGMA synchronous=OFF" if "counter" in db.path and "=FULL" in sql else sql, *more)

    return put(sqlite.Connection, "execute", run)


@variant("a counter's row on the server is not locked", "races")
def _not_locked() -> Any:
    return put(ldpsim.devices.ledger.counter_postgres, "_LOCK", ldpsim.devices.ledger.counter_postgres._SELECT)


@variant("the server's commit does not wait for its disk")
def _server_not_durable() -> Any:
    return put(ldpsim.devices.ledger.counter_postgres, "_DURABLE", "SELECT to_regclass('')")


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
        with put(counter, "_run", counting):
            left = real(counter, changes)
        return left if times < 2 else {device: Head(9, b"x") for device in changes}

    real = PostgresCounter.advance
    return put(PostgresCounter, "advance", advance)


@variant("the reply of a copy that lost leaves")
def _lost_leaves() -> Any:
    def settle(check: CounterCheck) -> None:
        with suppress(CounterMismatch):
            real(check)

    real = CounterCheck.settle
    return put(CounterCheck, "settle", settle)


@variant("a counter that another process advanced part of the way is left there", "races")
def _part_of_the_way() -> Any:
    def settle(check: CounterCheck) -> None:
        counter, tried = check._counter, []

        def advance(changes: Any) -> dict[int, Head]:
            tried.append(changes)
            return counter.advance(changes) if len(tried) == 1 else {}

        check._counter = SimpleNamespace(advance=advance, entries=counter.entries)
        real(check)

    real = CounterCheck.settle
    return put(CounterCheck, "settle", settle)
