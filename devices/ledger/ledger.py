"""The ledger of one or many devices: SQLite, write-ahead log, ``synchronous=FULL``.

One row is one answer (:mod:`devices.ledger.rows`), written in one transaction that is
committed before the reply exists anywhere else. Many devices of one process share a
transaction (:meth:`Ledger.transaction`); their replies leave after it.

A device's rows are a chain of seals (:mod:`devices.ledger.chain`), so that an edited,
missing or foreign row is noticed. A ledger that cannot be read, or that contradicts
itself, answers nothing.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from heapq import merge
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from devices.ledger import decisions
from devices.ledger.chain import checked, head_of, seal_of
from devices.ledger.columns import LedgerDamaged
from devices.ledger.counter import MonotonicCounter
from devices.ledger.decisions import AlreadyCollected, Decision, NewRelease, Replay
from devices.ledger.rows import QUERY_ANSWERS, TRAINING_ANSWERS, Answer, Head, TrainingAnswer, values_of
from devices.ledger.schema import COUNT, LAST, PRESENT, SET_EPOCH, connect, create
from devices.mechanisms.base import Loss
from devices.query import Query

__all__ = ["AlreadyCollected", "EpochPassed", "Ledger", "LedgerDamaged", "NewRelease", "Replay"]

# A rotten file also makes SQLite's own messages, or the sizes it asks memory for, unusable.
_UNREADABLE = "the ledger cannot be read"
_FAILURES = (sqlite3.Error, UnicodeError, MemoryError)
_IN_ORDER = attrgetter("device", "number")


@contextmanager
def _failing(what: str, failures: tuple[type[Exception], ...] = _FAILURES) -> Iterator[None]:
    """Turn a failure of SQLite, or one of ``failures``, into LedgerDamaged."""
    try:
        yield
    except failures as error:
        raise LedgerDamaged(what) from error


class EpochPassed(LedgerDamaged):
    """The ledger has another owner by now: its epoch is not the one that this process opened it under."""


class Ledger:
    """The ledger file of one or many devices.

    Args:
        path: The SQLite file; made when missing. A file that is there but blank is damaged.
        synchronous: ``FULL`` (default: survives power loss) or ``NORMAL``.
        counter: Counts the answers in a place of its own; a ledger that has fewer is damaged.
        epoch: Number of the owner that this process answers for; None takes the file's.

    Raises:
        LedgerDamaged: where the file is not a ledger, or cannot be opened.
        EpochPassed: where the file has another epoch than the one given.
    """

    def __init__(
        self,
        path: Path,
        *,
        synchronous: str = "FULL",
        counter: MonotonicCounter | None = None,
        epoch: int | None = None,
    ) -> None:
        if synchronous not in ("FULL", "NORMAL"):
            raise ValueError(f"synchronous is FULL or NORMAL, not {synchronous}")
        self.path = path
        self._lock = threading.RLock()
        self._depth = 0
        self._holder = 0  # the thread whose transaction it is
        self._counter = counter
        self._data_version = -1
        self._any_training = 1
        self._trainings: dict[int, tuple[Head, Loss]] = {}  # checked while nobody else wrote to the file
        with _failing(f"{path.name} cannot be opened", (*_FAILURES, OSError)):
            if not path.exists():
                if counter is not None and counter.read():
                    raise LedgerDamaged(f"{path.name} is gone")
                create(path)
            self._db, header = connect(path, synchronous)
            try:
                self.epoch = header.epoch if epoch is None else epoch
                (self._form,) = self._db.execute("PRAGMA schema_version").fetchone()
                self._check_present()
            except BaseException:
                self._db.close()
                raise

    def _check_present(self) -> None:
        """Check what other connections may have changed since the file was opened."""
        found = self._db.execute(PRESENT).fetchall()
        if len(found) != 1:
            raise LedgerDamaged(f"{self.path.name} has no header, or more than one")
        ((epoch, form, data_version, self._any_training),) = found
        if epoch != self.epoch:
            raise EpochPassed(f"{self.path.name} is in epoch {epoch}; this process answers for epoch {self.epoch}")
        if form != self._form:
            raise LedgerDamaged(f"{self.path.name} was given another form while it was open")
        if data_version != self._data_version:
            self._trainings.clear()
            self._data_version = data_version

    def _count(self) -> int:
        """Return how many answers there are, 0 without a counter; LedgerDamaged where the counter knows of more."""
        if self._counter is None:
            return 0
        (rows,) = self._db.execute(COUNT).fetchone()
        with _failing("the counter cannot be read", (OSError,)):
            known = self._counter.read()
        if rows < known:
            raise LedgerDamaged("releases are missing: the ledger is an old one")
        return int(rows)

    def _raise_counter(self, rows: int) -> None:
        # Also where this transaction wrote nothing: an earlier one may have crashed after its commit.
        if self._counter is not None:
            with _failing("the counter cannot be raised", (OSError,)):
                self._counter.raise_to(rows)

    def raise_epoch(self, epoch: int) -> None:
        """Take the ledger over under a new epoch. Processes that opened it before may not answer any more.

        Raises:
            ValueError: where the epoch is not above the present one.
            LedgerDamaged: as :meth:`transaction`.
        """
        before = self.epoch
        try:
            with self.transaction():
                if epoch <= self.epoch:
                    raise ValueError(f"epoch {epoch} is not above the present epoch {self.epoch}")
                self._db.execute(SET_EPOCH, (epoch,))
                self.epoch = epoch
        except BaseException:
            self.epoch = before
            raise

    def close(self) -> None:
        """Close the file. Committed rows stay."""
        self._db.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Hold the write lock; commit at the outermost exit, undo everything on an exception.

        Raises:
            LedgerDamaged: where SQLite fails (full disk, read-only file, damage).
            EpochPassed: where the ledger has another owner by now.
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
                self._check_present()
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
        self._trainings.clear()
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except _FAILURES:
            # The connection is of no more use; closing it undoes the transaction, and every
            # later call finds it closed, which is a damaged ledger.
            self._db.close()

    @property
    def in_transaction(self) -> bool:
        """Return whether the calling thread holds a transaction; another thread's has to be waited for."""
        return self._holder == threading.get_ident()

    def readable(self, device: int, seal_key: bytes) -> bool:
        """Return whether the rows of this device can be read and form an unbroken chain."""
        try:
            if not self.in_transaction:
                with self._lock:
                    self._check_present()
                    self._count()
            for answer in checked(self.answers(device), seal_key):
                answer.parts  # noqa: B018 - LedgerDamaged where they cannot be read
        except (LedgerDamaged, *_FAILURES):
            return False
        return True

    def answers(self, device: int) -> list[Answer]:
        """Return the rows of one device in the order of their numbers. Only their form is checked."""
        with _failing(_UNREADABLE), self._lock:  # never the uncommitted rows of another thread
            queries = self._db.execute(QUERY_ANSWERS.select, (device,)).fetchall()
            # In a transaction it is known whether anybody trains at all: a look-up less for each device.
            look = self._any_training or not self.in_transaction
            trainings = self._db.execute(TRAINING_ANSWERS.select, (device,)).fetchall() if look else []
        answers: list[Answer] = [QUERY_ANSWERS.read(row) for row in queries]
        if trainings:
            answers += [TRAINING_ANSWERS.read(row) for row in trainings]
            answers.sort(key=_IN_ORDER)
        return answers

    def devices(self) -> Iterator[tuple[int, list[Answer]]]:
        """Yield each device that answered, with its rows in the order of their numbers, as :meth:`answers` does."""
        with _failing(_UNREADABLE):
            queries = (QUERY_ANSWERS.read(row) for row in self._db.execute(QUERY_ANSWERS.select_all))
            trainings = (TRAINING_ANSWERS.read(row) for row in self._db.execute(TRAINING_ANSWERS.select_all))
            rows: Iterator[Answer] = merge(queries, trainings, key=_IN_ORDER)
            for device, answers in groupby(rows, key=attrgetter("device")):
                yield device, list(answers)

    def head(self, device: int) -> Head:
        """Return the end of a device's chain: two index look-ups, however long the chain is.

        A counter kept apart can hold it: seal k covers seal k - 1, so it names every answer.
        """
        with _failing(_UNREADABLE), self._lock:
            found = self._db.execute(LAST, (device,)).fetchall()
        return max((Head(number + 1, seal) for number, seal in found), key=attrgetter("answers"), default=Head())

    def decide(self, device: int, query: Query, *, seal_key: bytes, replay: bool) -> Decision:
        """Decide about a query that the device's policy allows.

        Call it inside :meth:`transaction`, and :meth:`enter` the release in the same one.

        Args:
            device: Whose rows count.
            query: The question.
            seal_key: The device's key for seals.
            replay: Whether a repeat from another collection gets the stored bytes.

        Raises:
            LedgerDamaged: for a broken chain, or rows that contradict each other.
        """
        answers = list(checked(self.answers(device), seal_key))
        return decisions.decide(answers, head_of(answers), query, replay=replay)

    def training(self, device: int, *, seal_key: bytes) -> tuple[Head, Loss]:
        """Return the end of a device's chain, and the total loss of its answers in federated trainings.

        The chain is checked whole, once for as long as no other connection writes to the file.

        Raises:
            LedgerDamaged: for a broken chain.
        """
        if self.in_transaction and device in self._trainings:
            return self._trainings[device]
        answers = list(checked(self.answers(device), seal_key))
        spent = next((a.total for a in reversed(answers) if isinstance(a, TrainingAnswer)), Loss(0.0, 0.0))
        found = head_of(answers), spent
        if self.in_transaction:
            self._trainings[device] = found
        return found

    def enter(self, answer: Answer, *, after: Head, seal_key: bytes) -> None:
        """Write a device's next row, sealed.

        Args:
            answer: The row, made for ``after``; its seal is computed here.
            after: End of the device's chain, from :meth:`decide` or :meth:`training` of this transaction.
            seal_key: The device's key for seals.

        Raises:
            LedgerDamaged: where SQLite fails; the transaction has to be given up.
        """
        seal = seal_of(answer, after.seal, seal_key)
        with _failing("the ledger cannot be written"):
            self._db.execute(*values_of(answer, seal))
        self._trainings.pop(answer.device, None)
        self._any_training |= isinstance(answer, TrainingAnswer)
        if isinstance(answer, TrainingAnswer) and self.in_transaction:
            self._trainings[answer.device] = Head(answer.number + 1, seal), answer.total
