"""Rows of a ledger, and what a ledger may decide.

A row carries a seal, an HMAC over its content under the device's own key.
"""

from __future__ import annotations

import hmac
import struct
from dataclasses import dataclass
from typing import Any

from devices.mechanisms.base import Loss

_LENGTH = struct.Struct("<I").pack
_NUMBERS = struct.Struct("<qqdddd").pack


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
