"""Bytes under a device's keyed hashes: the data that a report is drawn from, and the key of its noise."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache

import numpy as np

from ldpsim.devices.data.population import Record
from ldpsim.devices.data.records import Records, row_bytes
from ldpsim.devices.noise import key_message

SEAL = key_message(b"seal")  # its HMAC is the key of a device's seals


def data_message(record: Record, attribute: str) -> bytes:
    """Return the message whose HMAC under the device's secret is the digest of an attribute's data."""
    if attribute == "adjacency":
        data = np.ascontiguousarray(record.neighbours, "<i4").tobytes()
    elif attribute == "features":
        columns = np.ascontiguousarray(record.feature_indices, "<i4").tobytes()
        data = columns + np.ascontiguousarray(record.feature_values, "<f4").tobytes()
    else:
        data = struct.pack("<q", record.label)
    return _head_of(attribute) + key_message(data)


def data_messages(records: Records, attribute: str) -> Sequence[bytes]:
    """Return :func:`data_message` of each record."""
    if attribute == "adjacency":
        data = row_bytes(records.neighbours, records.neighbour_starts, "<i4")
    elif attribute == "features":
        columns = row_bytes(records.feature_indices, records.feature_starts, "<i4")
        values = row_bytes(records.feature_values, records.feature_starts, "<f4")
        data = [first + second for first, second in zip(columns, values, strict=True)]
    else:
        data = row_bytes(records.labels, np.arange(len(records) + 1), "<q")
    head = _head_of(attribute)
    return [head + key_message(own) for own in data]


@cache
def _head_of(attribute: str) -> bytes:
    return key_message(b"data", attribute.encode())


def noise_parts(*parts: bytes) -> tuple[bytes, ...]:
    """Return the parts of the key of an answer's noise; the counter's nonce, the last one, is left out where empty.

    So the keys of devices without a counter stay as they were before there were counters.
    """
    return parts if parts[-1] else parts[:-1]
