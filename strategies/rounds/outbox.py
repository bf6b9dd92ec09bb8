"""Messages of a collection: made as they are sent, and one for many devices of a ledger file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from flwr.app import Message

from devices.array_types import IntArray
from devices.enrolment.state import SHARD
from devices.fleet import BATCH


class Outbox:
    """Messages that are made as they are sent; their number is known.

    Args:
        count: Their number.
        messages: The messages, once.
    """

    def __init__(self, count: int, messages: Iterator[Message]) -> None:
        self._count = count
        self._messages = messages

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Message]:
        return self._messages


def batches_of(devices: IntArray) -> Iterator[IntArray]:
    """Yield the devices, in rising order, in groups of one shard and at most :data:`BATCH`."""
    devices = np.sort(devices)
    for shard in np.split(devices, np.flatnonzero(np.diff(devices // SHARD)) + 1):
        yield from (shard[first : first + BATCH] for first in range(0, len(shard), BATCH))
