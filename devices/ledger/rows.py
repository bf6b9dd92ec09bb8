"""Rows of a ledger. One answer of a device is one row, and a device's rows form one chain.

A row is (device, number, kind, collection, body, seal). The body is canonical bytes (little-endian): what the kind of
the answer needs, then its parts. A part is

    loss of an entry, of the whole, delta    3 doubles
    lengths of the next four                 4 x uint32
    attribute, fingerprint, report, digest of the data

What a device tells its friends is a row of kind ``report``, of :data:`TO_FRIENDS`; no query asks for it.

``report`` is an answer to a query, with all attributes that it releases. An answer in a federated training is not
kept: it is as large as a model, and question, data and the device's secret determine it.
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ldpsim.devices.mechanisms.exact_loss import Loss
from ldpsim.devices.query import Query

REPORT = "report"
TO_FRIENDS = "told to friends"  # collection and attribute of what a device tells its friends, once
TRAINING = "training"  # name of a training's losses, in rows and policies, in place of an attribute
_PART = struct.Struct("<3d4I")
_REPORT = struct.Struct("<dIB")  # time, stage, length of the grouping's digest
_TRAINING = struct.Struct("<dQ3dB")  # time, bytes of the answer, total loss so far, length of the attributes
_PAID_BEFORE = Loss(0.0, 0.0)  # a later stage's loss was entered with the first


class LedgerDamaged(Exception):
    """The ledger cannot be read or written, or contradicts itself."""


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
        loss: Its loss, over all stages of the question.
        report: The bytes released, empty where a later stage will release them, another part holds them, or they
            are not kept.
        data_digest: Keyed digest of the data that the report was drawn from.
    """

    attribute: str
    fingerprint: bytes
    loss: Loss
    report: bytes
    data_digest: bytes


class Answer(NamedTuple):
    """One answer of a device, as it stands in the table.

    Args:
        device: The person's public number.
        number: Place in the device's chain, from 0.
        kind: :data:`REPORT`, or ``update``, ``evaluation`` or ``exchange`` in a training.
        collection: Id of the collection or training that asked.
        body: Canonical bytes of all else.
        seal: HMAC over this row and the seal before it (:mod:`ldpsim.devices.ledger.chain`).

    The other properties raise LedgerDamaged where the body cannot be read.
    """

    device: int
    number: int
    kind: str
    collection: str
    body: bytes
    seal: bytes = b""

    @property
    def is_training(self) -> bool:
        """Whether it is an answer in a federated training."""
        return self.kind != REPORT

    @property
    def time(self) -> float:
        """Seconds since 1970, by the device's clock."""
        return float(self._head[0])

    @property
    def stage(self) -> int:
        """Stage of the query."""
        return int(self._head[1])

    @property
    def grouping(self) -> bytes:
        """Digest of the stage's public grouping, empty without one."""
        return self.body[_REPORT.size : self._start]

    @property
    def total(self) -> Loss:
        """Loss of this and all earlier training answers together."""
        return Loss(*self._head[2:5])

    @property
    def scope(self) -> tuple[str, ...]:
        """Attributes that an answer of a training depends on."""
        return tuple(self.body[_TRAINING.size : self._start].decode().split(","))

    @property
    def size(self) -> int:
        """Bytes that left."""
        return self._head[1] if self.is_training else sum(len(part.report) for part in self.parts)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The attributes released or reserved; an answer of a training is one part."""
        parts = []
        for at, (bit, vector, delta, *lengths) in self._outline():
            texts = []
            for length in lengths:
                texts.append(self.body[at : at + length])
                at += length
            attribute, fingerprint, report, digest = texts
            try:
                parts.append(Part(attribute.decode(), fingerprint, Loss(bit, vector, delta), report, digest))
            except UnicodeError as error:
                raise LedgerDamaged("a row is not of the ledger's form") from error
        return tuple(parts)

    @property
    def releases(self) -> tuple[Part, ...]:
        """The parts whose losses add: those with one fingerprint are one release, and count once."""
        first: dict[bytes, Part] = {}
        for part in self.parts:
            first.setdefault(part.fingerprint, part)
        return tuple(first.values())

    @property
    def terms(self) -> bytes:
        """Bytes that are equal where kind, attributes, fingerprints and losses are."""
        scope = self.body[self._form.size : self._start]
        pieces = [self.body[at - _PART.size : at + sum(numbers[3:5])] for at, numbers in self._outline()]
        return b"".join((self.kind.encode(), scope if self.is_training else b"", *pieces))

    @property
    def _form(self) -> struct.Struct:
        return _TRAINING if self.is_training else _REPORT

    @property
    def _head(self) -> tuple[Any, ...]:
        try:
            return self._form.unpack_from(self.body)
        except struct.error as error:
            raise LedgerDamaged("a row is not of the ledger's form") from error

    @property
    def _start(self) -> int:
        return self._form.size + self._head[-1]

    def _outline(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Yield where the texts of each part begin, and its numbers."""
        at, total = self._start, len(self.body)
        while at < total:
            try:
                numbers = _PART.unpack_from(self.body, at)
            except struct.error as error:
                raise LedgerDamaged("a row is not of the ledger's form") from error
            at += _PART.size
            yield at, numbers
            at += sum(numbers[3:])
        if at > total:
            raise LedgerDamaged("a row is cut off")


def head_of(answers: Sequence[Answer]) -> Head:
    """Return the end of a chain."""
    return Head(len(answers), answers[-1].seal) if answers else Head()


class TrainingEnd(NamedTuple):
    """End of a device's chain, and what a training has to know of its answers.

    Args:
        head: The end.
        spent: Loss of all its training answers so far.
        under_noise: Kind and question of each answer under noise: none of them is answered again.
    """

    head: Head
    spent: Loss
    under_noise: tuple[tuple[str, bytes], ...] = ()

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> TrainingEnd:
        """Return the end of a chain."""
        trained = [answer for answer in answers if answer.is_training]
        parts = [(answer.kind, answer.parts[0]) for answer in trained]
        noisy = tuple((kind, part.fingerprint) for kind, part in parts if math.isfinite(part.loss.vector))
        return cls(head_of(answers), trained[-1].total if trained else _PAID_BEFORE, noisy)

    def answered(self, kind: str, question: bytes) -> bool:
        """Return whether the device answered this question under noise."""
        return (kind, question) in self.under_noise


def reports_of(
    query: Query, heads: Mapping[int, Head], reports: Mapping[str, Sequence[bytes]],
    digests: Mapping[str, Sequence[bytes]],
) -> list[Answer]:  # fmt: skip
    """Return the next rows of devices, without their seals; with stage 0 the losses of all stages are entered.

    Args:
        query: What they answer.
        heads: End of each device's chain.
        reports: What each releases, by attribute and device.
        digests: Of the data that it was drawn from.
    """
    none = [b""] * len(heads)
    columns = [
        _parts(query, name, list(heads), reports.get(name, none), digests.get(name, none))
        for name in (query.attributes if query.stage == 0 else reports)
    ]
    grouping = query.grouping_digest
    head = _REPORT.pack(time.time(), query.stage, len(grouping)) + grouping
    return [
        Answer(device, end.answers, REPORT, query.collection, b"".join((head, *parts)))
        for (device, end), *parts in zip(heads.items(), *columns, strict=True)
    ]


def _parts(
    query: Query, name: str, devices: Sequence[int], reports: Sequence[bytes], digests: Sequence[bytes]
) -> list[bytes]:
    """Return the canonical bytes of one attribute's :class:`Part` of each device."""
    text, fingerprint = name.encode(), query.fingerprint(name)
    common = _PAID_BEFORE if query.stage else None if query.one_end else query.loss(name)
    heads: dict[tuple[int, int, int], bytes] = {}
    packed = []
    for device, report, digest in zip(devices, reports, digests, strict=True):
        loss = common or query.loss(name, device=device)
        like = id(loss), len(report), len(digest)  # the query keeps its losses, so an id is one loss
        head = heads.get(like)
        if head is None:
            head = heads[like] = _part_head(loss, text, fingerprint, report, digest)
        packed.append(head + report + digest)
    return packed


def _part_head(loss: Loss, text: bytes, fingerprint: bytes, report: bytes, digest: bytes) -> bytes:
    lengths = len(text), len(fingerprint), len(report), len(digest)
    return _PART.pack(loss.bit, loss.vector, loss.delta, *lengths) + text + fingerprint


def answer_to_friends(device: int, head: Head, *, fingerprint: bytes, content: bytes, digest: bytes) -> Answer:
    """Return the next row of a device, without its seal, for what it tells its friends: in clear."""
    part = _part_head(Loss(math.inf, math.inf), TO_FRIENDS.encode(), fingerprint, content, digest)
    return Answer(device, head.answers, REPORT, TO_FRIENDS, _REPORT.pack(time.time(), 0, 0) + part + content + digest)


def training_answers(
    ends: Mapping[int, TrainingEnd], *, collection: str, kind: str, scope: tuple[str, ...],
    fingerprints: Sequence[bytes], loss: Loss, digests: Sequence[bytes], sizes: Sequence[int],
) -> list[Answer]:  # fmt: skip
    """Return the next rows of devices, without their seals.

    Args:
        ends: End of each device's chain.
        collection, kind, scope, loss: Of the answer, which is the same for all.
        fingerprints, digests, sizes: Of the question, the data and the answer of each device.
    """
    attributes, now = ",".join(scope).encode(), time.time()
    heads: dict[tuple[Loss, int], bytes] = {}
    parts: dict[tuple[bytes, int], bytes] = {}
    rows = []
    each = zip(ends.items(), fingerprints, digests, sizes, strict=True)
    for (device, end), fingerprint, digest, size in each:
        head = heads.get((end.spent, size))
        if head is None:
            total = end.spent + loss
            packed = _TRAINING.pack(now, size, total.bit, total.vector, total.delta, len(attributes))
            head = heads[end.spent, size] = packed + attributes
        part = parts.get((fingerprint, len(digest)))
        if part is None:
            part = _part_head(loss, TRAINING.encode(), fingerprint, b"", digest)
            parts[fingerprint, len(digest)] = part
        rows.append(Answer(device, end.head.answers, kind, collection, b"".join((head, part, digest))))
    return rows
