"""Hand-over of a raw record, once, to an owner whom the person trusts.

Only a device enrolled in ``owner`` mode answers it, by a message type of its own. It is a
release like any other, in the ledger with an infinite loss. To the ledger it is a query
whose one mechanism, :class:`HandedOver`, adds no noise; that mechanism is in no table, so
no *report* can be asked with it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ldpsim.devices.array_types import checked_numbers
from ldpsim.devices.data.population import Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms.base import Grouping
from ldpsim.devices.mechanisms.clear import InClear
from ldpsim.devices.network import are_usable
from ldpsim.devices.query import ATTRIBUTES, Ask, InvalidQuery, Query, malformed

FORMAT = 1
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

    def value_of(self, record: Record, *, device: int, grouping: Grouping = None) -> Any:
        """Return the attribute's bytes."""
        if self.attribute == "adjacency":
            return np.ascontiguousarray(record.neighbours, "<i4").tobytes()
        if self.attribute == "features":
            columns = np.ascontiguousarray(record.feature_indices, "<i4")
            values = np.ascontiguousarray(record.feature_values, "<f4")
            return _COUNT.pack(len(columns)) + columns.tobytes() + values.tobytes()
        return _LABEL.pack(record.label)

    def encode(self, report: bytes) -> bytes:
        return report

    def decode(self, data: bytes, *, device: int) -> bytes:
        return data


def hand_over(collection: str) -> Query:
    """Return the question for a whole record.

    Raises:
        InvalidQuery: for a malformed collection id.
    """
    return Query(collection, (tuple(Ask(name, (HandedOver(name),)) for name in ATTRIBUTES),))


def is_hand_over(query: Query) -> bool:
    """Return whether this is the question for a whole record."""
    return any(m.name == HandedOver.name for stage in query.plan for ask in stage for m in ask.mechanisms)


def read_hand_over(data: bytes) -> Query:
    """Read the question; only the canonical bytes of :func:`hand_over` are accepted.

    Raises:
        InvalidQuery: for anything else.
    """
    with malformed("the hand-over"):
        query = hand_over(json.loads(data)["collection"])
    if query.to_bytes() != data:
        raise InvalidQuery("the hand-over is malformed")
    return query


def read_question(data: bytes) -> Query:
    """Read a query or a hand-over; InvalidQuery for other bytes."""
    try:
        return read_hand_over(data)
    except InvalidQuery:
        return Query.from_bytes(data)


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
