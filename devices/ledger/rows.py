"""Rows of a ledger. Each dataclass here is a table, and its fields are the table's columns.

One answer of a device is one row: an answer to a query with all attributes that it
releases, or an answer in a federated training. A device's rows form one chain over both
tables (:mod:`ldpsim.devices.ledger.chain`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.ledger.columns import Columns, Table
from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.query import Query

TRAINING = "training"  # name of a training's losses, in rows and policies, in place of an attribute
# Of a first row in its page: its place there 2, two lengths 4, the columns' types 10, device 1, time 8, seal 32.
_ROW_BYTES = 57
_PAID_BEFORE = Loss(0.0, 0.0)  # a later stage's loss was entered with the first


@dataclass(frozen=True)
class Head:
    """End of a device's chain.

    Args:
        answers: How many answers the device gave; the next one gets this number.
        seal: Seal of the last answer, empty without an answer.
    """

    answers: int = 0
    seal: bytes = b""


@dataclass(frozen=True)
class Part:
    """One attribute of an answer.

    A report that depends on several attributes has a part for each, with one fingerprint and the report's whole loss.
    The first of them holds the bytes.

    Args:
        attribute: Its name; :data:`TRAINING` for an answer of a training.
        fingerprint: Of all that was asked about it.
        loss_bit, loss_vector, delta: Its loss.
        report: The bytes released, empty where a later stage will release them or another part holds them.
        data_digest: Keyed digest of the data that the report was drawn from.
    """

    attribute: str
    fingerprint: bytes
    loss_bit: float
    loss_vector: float
    delta: float
    report: bytes
    data_digest: bytes

    @property
    def loss(self) -> Loss:
        """The loss of this attribute over all stages, entered with the first one."""
        return Loss(self.loss_bit, self.loss_vector, self.delta)


PARTS = Columns(Part)


@dataclass(frozen=True)
class QueryAnswer:
    """One answer to one stage of a query.

    Args:
        device: The person's public number.
        number: Place in the device's chain, from 0.
        collection: Id of the collection that asked.
        stage: Stage of the query.
        grouping: Digest of the stage's public grouping, empty without one.
        packed_parts: Canonical bytes of :attr:`parts`. The row of the first stage holds the
            attributes of all stages, so that the whole loss is entered before anything leaves.
        time: Seconds since 1970, by the device's clock.
        seal: HMAC over this row and the seal before it.
    """

    device: int
    number: int
    collection: str
    stage: int
    grouping: bytes
    packed_parts: bytes
    time: float
    seal: bytes = b""

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The attributes released or reserved; LedgerDamaged where they cannot be read."""
        return PARTS.unpack(self.packed_parts)

    @property
    def terms(self) -> bytes:
        """Bytes that fix attributes, fingerprints and losses of :attr:`parts`, and whether these can be read at all.

        LedgerDamaged for bytes that are cut off.
        """
        return PARTS.outline(self.packed_parts, 2)

    @property
    def size(self) -> int:
        """Bytes of all reports."""
        return sum(len(part.report) for part in self.parts)

    @classmethod
    def following(
        cls, head: Head, device: int, query: Query, reports: Mapping[str, bytes], digests: Mapping[str, bytes]
    ) -> QueryAnswer:
        """Return the next row of a device, without its seal; with stage 0 the losses of all stages are entered."""
        parts = []
        for name in query.attributes if query.stage == 0 else tuple(reports):
            loss = query.loss(name, device=device) if query.stage == 0 else _PAID_BEFORE
            texts = (name.encode(), query.fingerprint(name), reports.get(name, b""), digests.get(name, b""))
            parts.append(PARTS.pack_values((loss.bit, loss.vector, loss.delta), texts))  # of a Part
        packed = b"".join(parts)
        return cls(device, head.answers, query.collection, query.stage, query.grouping_digest, packed, time.time())


@dataclass(frozen=True)
class FirstAnswers:
    """First rows of several devices, all answers to one query of stage 0: those of :meth:`QueryAnswer.following`.

    Args:
        devices: Their public numbers, in rising order.
        collection: Id of the collection that asked.
        packed_parts: Canonical bytes of the parts of each one's answer.
        time: Seconds since 1970, by the clock of their machine.
    """

    devices: Sequence[int]
    collection: str
    packed_parts: Sequence[bytes]
    time: float

    def __len__(self) -> int:
        return len(self.devices)

    def __iter__(self) -> Iterator[int]:
        return iter(self.devices)

    @classmethod
    def to(
        cls, query: Query, devices: Sequence[int], reports: Mapping[str, Sequence[bytes]],
        digests: Mapping[str, Sequence[bytes]],
    ) -> FirstAnswers:  # fmt: skip
        """Return the rows, without their seals, for reports and data digests by attribute and device."""
        none = [b""] * len(devices)
        parts = [
            _first_parts(query, name, devices, reports.get(name, none), digests.get(name, none))
            for name in query.attributes
        ]
        return cls(devices, query.collection, [b"".join(own) for own in zip(*parts, strict=True)], time.time())

    @property
    def sizes(self) -> IntArray:
        """int64: bytes that each row takes in a page of the ledger file, within a byte or two."""
        beside = _ROW_BYTES + len(self.collection) + int(self.devices[-1]).bit_length() // 8
        return np.array([beside + len(parts) for parts in self.packed_parts], np.int64)

    def canonical(self) -> Iterator[bytes]:
        """Yield the canonical bytes of each row."""
        collection = self.collection.encode()
        for device, parts in zip(self.devices, self.packed_parts, strict=True):
            head = QUERY_ANSWERS.pack_head((device, 0, 0, self.time), (len(collection), 0, len(parts)))
            yield head + collection + parts

    def rows(self, seals: Sequence[bytes]) -> list[tuple[Any, ...]]:
        """Return the values of all columns, with these seals."""
        return [
            (device, 0, self.collection, 0, b"", parts, self.time, seal)
            for device, parts, seal in zip(self.devices, self.packed_parts, seals, strict=True)
        ]


def _first_parts(
    query: Query, name: str, devices: Sequence[int], reports: Sequence[bytes], digests: Sequence[bytes]
) -> list[bytes]:
    """Return the canonical bytes of one attribute's :class:`Part` of each device."""
    text, asked = name.encode(), query.fingerprint(name)
    common = None if query.one_end else query.loss(name)
    heads: dict[Any, bytes] = {}
    packed = []
    for device, report, digest in zip(devices, reports, digests, strict=True):
        loss = common or query.loss(name, device=device)
        like = id(loss), len(report), len(digest)  # the query keeps its losses, so an id is one loss
        head = heads.get(like)
        if head is None:
            lengths = len(text), len(asked), len(report), len(digest)
            head = heads[like] = PARTS.pack_head((loss.bit, loss.vector, loss.delta), lengths) + text + asked
        packed.append(head + report + digest)
    return packed


@dataclass(frozen=True)
class TrainingAnswer:
    """One answer in a federated training.

    The answer itself, as large as a model, is not kept: question, data and the device's
    secret determine it.

    Args:
        device: The person's public number.
        number: Place in the device's chain, from 0.
        collection: Id of the training.
        kind: ``update``, ``evaluation`` or ``exchange``.
        attributes: Attributes that the answer depends on, joined by commas.
        fingerprint: SHA-256 of all that the device was told.
        loss_bit, loss_vector, delta: Loss of this answer.
        total_bit, total_vector, total_delta: Loss of this and all earlier training answers together.
        data_digest: Keyed digest of the data that it was computed from.
        size: The answer's bytes, counted.
        time: Seconds since 1970, by the device's clock.
        seal: HMAC over this row and the seal before it.
    """

    device: int
    number: int
    collection: str
    kind: str
    attributes: str
    fingerprint: bytes
    loss_bit: float
    loss_vector: float
    delta: float
    total_bit: float
    total_vector: float
    total_delta: float
    data_digest: bytes
    size: int
    time: float
    seal: bytes = b""

    @property
    def scope(self) -> tuple[str, ...]:
        """Attributes that the answer depends on."""
        return tuple(self.attributes.split(","))

    @property
    def loss(self) -> Loss:
        """Loss of this answer."""
        return Loss(self.loss_bit, self.loss_vector, self.delta)

    @property
    def total(self) -> Loss:
        """Loss of this and all earlier training answers together."""
        return Loss(self.total_bit, self.total_vector, self.total_delta)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The answer as one part, whose name is :data:`TRAINING`; its bytes were not kept."""
        return (
            Part(TRAINING, self.fingerprint, self.loss_bit, self.loss_vector, self.delta, b"", self.data_digest),
        )  # fmt: skip

    @classmethod
    def following(
        cls, head: Head, spent: Loss, device: int, *, collection: str, kind: str, scope: tuple[str, ...],
        fingerprint: bytes, loss: Loss, data_digest: bytes, size: int,
    ) -> TrainingAnswer:  # fmt: skip
        """Return the next row of a device, without its seal, after earlier training answers that lose ``spent``."""
        total = spent + loss
        return cls(
            device, head.answers, collection, kind, ",".join(scope), fingerprint, loss.bit, loss.vector, loss.delta,
            total.bit, total.vector, total.delta, data_digest, size, time.time(),
        )  # fmt: skip


@dataclass(frozen=True)
class Header:
    """The ledger's own row; there is exactly one.

    Args:
        id: Always 0.
        epoch: Number of the ledger's present owner. A process that opened the ledger under
            another number may not answer any more.
    """

    id: int = 0
    epoch: int = 0


Answer = QueryAnswer | TrainingAnswer
QUERY_ANSWERS = Table("query_answer", QueryAnswer, key=("device", "number"))
TRAINING_ANSWERS = Table("training_answer", TrainingAnswer, key=("device", "number"))
HEADER = Table("header", Header, key=("id",))
TABLES: tuple[Table[QueryAnswer] | Table[TrainingAnswer] | Table[Header], ...] = (
    QUERY_ANSWERS, TRAINING_ANSWERS, HEADER,
)  # fmt: skip


def distinct_parts(answer: Answer) -> tuple[Part, ...]:
    """Return the parts of an answer whose losses add: those with one fingerprint are one release, and count once."""
    first: dict[bytes, Part] = {}
    for part in answer.parts:
        first.setdefault(part.fingerprint, part)
    return tuple(first.values())


def sealed(answer: Answer, seal: bytes) -> tuple[Table[Any], tuple[Any, ...]]:
    """Return the table of an answer, and the values of its columns with this seal."""
    table: Table[Any] = QUERY_ANSWERS if isinstance(answer, QueryAnswer) else TRAINING_ANSWERS
    return table, (*table.values(answer)[:-1], seal)
