"""The ledger of one or many devices: SQLite, write-ahead log, ``synchronous=FULL``.

One row is one answer (:mod:`devices.ledger.rows`), written in one transaction that is
committed before the reply exists anywhere else. Many devices of one process share a
transaction (:meth:`Ledger.transaction`); their replies leave after it.

A device's rows are a chain of seals (:mod:`devices.ledger.chain`), so that an edited,
missing or foreign row is noticed. A ledger that cannot be read, or that contradicts
itself, answers nothing. A counter kept apart also notices a ledger that is an old one or
a copy (:mod:`devices.ledger.counter`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from devices.ledger import decisions, statements
from devices.ledger.chain import checked, head_of
from devices.ledger.columns import LedgerDamaged
from devices.ledger.counter import Chain, Counter, CounterCheck, CounterMismatch
from devices.ledger.decisions import AlreadyCollected, Decision, NewRelease, Replay
from devices.ledger.rows import Answer, FirstAnswers, Head, TrainingAnswer
from devices.ledger.schema import FAILURES, PRESENT, SET_EPOCH, connect, create, failing
from devices.mechanisms.base import Loss
from devices.query import Query

__all__ = ["AlreadyCollected", "CounterMismatch", "EpochPassed", "Ledger", "LedgerDamaged", "NewRelease", "Replay"]

_UNREADABLE, _UNWRITABLE = "the ledger cannot be read", "the ledger cannot be written"


class EpochPassed(LedgerDamaged):
    """The ledger has another owner by now: its epoch is not the one that this process opened it under."""


class Ledger:
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

    @classmethod
    def create(cls, path: Path, *, synchronous: str = "FULL") -> Ledger:
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
            except BaseException as error:
                self._undo()
                if isinstance(error, FAILURES):
                    raise LedgerDamaged(_UNWRITABLE) from error
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

    def check(self, device: int, seal_key: bytes) -> None:
        """Check that the rows of this device can be read, form an unbroken chain and agree with the counter.

        Raises:
            LedgerDamaged: where they cannot be read, or the chain is broken.
            CounterMismatch: where the counter's end is not in the chain.
        """
        with failing(_UNREADABLE), self._lock:
            if not self.in_transaction:
                self._check_present()
            for answer in self._checked(device, seal_key):
                answer.parts  # noqa: B018 - LedgerDamaged where they cannot be read

    def readable(self, device: int, seal_key: bytes) -> bool:
        """Return whether :meth:`check` passes."""
        try:
            self.check(device, seal_key)
        except LedgerDamaged:
            return False
        return True

    def _checked(self, device: int, seal_key: bytes) -> list[Answer]:
        """Return a device's rows, their chain checked and compared with the counter."""
        answers = list(checked(self.answers(device), seal_key))
        comparison = self._present()
        if comparison is not None:
            comparison.compare(device, head_of(answers), self._chain(device, seal_key))
        return answers

    def _present(self) -> CounterCheck | None:
        """Return the transaction's comparison with the counter, or a new one outside of a transaction."""
        if self._counter is None or self.in_transaction:
            return self._comparison
        return CounterCheck(self._counter)

    def _chain(self, device: int, seal_key: bytes) -> Chain:
        return lambda: list(checked(self.answers(device), seal_key))

    def nonce(self, device: int) -> bytes:
        """Return the random number that the counter holds of a device, empty without a counter."""
        comparison = self._present()
        return b"" if comparison is None else comparison.entry(device).nonce

    def answers(self, device: int) -> list[Answer]:
        """Return the rows of one device in the order of their numbers. Only their form is checked."""
        # In a transaction it is known whether anybody trains at all: a look-up less for each device.
        look = bool(self._any_training) or not self.in_transaction
        with failing(_UNREADABLE), self._lock:  # never the uncommitted rows of another thread
            return statements.answers(self._db, device, trainings=look)

    def devices(self) -> Iterator[tuple[int, list[Answer]]]:
        """Yield each device that answered, with its rows in the order of their numbers, as :meth:`answers` does."""
        with failing(_UNREADABLE):
            yield from statements.devices(self._db)

    def head(self, device: int) -> Head:
        """Return the end of a device's chain: two index look-ups, however long the chain is."""
        with failing(_UNREADABLE), self._lock:
            return statements.head(self._db, device)

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
            CounterMismatch: where the counter's end is not in the chain.
        """
        answers = self._checked(device, seal_key)
        return decisions.decide(answers, head_of(answers), query, replay=replay)

    def unanswered(self, devices: Sequence[int]) -> dict[int, bytes]:
        """Return those of these devices that never answered, and the nonce of each (:meth:`nonce`).

        Call it inside :meth:`transaction`, with at least one, in rising order. A device of which the
        counter says otherwise is left out.
        """
        with failing(_UNREADABLE), self._lock:
            some = statements.answered(self._db, devices[0], devices[-1], trainings=bool(self._any_training))
        none = [device for device in devices if device not in some]
        return dict.fromkeys(none, b"") if self._comparison is None else self._comparison.never_counted(none)

    def training(self, device: int, *, seal_key: bytes) -> tuple[Head, Loss]:
        """Return the end of a device's chain, and the total loss of its answers in federated trainings.

        The chain is checked whole, once for as long as no other connection writes to the file.

        Raises:
            LedgerDamaged: for a broken chain.
            CounterMismatch: where the counter's end is not in the chain.
        """
        if self.in_transaction and device in self._trainings:
            if self._comparison is not None:
                self._comparison.compare(device, self._trainings[device][0], self._chain(device, seal_key))
            return self._trainings[device]
        answers = self._checked(device, seal_key)
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
            LedgerDamaged: where SQLite fails, or does not hold the row now; the transaction has to be given up.
        """
        with failing(_UNWRITABLE):
            head = statements.enter(self._db, answer, after, seal_key)
        if self._comparison is not None:
            self._comparison.end(answer.device, head, self._chain(answer.device, seal_key))
        self._trainings.pop(answer.device, None)
        self._any_training |= isinstance(answer, TrainingAnswer)
        if isinstance(answer, TrainingAnswer) and self.in_transaction:
            self._trainings[answer.device] = head, answer.total

    def enter_first(self, answers: FirstAnswers, *, seal_keys: Sequence[bytes]) -> None:
        """Write the first rows, sealed, of devices that :meth:`unanswered` named in this transaction.

        Raises:
            LedgerDamaged: as :meth:`enter`.
        """
        with failing(_UNWRITABLE):
            heads = statements.enter_first(self._db, answers, seal_keys)
        for device, head, key in zip(answers, heads, seal_keys, strict=True):
            self._trainings.pop(device, None)
            if self._comparison is not None:
                self._comparison.end(device, head, self._chain(device, key))
