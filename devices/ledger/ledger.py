"""What a device has released: SQLite, write-ahead log, ``synchronous=FULL``.

One row is one release (or, for a plan, the reservation of an attribute that a later
stage will ask). The claim on an attribute and the report's bytes are written in one
transaction that is committed before the reply exists anywhere else. Many devices of one
process share a transaction (:meth:`Ledger.transaction`); their replies leave after it.

A row carries a seal, an HMAC over its content under the device's own key, so that an
edited or rotten row is noticed. A ledger that cannot be read, or that contradicts
itself, answers nothing.
"""

from __future__ import annotations

import hmac
import math
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from devices.ledger.counter import MonotonicCounter
from devices.ledger.rows import (
    TRAINING,
    Collected,
    Entry,
    LedgerDamaged,
    Release,
    Replay,
    TrainingRelease,
    entry_row,
    read_entry,
    read_total,
    seal,
)
from devices.ledger.schema import ALL, APPLICATION, INSERT, LAST, SCHEMA, SELECT, create
from devices.mechanisms.base import Loss
from devices.query import Query

__all__ = ["Collected", "Entry", "Ledger", "LedgerDamaged", "Release", "Replay", "TrainingRelease"]

_NOTHING = Loss(0.0, 0.0)  # a later stage was paid for with the first
# A rotten file also makes SQLite's own messages, or the sizes it asks memory for, unusable.
_FAILURES = (sqlite3.Error, UnicodeError, MemoryError)


class Ledger:
    """The ledger file of one or many devices.

    Args:
        path: The SQLite file; made when missing. A file that is there but blank is damaged.
        synchronous: ``FULL`` (default: survives power loss) or ``NORMAL``.
        counter: Counts the rows in a place of its own; a ledger that has fewer is damaged.

    Raises:
        LedgerDamaged: where the file is not a ledger, or cannot be opened.
    """

    def __init__(self, path: Path, *, synchronous: str = "FULL", counter: MonotonicCounter | None = None) -> None:
        if synchronous not in ("FULL", "NORMAL"):
            raise ValueError(f"synchronous is FULL or NORMAL, not {synchronous}")
        self.path = path
        self._lock = threading.RLock()
        self._depth = 0
        self._holder = 0  # the thread whose transaction it is
        self._counter = counter
        try:
            if not path.exists():
                if counter is not None and counter.read():
                    raise LedgerDamaged(f"{path.name} is gone")
                create(path)
            # mode=rw: a file that vanishes in between is not made anew, blank.
            address = f"{path.absolute().as_uri()}?mode=rw"
            self._db = sqlite3.connect(address, uri=True, isolation_level=None, timeout=60, check_same_thread=False)
            try:
                self._db.execute(f"PRAGMA synchronous={synchronous}")
                self._check()
            except BaseException:
                self._db.close()  # else its -wal and -shm files stay beside the ledger
                raise
        except (*_FAILURES, OSError) as error:
            raise LedgerDamaged(f"{path.name} cannot be opened") from error

    def _check(self) -> None:
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if (application, version) != (APPLICATION, SCHEMA):
            raise LedgerDamaged(f"{self.path.name} is not a ledger of a version that this program reads")
        # Not quick_check: a rotten key in the index would hide a row, and the device would report again.
        if self._db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            raise LedgerDamaged(f"{self.path.name} is damaged")

    def _count(self) -> int:
        """How many rows there are, 0 without a counter; LedgerDamaged where the counter knows of more."""
        if self._counter is None:
            return 0
        (rows,) = self._db.execute("SELECT count(*) FROM release").fetchone()
        try:
            known = self._counter.read()
        except OSError as error:
            raise LedgerDamaged("the counter cannot be read") from error
        if rows < known:
            raise LedgerDamaged("releases are missing: the ledger is an old one")
        return int(rows)

    def _raise_counter(self, rows: int) -> None:
        # Also where this transaction wrote nothing: a crash may have come between an earlier commit and here.
        if self._counter is not None:
            try:
                self._counter.raise_to(rows)
            except OSError as error:
                raise LedgerDamaged("the counter cannot be raised") from error

    def close(self) -> None:
        """Close the file; what was committed stays."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the write lock; commit at the outermost exit, undo everything on an exception.

        Raises:
            LedgerDamaged: where SQLite fails (full disk, read-only file, damage).
        """
        with self._lock:
            if self._depth:
                self._depth += 1
                try:
                    yield
                finally:
                    self._depth -= 1
                return
            try:
                self._db.execute("BEGIN IMMEDIATE")
                self._depth, self._holder = 1, threading.get_ident()
                self._count()
                yield
                rows = self._count()
                self._db.execute("COMMIT")
                self._raise_counter(rows)  # a crash before this line leaves the ledger ahead, and no reply left
            except BaseException as error:
                self._undo()
                if isinstance(error, _FAILURES):
                    raise LedgerDamaged("the ledger cannot be written") from error
                raise
            finally:
                self._depth = self._holder = 0

    def _undo(self) -> None:
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except _FAILURES:
            # The connection is of no more use; closing it undoes the transaction, and every
            # later call finds it closed, which is a damaged ledger.
            self._db.close()

    @property
    def in_transaction(self) -> bool:
        """Whether the calling thread holds a transaction; one of another thread has to be waited for."""
        return self._holder == threading.get_ident()

    def readable(self, device: int, seal_key: bytes) -> bool:
        """Whether the rows of this device can be read and all carry their seal."""
        try:
            if not self.in_transaction:
                with self._lock:
                    self._count()
            self._known(device, seal_key)
        except (LedgerDamaged, *_FAILURES):
            return False
        return True

    def entries(self, device: int) -> list[Entry]:
        """Return the rows of one device, by attribute and stage."""
        try:
            with self._lock:  # never the uncommitted rows of another thread
                rows = self._db.execute(SELECT, (device,)).fetchall()
        except _FAILURES as error:
            raise LedgerDamaged("the ledger cannot be read") from error
        return [read_entry(row) for row in rows]

    def all_entries(self) -> Iterator[Entry]:
        """Yield every row of every device, by device, attribute and stage."""
        try:
            yield from (read_entry(row) for row in self._db.execute(ALL))
        except _FAILURES as error:
            raise LedgerDamaged("the ledger cannot be read") from error

    def _known(self, device: int, seal_key: bytes) -> dict[tuple[str, int], Entry]:
        known: dict[tuple[str, int], Entry] = {}
        for entry in self.entries(device):
            if not hmac.compare_digest(entry.seal, entry.sealed_by(seal_key)):
                raise LedgerDamaged("a row does not carry its seal")
            known[entry.attribute, entry.stage] = entry
        if any((attribute, 0) not in known for attribute, _ in known):
            raise LedgerDamaged("a later stage was entered without the first")
        return known

    def decide(self, device: int, query: Query, *, seal_key: bytes, replay: bool) -> Release | Replay | Collected:
        """Say what the device does about a query that its policy allows (``device.md``).

        Call it inside :meth:`transaction`, and enter the release in the same one.

        Args:
            device: Whose rows count.
            query: The question.
            seal_key: The device's key for seals.
            replay: Whether a repeat from another collection gets the stored bytes.

        Raises:
            LedgerDamaged: for a row whose seal is wrong, or rows that contradict each other.
        """
        known = self._known(device, seal_key)
        asked = [ask.attribute for ask in query.asks]
        planned = [known.get((name, 0)) for name in query.attributes]
        if query.stage == 0 and all(entry is None for entry in planned):
            return Release(math.fsum(entry.loss.vector for entry in known.values()))
        # From here on something of the plan was released or reserved before.
        relevant = query.attributes if query.stage else asked
        heads = [known.get((name, 0)) for name in relevant]
        if any(head is None or head.fingerprint != query.fingerprint(head.attribute) for head in heads):
            return Collected()
        same = all(head is not None and head.collection == query.collection for head in heads)
        stored = [known.get((name, query.stage)) for name in asked]
        if all(entry is not None for entry in stored):
            if any(entry is not None and entry.grouping != query.grouping_digest for entry in stored):
                return Collected()
            if not (same or replay):
                return Collected()
            return Replay(tuple(entry.report for entry in stored if entry is not None))
        if any(entry is not None for entry in stored) or not same or query.stage == 0:
            return Collected()
        earlier = [(ask.attribute, stage) for stage in range(query.stage) for ask in query.plan[stage]]
        return Release() if all(key in known for key in earlier) else Collected()

    def enter(
        self, device: int, query: Query, reports: dict[str, bytes], digests: dict[str, bytes], *, seal_key: bytes
    ) -> None:
        """Write the release of a stage; with stage 0 the whole plan and its loss are entered.

        Raises:
            LedgerDamaged: where SQLite fails; the transaction has to be given up.
        """
        now = time.time()
        names = query.attributes if query.stage == 0 else tuple(reports)
        rows: list[tuple[Any, ...]] = []
        for name in names:
            loss = query.loss(name, device=device) if query.stage == 0 else _NOTHING
            columns = (
                device, name, query.stage, query.collection, query.fingerprint(name), query.grouping_digest, loss.bit,
                loss.vector, loss.delta, reports.get(name, b""), digests.get(name, b""), now,
            )  # fmt: skip
            rows.append((*columns, seal(seal_key, columns)))
        try:
            self._db.executemany(INSERT, rows)
        except _FAILURES as error:
            raise LedgerDamaged("the ledger cannot be written") from error

    def rounds(self, device: int, *, seal_key: bytes) -> tuple[int, Loss]:
        """Return how many answers a device gave in federated trainings, and what they lose together.

        Only the last row is read: it carries the running total, under its seal.

        Raises:
            LedgerDamaged: where that row cannot be read or does not carry its seal.
        """
        try:
            with self._lock:
                row = self._db.execute(LAST, (device, TRAINING)).fetchone()
        except _FAILURES as error:
            raise LedgerDamaged("the ledger cannot be read") from error
        if row is None:
            return 0, Loss(0.0, 0.0)
        entry = read_entry(row)
        if not hmac.compare_digest(entry.seal, entry.sealed_by(seal_key)):
            raise LedgerDamaged("a row does not carry its seal")
        return entry.stage + 1, read_total(entry)

    def enter_round(self, device: int, number: int, release: TrainingRelease, spent: Loss, *, seal_key: bytes) -> None:
        """Write one answer of a federated training; ``number`` and ``spent`` are those of :meth:`rounds`.

        Raises:
            LedgerDamaged: where SQLite fails; the transaction has to be given up.
        """
        entry = release.entry(device, number, spent, seal_key)
        try:
            self._db.execute(INSERT, entry_row(entry))
        except _FAILURES as error:
            raise LedgerDamaged("the ledger cannot be written") from error
