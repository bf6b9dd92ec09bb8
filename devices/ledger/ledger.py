"""The ledger of one or many devices: SQLite, write-ahead log, ``synchronous=FULL``.

One row is one answer (:mod:`ldpsim.devices.ledger.rows`), written in one transaction
(:mod:`ldpsim.devices.ledger.ledger_file`) that is committed before the reply exists anywhere else.

A device's rows are a chain of seals (:mod:`ldpsim.devices.ledger.chain`), so that an edited,
missing or foreign row is noticed. A ledger that cannot be read, or that contradicts
itself, answers nothing. A counter kept apart also notices a ledger that is an old one or
a copy (:mod:`ldpsim.devices.ledger.counter`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ldpsim.devices.ledger import decisions, statements
from ldpsim.devices.ledger.chain import checked, head_of, sound_alone
from ldpsim.devices.ledger.columns import LedgerDamaged
from ldpsim.devices.ledger.counter import Chain, CounterCheck, CounterMismatch
from ldpsim.devices.ledger.decisions import AlreadyCollected, Decision, NewRelease, Replay
from ldpsim.devices.ledger.ledger_file import UNREADABLE, UNWRITABLE, EpochPassed, LedgerFile
from ldpsim.devices.ledger.rows import Answer, FirstAnswers, Head, TrainingAnswer
from ldpsim.devices.ledger.schema import failing
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.query import Query

__all__ = ["AlreadyCollected", "CounterMismatch", "EpochPassed", "Ledger", "LedgerDamaged", "NewRelease", "Replay"]


class Ledger(LedgerFile):
    """Answers in a ledger file; the arguments are those of :class:`ldpsim.devices.ledger.ledger_file.LedgerFile`."""

    def check(self, device: int, seal_key: bytes) -> None:
        """Check that the rows of this device can be read, form an unbroken chain and agree with the counter.

        Raises:
            LedgerDamaged: where they cannot be read, or the chain is broken.
            CounterMismatch: where the counter's end is not in the chain.
        """
        with failing(UNREADABLE), self._lock:
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
        with failing(UNREADABLE), self._lock:  # never the uncommitted rows of another thread
            return statements.answers(self._db, device, trainings=look)

    def devices(self) -> Iterator[tuple[int, list[Answer]]]:
        """Yield each device that answered, with its rows in the order of their numbers, as :meth:`answers` does."""
        with failing(UNREADABLE):
            yield from statements.devices(self._db)

    def head(self, device: int) -> Head:
        """Return the end of a device's chain: two index look-ups, however long the chain is."""
        with failing(UNREADABLE), self._lock:
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
        with failing(UNREADABLE), self._lock:
            some = statements.devices_answered(self._db, devices[0], devices[-1], trainings=bool(self._any_training))
        none = [device for device in devices if device not in some]
        return dict.fromkeys(none, b"") if self._comparison is None else self._comparison.never_counted(none)

    def repeats(
        self, query: Query, devices: Sequence[int], seal_keys: Sequence[bytes], *, replay: bool
    ) -> list[Replay | None]:
        """Return :meth:`decide`'s replay for each of these devices; None where it decides otherwise.

        Call it inside :meth:`transaction`, with at least one, in rising order. None also for a device with several
        answers or an unsound one, or whose counter has another end, and for all where trainings are entered.

        Raises:
            LedgerDamaged: as :meth:`decide`.
        """
        if self._any_training:
            return [None] * len(devices)
        keys = dict(zip(devices, seal_keys, strict=True))
        with failing(UNREADABLE), self._lock:
            rows = [row for row in statements.only_rows(self._db, devices[0], devices[-1]) if row.device in keys]
        sound = sound_alone(rows, [keys[row.device] for row in rows])
        heads = {row.device: head_of([row]) for row in rows}
        decided = {
            row.device: decisions.decide([row], heads[row.device], query, replay=replay)
            for row, is_sound in zip(rows, sound, strict=True)
            if is_sound and (self._comparison is None or self._comparison.agrees(row.device, heads[row.device]))
        }
        found = (decided.get(device) for device in devices)
        return [one if isinstance(one, Replay) else None for one in found]

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
        with failing(UNWRITABLE):
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
        with failing(UNWRITABLE):
            heads = statements.enter_first(self._db, answers, seal_keys)
        for device, head, key in zip(answers, heads, seal_keys, strict=True):
            self._trainings.pop(device, None)
            if self._comparison is not None:
                self._comparison.end(device, head, self._chain(device, key))
