"""Counter of a device's answers, kept apart from the ledger. It reveals a ledger that is a copy or an old one.

A ledger that was put back from a backup, or copied along with its folder, looks like any
good ledger. The counter holds, for each device, the end of its chain of answers
(:class:`~ldpsim.devices.ledger.rows.Head`) and is changed by an exact compare-and-advance: from
the end that the ledger had to the end that it has now, durably, before any reply leaves.

A transaction commits the ledger first, advances the counter second, and lets the replies
leave last. Each device is in one of these states:

=====================================  =============================================================
the ledger's chain                     the device
=====================================  =============================================================
ends where the counter says            answers; a new answer advances the counter before it leaves
goes on after the counter's end        a process died between commit and counter, and no reply left:
                                       the counter is advanced to the ledger's end, then the device
                                       answers, and a retry gets the stored bytes
does not hold the counter's end        ``COUNTER_MISMATCH``, to everything: the ledger is an old
                                       one, or the counter counted the answer of another copy
is missing or broken, or the counter   ``LEDGER_DAMAGED``, to everything
cannot be read or written
=====================================  =============================================================

Of two copies that answer at once, each commits a row of its own. Both try to advance the
counter from the same end; one succeeds, and the reply of the other does not leave.

Whether a device answers never depends on its data. The order is ledger, then counter,
because the other order would: a counter that is one answer ahead (a crash, or an old
ledger that was put back) could be matched only by drawing the answer again from the same
data, and this would tell whether the data changed.

The counter has to be in a place that is not rolled back, copied or deleted together with
the state folder. It also holds a random number for each device, which enters the key of
the noise (:mod:`ldpsim.devices.device`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ldpsim.devices.ledger.rows import Answer, Head, LedgerDamaged

NONCE_BYTES = 32
Chain = Callable[[], Sequence[Answer]]


class CounterMismatch(LedgerDamaged):
    """The counter does not agree with the ledger: the ledger is an old one, or one of several copies.

    Args:
        devices: The devices that may not answer; the other ones of a transaction may.
    """

    def __init__(self, devices: Iterable[int]) -> None:
        self.devices = frozenset(devices)
        super().__init__(f"the counter and the ledger differ for {len(self.devices)} devices")


@dataclass(frozen=True)
class Entry:
    """Content of a counter for one device.

    Args:
        head: End of its chain of answers.
        nonce: Random bytes, made at enrolment.
    """

    head: Head
    nonce: bytes


class Counter(Protocol):
    """Counters of the devices of one ledger. A secure element of the device may be one."""

    def entries(self, devices: Iterable[int]) -> dict[int, Entry]:
        """Return what is held of these devices; one that is unknown is left out.

        Raises:
            OSError: where the counter cannot be read.
        """

    def advance(self, changes: Mapping[int, tuple[Head, Head]]) -> dict[int, Head]:
        """Set each device's head from the first to the second, all in one durable step.

        A device whose head is neither of the two is left as it is, and the others are advanced.

        Returns:
            The heads of the devices that were left as they are.

        Raises:
            OSError: where the counter cannot be read or written, or a device is unknown.
        """

    def close(self) -> None:
        """Give up what is open; a later call opens it again."""


class CounterCheck:
    """Comparison of a ledger with its counter during one transaction.

    Args:
        counter: The counter.
        devices: Devices that the transaction is about; others are read one by one.

    Raises:
        LedgerDamaged: where the counter cannot be read.
    """

    def __init__(self, counter: Counter, devices: Iterable[int] = ()) -> None:
        self._counter = counter
        self._ends: dict[int, tuple[Head, Chain]] = {}
        wanted = list(devices)
        self._entries = self._read(wanted) if wanted else {}

    def _read(self, devices: list[int]) -> dict[int, Entry]:
        try:
            return self._counter.entries(devices)
        except OSError as error:
            raise LedgerDamaged("the counter cannot be read") from error

    def entry(self, device: int) -> Entry:
        """Return what the counter held of a device when the transaction first asked.

        Raises:
            LedgerDamaged: where the counter cannot be read, or does not know the device.
        """
        if device not in self._entries:
            self._entries.update(self._read([device]))
        if device not in self._entries:
            raise LedgerDamaged("the counter does not know the device")
        return self._entries[device]

    def compare(self, device: int, head: Head, chain: Chain) -> None:
        """Compare the end of a device's checked chain with the counter.

        Args:
            device: The device.
            head: End of its chain in the ledger.
            chain: Returns the whole chain, checked; LedgerDamaged where it is broken.

        Raises:
            CounterMismatch: where the counter's end is not in the chain.
            LedgerDamaged: as :meth:`entry`.
        """
        counted = self.entry(device).head
        if counted != head and not _holds(chain(), counted):
            raise CounterMismatch([device])
        self.end(device, head, chain)

    def end(self, device: int, head: Head, chain: Chain) -> None:
        """Note the end to which the device's counter has to be advanced."""
        self._ends[device] = head, chain

    def settle(self) -> None:
        """Advance the counter to the ends that were committed; replies leave after it.

        Raises:
            CounterMismatch: where another copy was quicker; the devices of it may not answer.
            LedgerDamaged: where the counter cannot be read or written; nothing may leave.
        """
        changes = {device: (self.entry(device).head, head) for device, (head, _) in self._ends.items()}
        changes = {device: change for device, change in changes.items() if change[0] != change[1]}
        lost = set()
        while changes:
            try:
                heads = self._counter.advance(changes)
            except OSError as error:
                raise LedgerDamaged("the counter cannot be advanced") from error
            behind = {}
            for device, counted in heads.items():
                end, chain = self._ends[device]
                if not self._is_ours(chain, end, counted):
                    lost.add(device)
                elif counted.answers < end.answers:  # another process of this ledger advanced it part of the way
                    behind[device] = counted, end
            changes = behind
        if lost:
            raise CounterMismatch(lost)

    @staticmethod
    def _is_ours(chain: Chain, end: Head, counted: Head) -> bool:
        """Return whether both ends are in the ledger's chain as it is by now."""
        try:
            answers = chain()
        except LedgerDamaged:
            return False
        return _holds(answers, end) and _holds(answers, counted)


def _holds(answers: Sequence[Answer], head: Head) -> bool:
    if head.answers == 0:
        return head.seal == b""
    return head.answers <= len(answers) and answers[head.answers - 1].seal == head.seal
