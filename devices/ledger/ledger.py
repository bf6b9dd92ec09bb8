"""The ledger of one or many devices: SQLite, write-ahead log, ``synchronous=FULL``.

One row is one answer (:mod:`ldpsim.devices.ledger.rows`). Many devices of one process share a transaction. It is
committed, and a counter that is kept apart is advanced, before any of their replies exists anywhere else.

A device's rows are a chain of seals (:mod:`ldpsim.devices.ledger.chain`), so that an edited,
missing or foreign row is noticed. A ledger that cannot be read, or that contradicts
itself, answers nothing. The counter also notices a ledger that is an old one or a copy
(:mod:`ldpsim.devices.ledger.counter`).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from ldpsim.devices.ledger import chain
from ldpsim.devices.ledger.counter import Counter, CounterCheck, CounterMismatch
from ldpsim.devices.ledger.rows import Answer, Head, LedgerDamaged, TrainingEnd, head_of
from ldpsim.devices.ledger.schema import FAILURES, connect, create, failing
from ldpsim.devices.mechanisms.exact_loss import Loss

__all__ = ["CounterMismatch", "Ledger", "LedgerDamaged"]
UNREADABLE, UNWRITABLE = "the ledger cannot be read", "the ledger cannot be written"
_COLUMNS = ", ".join(Answer._fields)
_ALL = f"SELECT {_COLUMNS} FROM answer ORDER BY device, number"
_BETWEEN = _ALL.replace(" ORDER", " WHERE device BETWEEN ? AND ? ORDER")
_INSERT = f"INSERT INTO answer ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
_LAST = "SELECT ifnull(max(rowid), 0) FROM answer"
_AFTER = f"SELECT {_COLUMNS} FROM answer WHERE rowid > ? ORDER BY rowid"
_TYPES = (int, int, str, str, bytes, bytes)
# What other connections may change while a file is open. SQLite counts changes of the form and of the data.
_PRESENT = "SELECT s.schema_version, d.data_version FROM pragma_schema_version s, pragma_data_version d"


class Ledger:
    """The ledger file of one or many devices.

    Args:
        path: The SQLite file, which :meth:`create` made. One that is missing or blank is damaged.
        counter: Holds the ends of the devices' chains in a place of its own.
        durable: Whether a commit waits for the disk.

    Raises:
        LedgerDamaged: where the file is not a ledger, or cannot be opened.
    """

    def __init__(self, path: Path, *, counter: Counter | None = None, durable: bool = True) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._holder = 0  # the thread whose transaction it is
        self._counter = counter
        self._comparison: CounterCheck | None = None
        self._data_version = -1
        self._ends: dict[int, TrainingEnd] = {}  # of checked chains, while nobody else writes to the file
        with failing(f"{path.name} cannot be opened", (*FAILURES, OSError)):
            if not path.exists():
                raise LedgerDamaged(f"{path.name} is gone; enrolment alone makes a ledger")
            self._db, self._files = connect(path, durable=durable)
            try:
                (self._form,) = self._db.execute("PRAGMA schema_version").fetchone()
                self._check_present()
            except BaseException:
                self._db.close()
                raise

    @classmethod
    def create(cls, path: Path) -> Ledger:
        """Make an empty ledger where there is none, and open it. Only an enrolment does this."""
        with failing(f"{path.name} cannot be made", (*FAILURES, OSError)):
            if not path.exists():
                create(path)
        return cls(path)

    def close(self) -> None:
        """Close the file and the counter's connection. Committed rows stay."""
        self._db.close()
        if self._counter is not None:
            self._counter.close()

    def _check_files(self) -> None:
        """Check that what is written is found again: the ledger's files have the names under which they were opened."""
        with failing(f"a file of {self.path.name} was removed or replaced while it was open", (OSError,)):
            self._files.check()

    def _check_present(self) -> None:
        """Check what others may have changed since the file was opened."""
        self._check_files()
        ((form, data_version),) = self._db.execute(_PRESENT).fetchall()
        if form != self._form:
            raise LedgerDamaged(f"{self.path.name} was given another form while it was open")
        if data_version != self._data_version:
            self._ends.clear()
            self._data_version = data_version

    # --- transactions -------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self, devices: Iterable[int] = ()) -> Iterator[None]:
        """Hold the write lock; commit at the end, undo everything on an exception.

        With a counter, the end advances it after the commit. No reply may leave before.

        Args:
            devices: The devices of a batch: the counter is read once for all of them.

        Raises:
            LedgerDamaged: where SQLite fails (full disk, read-only file, damage), or the counter does.
            CounterMismatch: at the end, for devices of which another copy of the ledger was quicker.
                It is committed, and the answers of the other devices may leave.
        """
        with self._lock:
            if self.in_transaction:
                raise RuntimeError("the ledger has a transaction already")
            try:
                self._db.execute("BEGIN IMMEDIATE")
                self._holder = threading.get_ident()
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
                self._holder = 0
                self._comparison = None
            if compared is not None:
                compared.settle()

    def _undo(self) -> None:
        self._ends.clear()
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

    # --- reading ------------------------------------------------------------------------------------------

    def chains(self, keys: Mapping[int, bytes]) -> dict[int, Sequence[Answer] | LedgerDamaged]:
        """Return the answers of each of these devices, in their order; or why nobody can trust them.

        Every row's place and seal is checked, and the end of the chain is compared with the counter.

        Args:
            keys: The devices' keys for seals, by device in rising order.

        Raises:
            LedgerDamaged: where the file cannot be read.
        """
        with failing(UNREADABLE), self._lock:  # never the uncommitted rows of another thread
            comparison = self._present_comparison(keys)
            chains = self._checked(keys)
        ends = {device: one if isinstance(one, LedgerDamaged) else head_of(one) for device, one in chains.items()}
        return chains | self._mismatched(comparison, ends, keys)

    def training_ends(self, keys: Mapping[int, bytes]) -> dict[int, TrainingEnd | LedgerDamaged]:
        """Return the ends of the devices' chains, or why nobody can trust them; in a transaction.

        Chains are read and checked once: as long as nobody else writes to the file, their ends are known.

        Args:
            keys: As for :meth:`chains`.

        Raises:
            LedgerDamaged: where the file cannot be read.
        """
        with failing(UNREADABLE), self._lock:
            unknown = {device: key for device, key in keys.items() if device not in self._ends}
            chains = self._checked(unknown) if unknown else {}
            damaged = {device: chain for device, chain in chains.items() if isinstance(chain, LedgerDamaged)}
            self._ends |= {device: TrainingEnd.of(chain) for device, chain in chains.items() if device not in damaged}  # type: ignore[arg-type]
            ends = {device: damaged.get(device) or self._ends[device] for device in keys}
        if self._comparison is None:
            return ends
        heads = {device: one if isinstance(one, LedgerDamaged) else one.head for device, one in ends.items()}
        return ends | self._mismatched(self._comparison, heads, keys)

    def _present_comparison(self, devices: Iterable[int]) -> CounterCheck | None:
        if self.in_transaction:
            return self._comparison
        self._check_present()
        return None if self._counter is None else CounterCheck(self._counter, devices)

    def _mismatched(
        self, comparison: CounterCheck | None, heads: Mapping[int, Head | LedgerDamaged], keys: Mapping[int, bytes]
    ) -> dict[int, LedgerDamaged]:
        """Return the devices whose counter does not agree with the end of their chain, and why."""
        wrong: dict[int, LedgerDamaged] = {}
        for device, head in heads.items() if comparison is not None else ():
            try:
                if not isinstance(head, LedgerDamaged) and comparison is not None:
                    comparison.compare(device, head, lambda d=device: self._chain(d, keys[d]))  # type: ignore[misc]
            except LedgerDamaged as error:
                wrong[device] = error
        return wrong

    def _checked(self, keys: Mapping[int, bytes]) -> dict[int, Sequence[Answer] | LedgerDamaged]:
        chains: dict[int, Sequence[Answer] | LedgerDamaged] = dict.fromkeys(keys, ())
        devices = list(keys)
        rows = [row for row in self._between(devices[0], devices[-1]) if row.device in keys] if devices else []
        damaged = {row.device for row in rows if tuple(map(type, row)) != _TYPES}
        formed = [row for row in rows if row.device not in damaged]
        damaged |= {
            row.device for row, is_valid in zip(formed, chain.verify_seals(formed, keys), strict=True) if not is_valid
        }
        chains |= {device: list(own) for device, own in groupby(formed, key=attrgetter("device"))}
        return chains | {d: LedgerDamaged(f"the answers of device {d} are no chain") for d in damaged}

    def _between(self, first: int, last: int) -> list[Answer]:
        return [Answer(*row) for row in self._db.execute(_BETWEEN, (first, last))]

    def _chain(self, device: int, key: bytes) -> Sequence[Answer]:
        """Return a device's answers as they are by now: after a commit other processes may have gone on."""
        answers = self.answers(device)
        if not all(chain.verify_seals(answers, {device: key})):
            raise LedgerDamaged(f"the answers of device {device} are no chain")
        return answers

    def nonce(self, device: int) -> bytes:
        """Return the random number that the counter holds of a device, empty without a counter; in a transaction."""
        return b"" if self._comparison is None else self._comparison.entry(device).nonce

    def answers(self, device: int | None = None) -> list[Answer]:
        """Return the rows of one device, or of all, in the order of devices and numbers. Only their form is checked.

        Raises:
            LedgerDamaged: where they cannot be read.
        """
        with failing(UNREADABLE), self._lock:
            rows = self._db.execute(*(_ALL,) if device is None else (_BETWEEN, (device, device))).fetchall()
        if any(tuple(map(type, row)) != _TYPES for row in rows):
            raise LedgerDamaged("a row is not of the ledger's form")
        return [Answer(*row) for row in rows]

    # --- writing ------------------------------------------------------------------------------------------

    def enter(self, answers: Sequence[Answer], after: Sequence[bytes], keys: Mapping[int, bytes]) -> list[Answer]:
        """Write the next rows of devices, and return them sealed; in a transaction in which :meth:`chains` read theirs.

        Args:
            answers: One row a device, in rising order; the seals are computed here.
            after: Seal of the answer before each, empty for a first.
            keys: The devices' keys for seals.

        Raises:
            LedgerDamaged: where SQLite fails, or does not hold the rows now; the transaction has to be given up.
        """
        if not answers:
            return []
        seals = chain.seals(answers, after, [keys[answer.device] for answer in answers])
        rows = [(*answer[:-1], seal) for answer, seal in zip(answers, seals, strict=True)]
        with failing(UNWRITABLE):
            (last,) = self._db.execute(_LAST).fetchone()
            self._db.executemany(_INSERT, rows)
            if self._db.execute(_AFTER, (last,)).fetchall() != rows:
                raise LedgerDamaged("the ledger does not hold what was entered")
        sealed = list(map(Answer._make, rows))
        for row in sealed:
            self._ends.pop(row.device, None)
            if self._comparison is not None:
                end = Head(row.number + 1, row.seal)
                self._comparison.end(row.device, end, lambda d=row.device: self._chain(d, keys[d]))  # type: ignore[misc]
        return sealed

    def enter_round(
        self, answers: Sequence[Answer], ends: Mapping[int, TrainingEnd], keys: Mapping[int, bytes], *,
        questions: Sequence[bytes], loss: Loss,
    ) -> None:  # fmt: skip
        """Write the answers of devices in a round of a training; their ends are known from now on.

        Args:
            answers, keys: As for :meth:`enter`.
            ends: Ends of the devices' chains, as :meth:`training_ends` returned them.
            questions: What each device was asked.
            loss: Loss of each answer.

        Raises:
            LedgerDamaged: as :meth:`enter`.
        """
        rows = self.enter(answers, [end.head.seal for end in ends.values()], keys)
        totals = {end.spent: end.spent + loss for end in {end.spent: end for end in ends.values()}.values()}
        noisy = [
            [(row.kind, question)] if math.isfinite(loss.vector) else ()
            for row, question in zip(rows, questions, strict=True)
        ]
        for row, end, more in zip(rows, ends.values(), noisy, strict=True):
            head = Head(row.number + 1, row.seal)
            self._ends[row.device] = TrainingEnd(head, totals[end.spent], (*end.under_noise, *more))
