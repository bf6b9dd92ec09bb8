"""Ledgers of schema 1, read to be migrated. The version's meaning never changes.

Schema 1 had one row and one seal an attribute and stage. An answer in a training was a row
of the attribute ``training``: its number stood in ``stage``, the kind and the attributes
that it depends on in ``grouping``, its size and the total loss so far in ``report``.
"""

from __future__ import annotations

import hmac
import sqlite3
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from devices.ledger.columns import LedgerDamaged, Table
from devices.ledger.rows import PARTS, TRAINING, Answer, Part, QueryAnswer, TrainingAnswer
from devices.ledger.schema import APPLICATION

SCHEMA = 1
_LENGTH = struct.Struct("<I").pack
_NUMBERS = struct.Struct("<qqdddd").pack
_TOTAL = struct.Struct("<qddd")


@dataclass(frozen=True)
class Row1:
    """A row of schema 1."""

    device: int
    attribute: str
    stage: int
    collection: str
    fingerprint: bytes
    grouping: bytes
    loss_bit: float
    loss_vector: float
    delta: float
    report: bytes
    data_digest: bytes
    time: float
    seal: bytes

    def seal_under(self, key: bytes) -> bytes:
        """Return the seal that the row has to carry."""
        numbers = _NUMBERS(self.device, self.stage, self.loss_bit, self.loss_vector, self.delta, self.time)
        texts = (self.attribute.encode(), self.collection.encode())
        parts = (*texts, self.fingerprint, self.grouping, self.report, self.data_digest, numbers)
        return hmac.digest(key, b"".join(_LENGTH(len(part)) + part for part in parts), "sha256")


RELEASES = Table("release", Row1, key=("device", "attribute", "stage"))


def read(path: Path, seal_key: Callable[[int], bytes]) -> tuple[int, list[list[Answer]]]:
    """Return the number of rows, and the answers of each device in the order in which they were given, unsealed.

    Args:
        path: A ledger of schema 1.
        seal_key: Returns a device's key for seals; IndexError where no such device is enrolled.

    Raises:
        LedgerDamaged: where the file or a row is damaged.
    """
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)
        try:
            if db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                raise LedgerDamaged("the file is damaged")
            versions = [db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
            objects = db.execute("SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
            if versions != [APPLICATION, SCHEMA] or objects != [("table", RELEASES.name)]:
                raise LedgerDamaged("it is not a ledger of schema 1")
            # rowid is the order of entering: the key's order would not say which answer came first.
            text = RELEASES.select_all.partition(" ORDER BY ")[0]
            rows = [RELEASES.read(row) for row in db.execute(f"{text} ORDER BY device, rowid")]
        finally:
            db.close()
    except (sqlite3.Error, UnicodeError, MemoryError) as error:
        raise LedgerDamaged("the file cannot be read") from error
    found: list[list[Answer]] = []
    for device, own in groupby(rows, key=lambda row: row.device):
        try:
            key = seal_key(device)
        except IndexError:
            raise LedgerDamaged(f"no device {device} is enrolled here") from None
        checked = list(own)
        if any(not hmac.compare_digest(row.seal, row.seal_under(key)) for row in checked):
            raise LedgerDamaged(f"a row of device {device} does not carry its seal")
        found.append(list(_answers(checked)))
    return len(rows), found


def _answers(rows: list[Row1]) -> Iterator[Answer]:
    """Yield the answers of one device; rows of one answer have everything in common but the attribute."""
    together = groupby(rows, key=lambda r: (r.attribute == TRAINING, r.collection, r.stage, r.grouping, r.time))
    for number, ((training, collection, stage, grouping, time), group) in enumerate(together):
        answered = list(group)
        if training:
            yield _training_answer(number, answered)
            continue
        parts = [
            Part(r.attribute, r.fingerprint, r.loss_bit, r.loss_vector, r.delta, r.report, r.data_digest)
            for r in answered
        ]
        packed = b"".join(map(PARTS.pack, parts))
        yield QueryAnswer(answered[0].device, number, collection, stage, grouping, packed, time)


def _training_answer(number: int, rows: list[Row1]) -> TrainingAnswer:
    if len(rows) != 1 or rows[0].stage != number:
        raise LedgerDamaged("the answers of a training contradict each other")
    (row,) = rows
    try:
        size, total_bit, total_vector, total_delta = _TOTAL.unpack(row.report)
        kind, _, attributes = row.grouping.decode("ascii").partition(":")
    except (struct.error, UnicodeError) as error:
        raise LedgerDamaged("a row is not of the ledger's form") from error
    return TrainingAnswer(
        row.device, number, row.collection, kind, attributes, row.fingerprint, row.loss_bit, row.loss_vector, row.delta,
        total_bit, total_vector, total_delta, row.data_digest, size, row.time,
    )  # fmt: skip
