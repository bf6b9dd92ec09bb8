"""Devices: they read the ledger, decide, draw the report, enter it, and reply.

All answers are made by :func:`answering`. A single device is a batch of one.

The answer, its code and the path taken depend on the query, the ledger and the policy
alone, never on the present private values: a refusal that says "my data changed" would be
a noiseless release. This module works without Flower.
"""

from __future__ import annotations

from collections.abc import Container, Generator, Sequence
from contextlib import closing
from enum import Enum
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.array_types import BoolArray
from ldpsim.devices.curator_key import query_of, split_question
from ldpsim.devices.data.population import Population, records_of
from ldpsim.devices.draw import Drawn, DrawTask, draw
from ldpsim.devices.ledger import decisions
from ldpsim.devices.ledger.decisions import AlreadyCollected, NewRelease, Replay
from ldpsim.devices.ledger.ledger import CounterMismatch, Ledger, LedgerDamaged
from ldpsim.devices.ledger.rows import Answer, reports_of
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.policy.terms import people_asked
from ldpsim.devices.query import InvalidQuery, Query
from ldpsim.devices.raw_record import is_hand_over, read_question
from ldpsim.devices.report import Report, pack_report


class Refusal(Enum):
    """Reason of a refusal: a code for Flower's ``Error``, to which a fixed text belongs."""

    UNKNOWN_QUERY = 4001
    MODE_REFUSED = 4002
    POLICY_REFUSED = 4003
    REPORT_COLLECTED = 4004
    LEDGER_DAMAGED = 4005
    COUNTER_MISMATCH = 4006
    COLLECTOR_REFUSED = 4007
    VAULT_BUSY = 4008

    @classmethod
    def of(cls, error: LedgerDamaged) -> Refusal:
        """Return the refusal of a device whose ledger fails in this way."""
        return cls.COUNTER_MISMATCH if isinstance(error, CounterMismatch) else cls.LEDGER_DAMAGED


class PermittedQuery(NamedTuple):
    """A query, and the people whom the terms of a pinned curator let it ask.

    Args:
        query: The query.
        people: bool (n,); None where no curator is pinned.
    """

    query: Query
    people: BoolArray | None

    def includes(self, device: int) -> bool:
        """Return whether this device may be asked."""
        return self.people is None or bool(self.people[device])


def question_to(policy: Policy, question: bytes | Query) -> PermittedQuery | Refusal:
    """Return the query that a device with this policy decides about, or the refusal that every device gives.

    Args:
        policy: The policy.
        question: The question; one that is given as a query carries no signature.
    """
    if isinstance(question, bytes) or policy.collector:
        permit = _read(policy, question)
    else:
        permit = PermittedQuery(question, None)
    if isinstance(permit, Refusal):
        return permit
    if not permit.query.answerable:
        return Refusal.UNKNOWN_QUERY
    if policy.mode != ("owner" if is_hand_over(permit.query) else "report"):
        return Refusal.MODE_REFUSED
    return permit


def _read(policy: Policy, question: bytes | Query) -> PermittedQuery | Refusal:
    data = question if isinstance(question, bytes) else b""
    signed = split_question(data)
    if policy.collector and not (signed and signed[0].is_signed_by(policy.collector)):
        return Refusal.COLLECTOR_REFUSED
    try:
        query = read_question(query_of(data))
        if not (policy.collector and signed):
            return PermittedQuery(query, None)
        people = people_asked(signed[0].terms, query, policy.facts.n)
    except InvalidQuery:
        return Refusal.UNKNOWN_QUERY
    return PermittedQuery(query, people) if people.any() else Refusal.COLLECTOR_REFUSED


class DeviceStore(Protocol):
    """Policy, records, secrets and ledgers of a folder's devices (:class:`ldpsim.devices.enrolment.state.State`)."""

    @property
    def policy(self) -> Policy:
        """The rules of every device."""

    @property
    def population(self) -> Population:
        """The records; read only where a report is drawn."""

    @property
    def secrets(self) -> NDArray[np.uint8]:
        """uint8 (n, 32): secrets that never leave."""

    @property
    def lives_here(self) -> Container[int]:
        """Public numbers of the devices."""

    @property
    def shard(self) -> int:
        """Number of devices that share a ledger."""

    def ledger(self, index: int) -> Ledger:
        """Return the file in which a device's answers are entered; LedgerDamaged where it cannot be opened."""

    def seal_keys(self, devices: Sequence[int]) -> dict[int, bytes]:
        """Return the devices' keys for seals."""


# Yields a draw task, is sent the drawn reports, and returns the answers.
AnswerSteps = Generator[DrawTask, Drawn, "list[Report | Refusal]"]


def answer(state: DeviceStore, devices: Sequence[int], question: bytes | Query | Refusal) -> list[Report | Refusal]:
    """Return the answers of devices; they are committed, and may leave. The arguments are those of :func:`answering`.

    >>> from tempfile import TemporaryDirectory
    >>> from pathlib import Path
    >>> from ldpsim.devices.datasets.generated import generate
    >>> from ldpsim.devices.enrolment.state import enrol
    >>> from ldpsim.devices.mechanisms import GRR
    >>> from ldpsim.devices.policy.policy import policy_for
    >>> from ldpsim.devices.query import Ask
    >>> people = generate(8, seed=0)
    >>> label = GRR.from_epsilon(1.0, categories=people.facts.classes)
    >>> query = Query("first", ((Ask("label", (label,)),),))
    >>> with TemporaryDirectory() as folder:
    ...     state = enrol(Path(folder) / "state", people, policy_for([query], people.facts), seed=None)
    ...     fresh, again = answer(state, range(8), query.to_bytes()), answer(state, range(8), query.to_bytes())
    ...     state.close()
    >>> fresh[3].replayed, again[3].replayed, fresh[3].data == again[3].data
    (False, True, True)
    """
    with closing(answering(state, devices, question)) as steps:
        answers = advance(steps, None)
        while isinstance(answers, DrawTask):
            answers = advance(steps, draw(answers))
        return answers


def advance(steps: AnswerSteps, drawn: Drawn | None) -> DrawTask | list[Report | Refusal]:
    """Send :func:`answering` the drawn reports, None at first; return the next draw task, or the answers."""
    try:
        return steps.send(drawn)  # type: ignore[arg-type]  # None starts a generator
    except StopIteration as end:
        return list(end.value)


def answering(state: DeviceStore, devices: Sequence[int], question: bytes | Query | Refusal) -> AnswerSteps:
    """Read the ledger, decide, draw, commit, reply: the way of every answer, of one device or of many.

    Only the draw may take place in another process. So this is a generator: it yields a draw task if a report has to be
    drawn, is sent the drawn reports, and returns the answers. It holds the ledger's lock meanwhile. If it is closed
    before its end, nothing is entered. A caller must close it: else an error's traceback keeps the lock.

    Args:
        state: The devices' folder.
        devices: Public numbers, in rising order, of one shard.
        question: The question's bytes; or the refusal of a message that is no question to these devices.

    Raises:
        InvalidQuery: for devices that are out of order, or of several shards.
    """
    _check_batch(devices, state.shard)
    policy = state.policy
    # A device of another folder gets the answer of one without a ledger.
    answers: dict[int, Report | Refusal] = dict.fromkeys(devices, Refusal.LEDGER_DAMAGED)
    residents = [device for device in devices if device in state.lives_here]
    try:
        permit = question if isinstance(question, Refusal) else question_to(policy, question)
        ledger, keys = state.ledger(devices[0]), state.seal_keys(residents)
        with ledger.transaction(residents):
            # Read: what each device answered before, its seals and its counter checked.
            chains = ledger.chains(keys)
            # Decide: by question, ledger and policy alone.
            verdicts = {device: _decide(policy, permit, device, chains[device]) for device in residents}
            answers |= {device: verdict for device, verdict in verdicts.items() if not isinstance(verdict, NewRelease)}
            chain_ends = {device: verdict.head for device, verdict in verdicts.items()
                          if isinstance(verdict, NewRelease)}  # fmt: skip
            if chain_ends and isinstance(permit, PermittedQuery):
                # Draw: the bytes depend on record, secret and question alone, wherever they are computed.
                reporting = list(chain_ends)
                records, nonces = (
                    records_of(state.population, reporting),
                    [ledger.nonce(device) for device in reporting],
                )
                drawn = yield DrawTask.of(permit.query, reporting, records, state.secrets[reporting], nonces)
                # Commit: the rows are on the disk, and the counter holds them, when the block ends.
                heads = {device: chain_ends[device] for device in drawn.devices}
                rows = reports_of(permit.query, heads, drawn.reports, drawn.digests)
                ledger.enter(rows, [head.seal for head in heads.values()], keys)
                answers |= dict.fromkeys(reporting, Refusal.UNKNOWN_QUERY)  # a mechanism may fail on a device's data
                answers |= zip(drawn.devices, drawn.reported(), strict=True)
    except CounterMismatch as error:  # it is committed, but nothing of these devices may leave
        answers |= dict.fromkeys(error.devices & answers.keys(), Refusal.COUNTER_MISMATCH)
    except (LedgerDamaged, ValueError, OSError):  # nothing was entered
        answers = dict.fromkeys(devices, Refusal.LEDGER_DAMAGED)
    except Exception:  # nothing was entered: the loss that a mechanism of another package states is no number
        answers = dict.fromkeys(devices, Refusal.UNKNOWN_QUERY)
    # Reply.
    return list(answers.values())


def _check_batch(devices: Sequence[int], shard: int) -> None:
    rising = all(first < second for first, second in zip(devices, devices[1:], strict=False))
    if not (devices and rising and devices[0] // shard == devices[-1] // shard):
        raise InvalidQuery("the devices are out of order, or of several ledgers")


def _decide(
    policy: Policy, permit: PermittedQuery | Refusal, device: int, chain: Sequence[Answer] | LedgerDamaged
) -> NewRelease | Report | Refusal:
    """Decide about one device by the table of ``device.md``."""
    if isinstance(chain, LedgerDamaged):  # every question gets this answer, also one that is refused anyway
        return Refusal.of(chain)
    if isinstance(permit, Refusal):
        return permit
    query = permit.query
    if not permit.includes(device):
        return Refusal.COLLECTOR_REFUSED
    try:
        if not policy.allows(query, device=device):
            return Refusal.POLICY_REFUSED
        total = query.total(device=device)  # of all stages, for the cap below and for the ledger
    except Exception:  # a mechanism of another package may raise anything when it is judged; the ledger is sound
        return Refusal.UNKNOWN_QUERY
    try:
        decision = decisions.decide(chain, query, replay=policy.on_requery == "replay")
    except LedgerDamaged as error:
        return Refusal.of(error)
    if isinstance(decision, AlreadyCollected):
        return Refusal.REPORT_COLLECTED
    if isinstance(decision, Replay):
        return Report(pack_report(decision.reports), replayed=True)
    if not query.drawable:
        return Refusal.UNKNOWN_QUERY
    # The loss of later stages was entered with stage 0, and the caps judged it there.
    if query.stage == 0 and not policy.allows_total(decision.spent + total, device=device):
        return Refusal.POLICY_REFUSED
    return decision


class Device:
    """One device of a state folder.

    Args:
        index: The person's public number, 0 .. n - 1.
        state: The folder with its record, secret, policy and ledger.
    """

    __slots__ = ("_state", "index")

    def __init__(self, index: int, state: DeviceStore) -> None:
        self.index = index
        self._state = state

    @property
    def ledger(self) -> Ledger:
        """The file in which its answers are entered; LedgerDamaged where it cannot be opened."""
        return self._state.ledger(self.index)

    def answer(self, question: bytes | Query) -> Report | Refusal:
        """Answer a question; the release is committed when this returns."""
        return answer(self._state, [self.index], question)[0]

    def refuse(self, refusal: Refusal) -> Refusal:
        """Answer a message that is refused; a damaged ledger gives the same answer to everything."""
        chain = self._chain()
        return Refusal.of(chain) if isinstance(chain, LedgerDamaged) else refusal

    def _chain(self) -> Sequence[Answer] | LedgerDamaged:
        """Return the device's answers, or why nobody can trust them."""
        if self.index not in self._state.lives_here:
            return LedgerDamaged("no device of this number lives here")
        try:
            return self.ledger.chains(self._state.seal_keys([self.index]))[self.index]
        except LedgerDamaged as error:
            return error
