"""Draw of reports: a pure function of records, secrets and a question, which any process may compute.

Noise comes from each device's own secret, the question and its data alone. So a draw gives the same bytes in the
process of the devices, in another one, or a second time after a process was lost. Nothing is released by it: a report
leaves after the devices' own process has entered it in their ledger (:func:`ldpsim.devices.device.answering`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ldpsim.devices.data.records import Records, row_bytes
from ldpsim.devices.mechanisms.mechanism import Grouping
from ldpsim.devices.noise import KeyedHashes, Noise, key_message
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report, pack_columns


@dataclass(frozen=True, eq=False)
class DrawTask:
    """Reports to draw for several devices.

    Args:
        asks: The question by attribute, each with the digest that its noise is bound to; a mechanism has a stream of
            noise of its own.
        grouping: The stage's public grouping.
        devices: Public numbers.
        records: The devices' records.
        secrets: uint8 (devices, 32).
        nonces: Random number of each device's counter, empty without a counter.
    """

    asks: Sequence[tuple[Ask, bytes]]
    grouping: Grouping
    devices: Sequence[int]
    records: Records
    secrets: NDArray[np.uint8]
    nonces: Sequence[bytes]

    @classmethod
    def of(
        cls, query: Query, devices: Sequence[int], records: Records, secrets: NDArray[np.uint8], nonces: Sequence[bytes]
    ) -> DrawTask:
        """Return the task for a query."""
        asks = [(ask, query.question(ask.attribute)) for ask in query.asks]
        return cls(asks, query.grouping, devices, records, secrets, nonces)

    def one(self, place: int) -> DrawTask:
        """Return the task of one device."""
        own = slice(place, place + 1)
        return replace(
            self, devices=self.devices[own], records=self.records[own], secrets=self.secrets[own],
            nonces=self.nonces[own],
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Drawn:
    """Reports that were drawn.

    Args:
        devices: Who has a report. A device is left out where a mechanism failed on its data.
        reports: Its packed bytes by attribute and device (:func:`ldpsim.devices.report.pack_parts`).
        digests: Keyed digest of the data that they were drawn from, by attribute and device.
    """

    devices: Sequence[int]
    reports: Mapping[str, Sequence[bytes]]
    digests: Mapping[str, Sequence[bytes]]

    def reported(self) -> list[Report]:
        """Return the report of each device."""
        return [Report(data, replayed=False) for data in pack_columns(list(self.reports.values()))]


def draw(task: DrawTask) -> Drawn:
    """Draw the reports of a task; nothing is raised, whatever the data are."""
    try:
        return _draw(task)
    except Exception:  # a mechanism of another package: only the device on whose data it fails goes without a report
        if len(task.devices) == 1:
            return Drawn((), {}, {})
        each = [drawn for place in range(len(task.devices)) if (drawn := draw(task.one(place))).devices]
        reports = {ask.attribute: [drawn.reports[ask.attribute][0] for drawn in each] for ask, _ in task.asks}
        digests = {name: [drawn.digests[name][0] for drawn in each] for ask, _ in task.asks for name in ask.attributes}
        return Drawn([drawn.devices[0] for drawn in each], reports, digests)


def _draw(task: DrawTask) -> Drawn:
    hashes = KeyedHashes(task.secrets)
    counted = [key_message(nonce) if nonce else b"" for nonce in task.nonces]
    reports, digests = {}, dict[str, list[bytes]]()
    for ask, question in task.asks:
        read = {name: hashes.macs(data_messages(task.records, name)) for name in ask.attributes}
        digests |= read
        prefix = key_message(b"noise", question)
        own = [[key_message(digest) for digest in column] for column in read.values()]
        keys = hashes.macs([b"".join((prefix, *parts)) for parts in zip(*own, counted, strict=True)])
        parts = [
            mechanism.respond(task.records, Noise(keys, stream), devices=task.devices, grouping=task.grouping)
            for stream, mechanism in enumerate(ask.mechanisms)
        ]
        reports[ask.attribute] = pack_columns(parts)
    return Drawn(task.devices, reports, digests)


def data_messages(records: Records, attribute: str) -> Sequence[bytes]:
    """Return the messages whose HMACs under the devices' secrets are the digests of an attribute's data."""
    if attribute == "adjacency":
        data = row_bytes(records.neighbours, records.neighbour_starts, "<i4")
    elif attribute == "features":
        columns = row_bytes(records.feature_indices, records.feature_starts, "<i4")
        values = row_bytes(records.feature_values, records.feature_starts, "<f4")
        data = [first + second for first, second in zip(columns, values, strict=True)]
    else:
        data = row_bytes(records.labels, np.arange(len(records) + 1), "<q")
    head = key_message(b"data", attribute.encode())
    return [head + key_message(own) for own in data]
