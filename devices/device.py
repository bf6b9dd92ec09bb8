"""One person's device: it checks policy and ledger, draws the report, enters it, and replies.

The answer, its code and the path taken depend on the query, the ledger and the policy
alone, never on the present private values: a refusal that says "my data changed" would be
a noiseless release. This module works without Flower.
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from ldpsim.devices import raw_record
from ldpsim.devices.array_types import BoolArray
from ldpsim.devices.collector import query_of, split_question
from ldpsim.devices.data.population import Record
from ldpsim.devices.facts import LARGEST_SIZE
from ldpsim.devices.keyed_data import SEAL, data_message, noise_parts
from ldpsim.devices.ledger.ledger import AlreadyCollected, CounterMismatch, Ledger, LedgerDamaged, Replay
from ldpsim.devices.ledger.rows import Head, QueryAnswer, TrainingAnswer
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.noise import NoiseStream, derive_key
from ldpsim.devices.policy.policy import Policy
from ldpsim.devices.policy.terms import people_asked
from ldpsim.devices.query import Ask, InvalidQuery, Query
from ldpsim.devices.training_task import AnswerKind, Task

_ALWAYS_TAKEN, _MOST_EACH = 1 << 16, 16  # bytes of a report; of one number, bit or category in it

_LENGTH, _READ_LENGTH = struct.Struct("<I").pack, struct.Struct("<I").unpack_from


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


@dataclass(frozen=True)
class Report:
    """A private report as it leaves the device.

    Args:
        data: The packed bytes (:func:`unpack_report` splits them by attribute).
        replayed: Whether these are bytes that were released before.
    """

    data: bytes
    replayed: bool


@dataclass(frozen=True)
class RoundPermit:
    """Permission for one federated answer, with its keys and prior loss.

    Args:
        record: The private data.
        head: End of the device's chain in the ledger.
        spent: Loss of all its training answers so far.
        question: Fingerprint of all that the device was told, except for the training's id.
        data_digest: Keyed digest of the data that the answer depends on.
        noise_key: Key of the answer's noise.
    """

    record: Record
    head: Head
    spent: Loss
    question: bytes
    data_digest: bytes
    noise_key: bytes


class Device:
    """A device answers one question about its data, once.

    Args:
        index: The person's public number, 0 .. n - 1.
        record: The private data; only read when a report is drawn.
        secret: 32 bytes that never leave the device.
        policy: The rules agreed at enrolment.
        ledger: The file in which answers are entered.
    """

    __slots__ = ("_policy", "_record", "_seal_key", "_secret", "index", "ledger")

    def __init__(self, index: int, record: Record, secret: bytes, policy: Policy, ledger: Ledger) -> None:
        self.index = index
        self.ledger = ledger
        self._record = record
        self._secret = secret
        self._policy = policy
        self._seal_key = hmac.digest(secret, SEAL, "sha256")

    def answer(self, question: bytes | Query) -> Report | Refusal:
        """Answer a query by the table of ``device.md``; the terms of a pinned collector are verified first.

        The release is committed when this returns, unless the caller holds
        ``ledger.transaction()`` for a batch. Then it is committed when that ends, and no reply may leave before;
        for a device that the transaction's CounterMismatch names, none may leave at all.

        Raises:
            LedgerDamaged: only inside a caller's transaction, which has to be given up whole.
        """
        asked = question_to(self._policy, question)
        return self._refuse(asked) if isinstance(asked, Refusal) else self._decide(asked)

    def hand_over(self, question: bytes) -> Report | Refusal:
        """Give the whole record, raw, to an owner: once, and only in ``owner`` mode.

        Raises:
            LedgerDamaged: as :meth:`answer`.
        """
        asked = _read(self._policy, question, raw_record.read_hand_over)
        if isinstance(asked, Refusal):
            return self._refuse(asked)
        if self._policy.mode != "owner":
            return self._refuse(Refusal.MODE_REFUSED)
        return self._decide(asked)

    def _decide(self, asked: PermittedQuery) -> Report | Refusal:
        query = asked.query
        if not asked.includes(self.index):
            return self._refuse(Refusal.COLLECTOR_REFUSED)
        if not self._policy.allows(query, device=self.index):
            return self._refuse(Refusal.POLICY_REFUSED)
        if self.ledger.in_transaction:
            return self._claim(query)
        try:
            with self.ledger.transaction():
                return self._claim(query)
        except LedgerDamaged as error:
            return Refusal.of(error)

    @property
    def mode(self) -> str:
        """The mode that the device was enrolled for."""
        return self._policy.mode

    def join(self, task: Task, kind: AnswerKind, question: bytes) -> RoundPermit | Refusal:
        """Decide about a round; call this, and :meth:`enter`, in one ledger transaction.

        The number of the answer in the ledger is in the key of its noise: no two answers share
        any. The device keeps no updates, so it cannot repeat one: a question that it answered
        under noise before, in this training or another, is refused.

        Args:
            task: The training.
            kind: The answer that is wanted.
            question: SHA-256 of all that the device is told, except for the training's id.
        """
        if self._policy.mode != "federated":
            return self._refuse(Refusal.MODE_REFUSED)
        try:
            head, spent = self.ledger.training(self.index, seal_key=self._seal_key)
            nonce = self.ledger.nonce(self.index)
        except LedgerDamaged as error:
            return Refusal.of(error)
        if not self._policy.allows_round(task, kind, spent):
            return self._refuse(Refusal.POLICY_REFUSED)
        if task.adds_noise(kind) and self._answered(kind, question):
            return self._refuse(Refusal.REPORT_COLLECTED)
        digest = b"".join(self._data_digest(name) for name in task.scope(kind))
        number = head.answers.to_bytes(8, "little")
        key = self._noise_key(b"training noise", kind.encode(), question, number, digest, nonce)
        return RoundPermit(self._record, head, spent, question, digest, key)

    def _answered(self, kind: AnswerKind, question: bytes) -> bool:
        rows = self.ledger.answers(self.index)
        return any(isinstance(row, TrainingAnswer) and (row.kind, row.fingerprint) == (kind, question) for row in rows)

    def enter(self, task: Task, kind: AnswerKind, permit: RoundPermit, size: int) -> None:
        """Enter an answer of ``size`` bytes in the ledger.

        Raises:
            LedgerDamaged: where it cannot be written; nothing may leave then.
        """
        answer = TrainingAnswer.following(
            permit.head, permit.spent, self.index, collection=task.collection, kind=kind, scope=task.scope(kind),
            fingerprint=permit.question, loss=task.loss(kind), data_digest=permit.data_digest, size=size,
        )  # fmt: skip
        self.ledger.enter(answer, after=permit.head, seal_key=self._seal_key)

    def refuse_mode(self) -> Refusal:
        """Answer a message of another mode (``train`` or ``evaluate`` to a reporting device)."""
        return self._refuse(Refusal.MODE_REFUSED)

    def takes_part(self, task: Task) -> bool:
        """Return whether the device would answer in this training, had it not answered in others."""
        return self._policy.allows_round(task, "update", Loss(0.0, 0.0))

    def refuse_policy(self) -> Refusal:
        """Answer a message about a training that is outside the policy."""
        return self._refuse(Refusal.POLICY_REFUSED)

    def refuse_unknown(self) -> Refusal:
        """Answer a message that is no question."""
        return self._refuse(Refusal.UNKNOWN_QUERY)

    def _refuse(self, refusal: Refusal) -> Refusal:
        # With a damaged ledger every question gets the same answer, also one that would be refused anyway.
        try:
            self.ledger.check(self.index, self._seal_key)
        except LedgerDamaged as error:
            return Refusal.of(error)
        return refusal

    def _claim(self, query: Query) -> Report | Refusal:
        replay = self._policy.on_requery == "replay"
        try:
            decision = self.ledger.decide(self.index, query, seal_key=self._seal_key, replay=replay)
            nonce = self.ledger.nonce(self.index)
        except LedgerDamaged as error:  # found while reading: nothing was written, other devices of the batch go on
            return Refusal.of(error)
        if isinstance(decision, AlreadyCollected):
            return Refusal.REPORT_COLLECTED
        if isinstance(decision, Replay):
            return Report(pack_report(decision.reports), replayed=True)
        # The loss of later stages was entered with stage 0, and the caps judged it there.
        if query.stage == 0 and not self._policy.allows_total(decision.spent, query, device=self.index):
            return Refusal.POLICY_REFUSED
        reports: dict[str, bytes] = {}
        digests: dict[str, bytes] = {}
        for ask in query.asks:
            read = {name: self._data_digest(name) for name in ask.attributes}
            digests |= read
            key = self._noise_key(b"noise", query.question(ask.attribute), *read.values(), nonce)
            reports[ask.attribute] = pack_parts(self._perturb(ask, query, key))
        answer = QueryAnswer.following(decision.head, self.index, query, reports, digests)
        self.ledger.enter(answer, after=decision.head, seal_key=self._seal_key)
        return Report(pack_report(tuple(reports.values())), replayed=False)

    def _noise_key(self, *parts: bytes) -> bytes:
        return derive_key(self._secret, *noise_parts(*parts))

    def _data_digest(self, attribute: str) -> bytes:
        return hmac.digest(self._secret, data_message(self._record, attribute), "sha256")

    def _perturb(self, ask: Ask, query: Query, key: bytes) -> Iterator[bytes]:
        for stream, mechanism in enumerate(ask.mechanisms):
            noise = NoiseStream(key, stream)
            yield from mechanism.respond([self._record], [noise], devices=[self.index], grouping=query.grouping)


class PermittedQuery(NamedTuple):
    """A query, and the people who may be asked it by the terms of a pinned collector.

    Args:
        query: The query.
        people: bool (n,); None where no collector is pinned.
    """

    query: Query
    people: BoolArray | None

    def includes(self, device: int) -> bool:
        """Return whether this device may be asked."""
        return self.people is None or bool(self.people[device])


def question_to(policy: Policy, question: bytes | Query) -> PermittedQuery | Refusal:
    """Return what a reporting device with this policy has to decide about, or the refusal to every device."""
    asked = (
        _read(policy, question) if policy.collector or isinstance(question, bytes) else PermittedQuery(question, None)
    )
    if isinstance(asked, Refusal):
        return asked
    if not asked.query.answerable:
        return Refusal.UNKNOWN_QUERY
    if policy.mode != "report" or raw_record.is_hand_over(asked.query):
        return Refusal.MODE_REFUSED
    return asked


def _read(
    policy: Policy, question: bytes | Query, read: Callable[[bytes], Query] = Query.from_bytes
) -> PermittedQuery | Refusal:
    data = question if isinstance(question, bytes) else b""
    signed = split_question(data)
    if policy.collector and not (signed and signed[0].is_signed_by(policy.collector)):
        return Refusal.COLLECTOR_REFUSED
    try:
        query = read(query_of(data))
    except InvalidQuery:
        return Refusal.UNKNOWN_QUERY
    if not (policy.collector and signed):
        return PermittedQuery(query, None)
    people = people_asked(signed[0].terms, query, policy.facts.n)
    return PermittedQuery(query, people) if people.any() else Refusal.COLLECTOR_REFUSED


def pack_parts(parts: Iterable[bytes]) -> bytes:
    """Join the reports of an attribute's mechanisms, each preceded by its length."""
    return b"".join([_LENGTH(len(part)) + part for part in parts])


def pack_columns(parts: Sequence[Sequence[bytes]]) -> list[bytes]:
    """Return :func:`pack_parts` for each of many devices: ``parts[k][d]`` is part k of device d."""
    with_lengths = [[_LENGTH(len(part)) + part for part in column] for column in parts]
    return with_lengths[0] if len(parts) == 1 else [b"".join(own) for own in zip(*with_lengths, strict=True)]


def pack_report(attributes: tuple[bytes, ...]) -> bytes:
    """Join the attributes' bytes, in the query's order, each preceded by its length."""
    return pack_parts(attributes)


def unpack_parts(data: bytes) -> tuple[bytes, ...]:
    """Split :func:`pack_parts`; ValueError for bytes that are not of that form."""
    parts: list[bytes] = []
    end, total = 0, len(data)
    while end < total:
        start = end + 4
        if start > total:
            raise ValueError("a report is cut off")
        end = start + _READ_LENGTH(data, end)[0]
        if end > total:
            raise ValueError("a report is cut off")
        parts.append(data[start:end])
    return tuple(parts)


def most_bytes(query: Query) -> int:
    """Return the bytes above which nothing is a report to a query: more than each size that it names can fill."""
    values = [value for ask in query.asks for mechanism in ask.mechanisms for value in mechanism.parameters().values()]
    sizes = [len(value) if isinstance(value, tuple | list) else value for value in values]
    return _ALWAYS_TAKEN + _MOST_EACH * sum(size for size in sizes if type(size) is int and 0 < size <= LARGEST_SIZE)


def unpack_report(data: bytes, query: Query) -> dict[str, tuple[bytes, ...]]:
    """Split a report by attribute and mechanism; ValueError where it does not hold what the query asked for."""
    if len(data) > most_bytes(query):
        raise ValueError(f"{len(data):,} bytes are no report to this query")
    attributes = unpack_parts(data)
    if len(attributes) != len(query.asks):
        raise ValueError(f"{len(attributes)} attributes were reported, {len(query.asks)} were asked")
    found = {ask.attribute: unpack_parts(part) for ask, part in zip(query.asks, attributes, strict=True)}
    if any(len(found[ask.attribute]) != len(ask.mechanisms) for ask in query.asks):
        raise ValueError("a mechanism's report is missing")
    return found
