"""Messages of a collection: made as they are sent, and one for many devices of a ledger file."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from flwr.app import Message, RecordDict

from ldpsim.devices.array_types import IntArray
from ldpsim.devices.enrolment.state import SHARD
from ldpsim.devices.wire import REPORTS_TYPE, batch_content

Planned = tuple[RecordDict, str, IntArray]  # content and type of a message, or of several, and their devices


class Outbox:
    """Messages of a round, which may be read any number of times; their number is known.

    Flower's ``HttpGrid`` reads the messages twice: first it gives each one its id, then it sends them. So
    reading keeps the messages, and gives the same ones again. A million messages to one device each take
    0.9 GiB, so a grid that reads them one time only says so (:meth:`once`).

    Args:
        plan: What is sent. A message to many devices goes to the node of the first one.
        nodes: Flower's node id by device.
        group: Group of the messages; that of a message to many devices has its place in the plan as well. That of
            another message has a secret: Flower knows a message by a hash of it, and takes the reply of whoever
            names the hash and the node that was asked.
    """

    def __init__(self, plan: Sequence[Planned], nodes: Mapping[int, int] | Sequence[int], group: str) -> None:
        self._plan, self._nodes, self._group = plan, nodes, group
        self.batches: dict[str, tuple[int, IntArray]] = {}  # node and devices of each message to many, until its reply
        self._sent_to = 0
        self._kept: list[Message] | None = []  # None: they were given away
        self._new = self._make()

    def __len__(self) -> int:
        return sum(1 if kind == REPORTS_TYPE else len(devices) for _, kind, devices in self._plan)

    def __iter__(self) -> Iterator[Message]:
        for place in itertools.count():
            kept = self._messages()
            if place == len(kept):
                kept.extend(itertools.islice(self._new, 1))
            if place == len(kept):
                return
            yield kept[place]

    def once(self) -> Iterator[Message]:
        """Yield the messages and keep none of them; nobody can read them afterwards (RuntimeError)."""
        kept, self._kept = self._messages(), None
        yield from kept
        yield from self._new

    def _messages(self) -> list[Message]:
        if self._kept is None:
            raise RuntimeError("the messages of this round were read once, and are not kept")
        return self._kept

    def _make(self) -> Iterator[Message]:
        for place, (content, kind, devices) in enumerate(self._plan):
            if kind == REPORTS_TYPE:
                first = int(devices[0])
                number, node = f"{self._group}.{place}", self._nodes[first]
                self.batches[number] = node, devices
                self._sent_to = first
                yield Message(batch_content(content, devices), node, kind, group_id=number)
                continue
            for device in devices.tolist():
                yield Message(content, self._nodes[device], kind, group_id=f"{self._group}.{secrets.token_hex(16)}")

    @property
    def answered_below(self) -> int:
        """The device below which every one that was asked in a batch answered; the batches are in rising order."""
        waited = next(iter(self.batches.values()), None)
        return self._sent_to if waited is None else int(waited[1][0])


def batches_of(devices: IntArray) -> Iterator[IntArray]:
    """Yield the devices of each shard, in rising order: a ledger has one transaction at a time."""
    devices = np.sort(devices)
    shards = np.split(devices, np.flatnonzero(np.diff(devices // SHARD)) + 1)
    yield from (shard for shard in shards if len(shard))
