"""Reports of an edited app: the claim without noise, where the decoder accepts that.

It exists for ``ldpsim poison`` alone: nothing of the published app imports it, and no enrolment can name it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from flwr.app import Message

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.curator_key import query_of
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.records import Record, records_by_column
from ldpsim.devices.mechanisms import GRRFS, AdjacencyBits, Mechanism, OneBit
from ldpsim.devices.mechanisms.counts import NoisyCounts
from ldpsim.devices.mechanisms.mechanism import Grouping
from ldpsim.devices.noise import Noise, derive_key
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report, pack_parts, pack_report
from ldpsim.devices.wire import read_query, read_reply, reply
from ldpsim.strategies.engines.grids import DirectGrid

_DRAWS = 64  # reports that are drawn where a report without noise has no form


class LyingGrid(DirectGrid):
    """Grid that puts a lie in the place of each liar's report.

    Args:
        inner: Grid of all devices.
        people: The people, with the claims of the liars.
        liars: Devices that lie.
    """

    def __init__(self, inner: DirectGrid, people: Population, liars: IntArray) -> None:
        super().__init__(inner.size)
        self._inner, self._people, self._liars = inner, people, frozenset(liars.tolist())

    def deliver(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Yield the replies of all devices; refusals stay."""
        by_id = {message.metadata.message_id: message for message in messages}
        for answer in self._inner.deliver(list(by_id.values())):
            device, honest = answer.metadata.src_node_id - 1, read_reply(answer)
            if device in self._liars and isinstance(honest, tuple):
                message = by_id[answer.metadata.reply_to_message_id]
                query = Query.from_bytes(query_of(read_query(message)))
                yield reply(Report(self._lie(query, device), honest[1].replayed), message, device=device)
            else:
                yield answer

    def _lie(self, query: Query, device: int) -> bytes:
        record = self._people.record(device)
        return pack_report(tuple(
            pack_parts(
                worst_report(each, record, device, query.grouping)
                for each in ask.mechanisms
            )
            for ask in query.asks
        ))  # fmt: skip


def worst_report(mechanism: Mechanism, record: Record, device: int, grouping: Grouping = None) -> bytes:
    """Return the bytes of the report that speaks most strongly for what a record says.

    Where a report without noise has no form it is, of some reports that are drawn about the record, the likeliest one.
    """
    numbers = np.array([device])
    value = mechanism.values(records_by_column([record]), numbers, grouping)
    if isinstance(mechanism, OneBit):
        return mechanism.encode(value > (mechanism.low + mechanism.high) / 2, numbers)[0]
    a_bit_each = isinstance(mechanism, AdjacencyBits) and mechanism.flip_probability is not None
    if a_bit_each or mechanism.in_clear or isinstance(mechanism, NoisyCounts | GRRFS):
        return mechanism.encode(value, numbers)[0]
    noise = Noise([derive_key(bytes(32), b"worst report", device.to_bytes(8, "little"))])
    drawn = [mechanism.draw(value, noise) for _ in range(_DRAWS)]
    likeliest = max(drawn, key=lambda report: mechanism.log_probability(report[0], value[0]))
    return mechanism.encode(likeliest, numbers)[0]
