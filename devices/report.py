"""Private reports as bytes: what leaves a device, and how a curator splits it by attribute and mechanism."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ldpsim.devices.facts import LARGEST_SIZE
from ldpsim.devices.query import Query

_FRAME_BYTES, _VALUE_BYTES = 1 << 16, 16  # of a report; at most, of one number, bit or category in it
_LENGTH, _READ_LENGTH = struct.Struct("<I").pack, struct.Struct("<I").unpack_from


@dataclass(frozen=True)
class Report:
    """A private report as it leaves the device.

    Args:
        data: The packed bytes (:func:`unpack_report` splits them by attribute).
        replayed: Whether these are bytes that were released before.
    """

    data: bytes
    replayed: bool


def pack_parts(parts: Iterable[bytes]) -> bytes:
    """Join the reports of an attribute's mechanisms, each preceded by its length."""
    return b"".join([_LENGTH(len(part)) + part for part in parts])


def pack_columns(parts: Sequence[Sequence[bytes]]) -> list[bytes]:
    """Return :func:`pack_parts` for each of many devices: ``parts[k][d]`` is part k of device d."""
    with_lengths = [[_LENGTH(len(part)) + part for part in column] for column in parts]
    return with_lengths[0] if len(parts) == 1 else [b"".join(row) for row in zip(*with_lengths, strict=True)]


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
    """Return an upper bound of the bytes of a report to a query, from the sizes and widths that its mechanisms name."""
    mechanisms = [mechanism for ask in query.asks for mechanism in ask.mechanisms]
    values = [value for mechanism in mechanisms for value in mechanism.parameters().values()]
    sizes = [len(value) if isinstance(value, tuple | list) else value for value in values]
    numbers = sum(size for size in sizes if type(size) is int and 0 < size <= LARGEST_SIZE)
    return _FRAME_BYTES + _VALUE_BYTES * max(numbers, sum(mechanism.width for mechanism in mechanisms))


def unpack_report(data: bytes, query: Query) -> dict[str, tuple[bytes, ...]]:
    """Split a report by attribute and mechanism; ValueError where it does not hold what the query asked for."""
    if len(data) > most_bytes(query):
        raise ValueError(f"{len(data):,} bytes are no report to this query")
    attributes = unpack_parts(data)
    if len(attributes) != len(query.asks):
        raise ValueError(f"{len(attributes)} attributes were reported, {len(query.asks)} were asked")
    reports = {ask.attribute: unpack_parts(part) for ask, part in zip(query.asks, attributes, strict=True)}
    if any(len(reports[ask.attribute]) != len(ask.mechanisms) for ask in query.asks):
        raise ValueError("a mechanism's report is missing")
    return reports
