"""Rows of a ledger, and what a ledger may decide.

A row carries a seal, an HMAC over its content under the device's own key.
"""

from __future__ import annotations

import hmac
import struct
import time
from dataclasses import dataclass, replace
from typing import Any

from devices.mechanisms.base import Loss

_LENGTH = struct.Struct("<I").pack
_NUMBERS = struct.Struct("<qqdddd").pack
_TOTAL = struct.Struct("<qddd")
TRAINING = "training"  # the rows of a federated training stand under this name, one an answer


class LedgerDamaged(Exception):
    """The ledger cannot be read or written, or contradicts itself."""


@dataclass(frozen=True)
class Entry:
    """One row: what was released, when, to whom, at which loss."""

    device: int
    attribute: str
    stage: int
    collection: str
    fingerprint: bytes
    grouping: bytes
    loss: Loss
    report: bytes
    data_digest: bytes
    time: float
    seal: bytes

    def sealed_by(self, key: bytes) -> bytes:
        """HMAC of all columns under the device's seal key."""
        loss = self.loss
        return seal(
            key, (self.device, self.attribute, self.stage, self.collection, self.fingerprint, self.grouping, loss.bit,
                  loss.vector, loss.delta, self.report, self.data_digest, self.time)
        )  # fmt: skip


Columns = tuple[int, str, int, str, bytes, bytes, float, float, float, bytes, bytes, float]


def seal(key: bytes, columns: Columns) -> bytes:
    """HMAC-SHA256 of a row's columns before the seal, in the file's order."""
    device, attribute, stage, collection, fingerprint, grouping, bit, vector, delta, report, digest, time = columns
    numbers = _NUMBERS(device, stage, bit, vector, delta, time)
    parts = (attribute.encode(), collection.encode(), fingerprint, grouping, report, digest, numbers)
    return hmac.digest(key, b"".join([_LENGTH(len(part)) + part for part in parts]), "sha256")


@dataclass(frozen=True)
class Release:
    """Nothing was released yet: draw the report, enter it, then reply.

    Args:
        spent: What the device's earlier releases of other attributes lose, added up, when
            the whole record changes.
    """

    spent: float = 0.0


@dataclass(frozen=True)
class Replay:
    """The stored bytes of each attribute asked, in the query's order."""

    reports: tuple[bytes, ...]


@dataclass(frozen=True)
class Collected:
    """Another question about a released attribute, or the same from another collection."""


def read_entry(row: tuple[Any, ...]) -> Entry:
    """Return a row of the file as an entry; LedgerDamaged where it is not of that form."""
    try:
        bit, vector, delta = (float(value) for value in row[6:9])
        blobs = [row[4], row[5], row[9], row[10], row[12]]
        if not all(isinstance(blob, bytes) for blob in blobs) or not isinstance(row[1], str):
            raise TypeError
        return Entry(
            int(row[0]), row[1], int(row[2]), str(row[3]), row[4], row[5], Loss(bit, vector, delta), row[9], row[10],
            float(row[11]), row[12],
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        raise LedgerDamaged("a row is not of the ledger's form") from error


@dataclass(frozen=True)
class TrainingRelease:
    """One answer of a device in a federated training, as the ledger has it.

    The row's ``report`` is the answer's size and what all answers so far lose together; the
    answer itself, as large as a model, is not kept: question, data and the device's secret
    determine it. ``grouping`` says what was answered and which attributes it depends on.

    Args:
        kind: ``update``, ``evaluation`` or ``exchange``.
        scope: Attributes that it depends on.
        collection: Id of the training.
        fingerprint: SHA-256 of what was asked.
        loss: Of this answer.
        data_digest: Keyed digest of the data that it was computed from.
        size: The answer's bytes, counted.
    """

    kind: str
    scope: tuple[str, ...]
    collection: str
    fingerprint: bytes
    loss: Loss
    data_digest: bytes
    size: int

    def entry(self, device: int, number: int, spent: Loss, key: bytes) -> Entry:
        """Return the sealed row of answer ``number`` (from 0), after earlier ones that lose ``spent``."""
        total = spent + self.loss
        report = _TOTAL.pack(self.size, total.bit, total.vector, total.delta)
        grouping = f"{self.kind}:{','.join(self.scope)}".encode()
        entry = Entry(device, TRAINING, number, self.collection, self.fingerprint, grouping, self.loss, report,
                      self.data_digest, time.time(), b"")  # fmt: skip
        return replace(entry, seal=entry.sealed_by(key))


def read_total(entry: Entry) -> Loss:
    """What all answers up to this row of a training lose together; LedgerDamaged where it does not say."""
    try:
        return Loss(*_TOTAL.unpack(entry.report)[1:])
    except struct.error as error:
        raise LedgerDamaged("a row is not of the ledger's form") from error


def training_scope(entry: Entry) -> tuple[str, ...]:
    """The attributes that an answer of a training depends on; LedgerDamaged where the row does not say."""
    try:
        return tuple(entry.grouping.decode("ascii").partition(":")[2].split(","))
    except UnicodeError as error:
        raise LedgerDamaged("a row is not of the ledger's form") from error


def entry_row(entry: Entry) -> tuple[Any, ...]:
    """The row of the file, in the columns' order."""
    loss = entry.loss
    return (entry.device, entry.attribute, entry.stage, entry.collection, entry.fingerprint, entry.grouping, loss.bit,
            loss.vector, loss.delta, entry.report, entry.data_digest, entry.time, entry.seal)  # fmt: skip
