"""Hand-over of a raw record, once, to an owner whom the person trusts.

It is a question like any other, whose one mechanism, :class:`HandedOver`, adds no noise: a release in the ledger with
an infinite loss. Only a device enrolled in ``owner`` mode answers it, and answers nothing else. The mechanism is in no
table, so that a hand-over is asked as a whole or not at all.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ldpsim.devices.array_types import IntArray, checked_numbers
from ldpsim.devices.data.records import Record, Records, row_bytes
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.clear import InClear
from ldpsim.devices.mechanisms.mechanism import Grouping
from ldpsim.devices.network import are_usable
from ldpsim.devices.query import ATTRIBUTES, Ask, InvalidQuery, Query, malformed

FORMAT = 1
_LARGEST = 1 << 10  # bytes of the question for a whole record
_COUNT = struct.Struct("<I")
_LABEL = struct.Struct("<q")


@dataclass(frozen=True)
class HandedOver(InClear):
    """One attribute of a record as it is, in plain bytes and without noise.

    Adjacency: int32 ids. Features: how many, int32 columns, float32 values. Label: int64.
    All little-endian.
    """

    attribute: str

    name: ClassVar[str] = "handed_over"

    @property
    def reads(self) -> tuple[str, ...]:  # type: ignore[override]
        """Return the attribute."""
        return (self.attribute,)

    def agrees_with(self, facts: PublicFacts) -> bool:
        """Return True: it makes no use of the facts."""
        return True

    def values(self, people: Records, devices: IntArray, grouping: Grouping = None) -> list[bytes]:
        """Return the attribute's bytes of each person."""
        if self.attribute == "adjacency":
            return row_bytes(people.neighbours, people.neighbour_starts, "<i4")
        if self.attribute == "features":
            counts = [_COUNT.pack(count) for count in people.feature_counts.tolist()]
            columns = row_bytes(people.feature_indices, people.feature_starts, "<i4")
            values = row_bytes(people.feature_values, people.feature_starts, "<f4")
            return [b"".join(parts) for parts in zip(counts, columns, values, strict=True)]
        return [_LABEL.pack(label) for label in people.labels.tolist()]

    def encode(self, reports: list[bytes], devices: IntArray) -> list[bytes]:
        return reports

    def decode(self, data: Sequence[bytes], devices: IntArray) -> list[bytes]:
        return list(data)


def hand_over(collection: str) -> Query:
    """Return the question for a whole record.

    Raises:
        InvalidQuery: for a malformed collection id.
    """
    return Query(collection, (tuple(Ask(name, (HandedOver(name),)) for name in ATTRIBUTES),))


def is_hand_over(query: Query) -> bool:
    """Return whether this is the question for a whole record."""
    return query.plan == hand_over(query.collection).plan


def read_question(data: bytes) -> Query:
    """Read a query or a hand-over; only the canonical bytes of either are accepted.

    Raises:
        InvalidQuery: for anything else.
    """
    try:
        return Query.from_bytes(data)
    except InvalidQuery:
        if not isinstance(data, bytes) or len(data) > _LARGEST:
            raise
        with malformed("the query"):
            query = hand_over(json.loads(data)["collection"])
        if query.to_bytes() != data:
            raise
        return query


def read_record(parts: Mapping[str, tuple[bytes, ...]], facts: PublicFacts) -> Record:
    """Put a record together from what a device handed over.

    Raises:
        ValueError: for bytes that are not of this form, or a record that nobody of these facts has.
    """
    try:
        (neighbours,), (features,), (label,) = (parts[name] for name in ATTRIBUTES)
        (count,) = _COUNT.unpack_from(features)
        if len(features) != _COUNT.size + 8 * count:
            raise ValueError("the features are cut off")
        columns = np.frombuffer(features, "<i4", count, _COUNT.size)
        values = np.frombuffer(features, "<f4", count, _COUNT.size + 4 * count)
        listed, (own,) = np.frombuffer(neighbours, "<i4"), _LABEL.unpack(label)
        checked_numbers("features", columns, facts.d)
        checked_numbers("neighbours", listed, facts.n)
        if not are_usable(values) or not -1 <= own < facts.classes:
            raise ValueError("a record has a feature or a label that nobody has")
        return Record(columns, values, listed, own)
    except (struct.error, KeyError) as error:
        raise ValueError("a record is malformed") from error
