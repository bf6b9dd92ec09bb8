"""The open SQLite file of a ledger: its owner's epoch, the write lock, and transactions.

Many devices of one process share a transaction; their replies leave after it. In a transaction, what was read of the
file holds: nobody else writes. A counter that is kept apart is advanced after the commit.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from ldpsim.devices.ledger.columns import LedgerDamaged
from ldpsim.devices.ledger.counter import Counter, CounterCheck
from ldpsim.devices.ledger.rows import Head
from ldpsim.devices.ledger.schema import FAILURES, PRESENT, SET_EPOCH, connect, create, failing
from ldpsim.devices.mechanisms.exact_loss import Loss

UNREADABLE, UNWRITABLE = "the ledger cannot be read", "the ledger cannot be written"


class EpochPassed(LedgerDamaged):
    """The ledger has another owner by now: its epoch is not the one that this process opened it under."""


class LedgerFile:
    """The ledger file of one or many devices.

    Args:
        path: The SQLite file, which :meth:`create` made. One that is missing or blank is damaged.
        synchronous: ``FULL`` (default: survives power loss) or ``NORMAL``.
        counter: Holds the ends of the devices' chains in a place of its own.
        epoch: Number of the owner that this process answers for; None takes the file's.

    Raises:
        LedgerDamaged: where the file is not a ledger, or cannot be opened.
        EpochPassed: where the file has another epoch than the one given.
    """

    def __init__(
        self, path: Path, *, synchronous: str = "FULL", counter: Counter | None = None, epoch: int | None = None
    ) -> None:
        if synchronous not in ("FULL", "NORMAL"):
            raise ValueError(f"synchronous is FULL or NORMAL, not {synchronous}")
        self.path = path
        self._lock = threading.RLock()
        self._depth = 0
        self._holder = 0  # the thread whose transaction it is
        self._counter = counter
        self._comparison: CounterCheck | None = None
        self._data_version = -1
        self._any_training = 1
        self._trainings: dict[int, tuple[Head, Loss]] = {}  # checked while nobody else wrote to the file
        with failing(f"{path.name} cannot be opened", (*FAILURES, OSError)):
            if not path.exists():
                raise LedgerDamaged(f"{path.name} is gone; enrolment alone makes a ledger")
            self._db, header, self._files = connect(path, synchronous)
            try:
                self.epoch = header.epoch if epoch is None else epoch
                (self._form,) = self._db.execute("PRAGMA schema_version").fetchone()
                self._check_present()
            except BaseException:
                self._db.close()
                raise

    def _check_files(self) -> None:
        """Check that what is written is found again: the ledger's files have the names under which they were opened."""
        with failing(f"a file of {self.path.name} was removed or replaced while it was open", (OSError,)):
            self._files.check()

    def _check_present(self) -> None:
        """Check what others may have changed since the file was opened."""
        self._check_files()
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

    @classmethod
    def create(cls, path: Path, *, synchronous: str = "FULL") -> Self:
        """Make an empty ledger where there is none, and open it. Only an enrolment does this."""
        with failing(f"{path.name} cannot be made", (*FAILURES, OSError)):
            if not path.exists():
                create(path)
        return cls(path, synchronous=synchronous)

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
    def transaction(self, devices: Iterable[int] = ()) -> Iterator[None]:
        """Hold the write lock; commit at the outermost exit, undo everything on an exception.

        With a counter, the outermost exit advances it after the commit. No reply may leave before.

        Args:
            devices: The devices of a batch: the counter is read once for all of them.

        Raises:
            LedgerDamaged: where SQLite fails (full disk, read-only file, damage), or the counter does.
            EpochPassed: where the ledger has another owner by now.
            CounterMismatch: at the exit, for devices of which another copy of the ledger was quicker.
                It is committed, and the answers of the other devices may leave.
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
                compared = self._comparison = None if self._counter is None else CounterCheck(self._counter, devices)
                yield
                self._db.execute("COMMIT")
                self._check_files()  # since the first look the row may have gone into a log that nobody finds
            except BaseException as error:
                self._undo()
                if isinstance(error, FAILURES):
                    raise LedgerDamaged(UNWRITABLE) from error
                raise
            finally:
                self._depth = self._holder = 0
                self._comparison = None
            if compared is not None:
                compared.settle()

    def _undo(self) -> None:
        self._trainings.clear()
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except FAILURES:
            # The connection is of no more use; closing it undoes the transaction, and every
            # later call finds it closed, which is a damaged ledger.
            self._db.close()

    @property
    def in_transaction(self) -> bool:
        """Return whether the calling thread holds a transaction; another thread's has to be waited for."""
        return self._holder == threading.get_ident()
