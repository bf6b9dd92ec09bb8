"""Messages of a collection: made as they are sent, and one for many devices of a ledger file."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

import numpy as np
from flwr.app import Message, RecordDict

from ldpsim.curator.methods.base import Question
from ldpsim.curator.reports.decoding import Decoder
from ldpsim.curator.reports.digest import ReportsDigest
from ldpsim.curator.reports.exclusion import silenced
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.enrolment.state import SHARD
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.wire import REPORTS_TYPE, ReportColumns, batch_content

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
            messages = self._messages()
            if place == len(messages):
                messages.extend(itertools.islice(self._new, 1))
            if place == len(messages):
                return
            yield messages[place]

    def once(self) -> Iterator[Message]:
        """Yield the messages and keep none of them; nobody can read them afterwards (RuntimeError)."""
        messages, self._kept = self._messages(), None
        yield from messages
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


class Streamed:
    """Reports of a collection of one stage and one part.

    Args:
        facts: Sizes, ranges and domains.
        questions: The questions.
    """

    def __init__(self, facts: PublicFacts, questions: Sequence[Question]) -> None:
        self._decoder = Decoder(facts, questions)
        self._digest = ReportsDigest()
        self._came = np.zeros(facts.n, np.bool_)
        self._waiting: list[ReportColumns] = []
        self._first_waiting = facts.n  # number of the first device that waits

    def has(self, devices: int | IntArray) -> bool:
        """Return whether the report of a device, or of one of several, came."""
        return bool(np.any(self._came[devices]))

    def take(self, reports: ReportColumns) -> None:
        """Take the reports of devices that :meth:`has` does not know."""
        self._came[reports.devices] = True
        self._waiting.append(reports)
        self._first_waiting = min(self._first_waiting, int(reports.devices[0]))

    @property
    def waiting(self) -> int:
        """Number of reports that wait for those of devices before them."""
        return sum(len(some.devices) for some in self._waiting)

    def settle(self, below: int) -> None:
        """Decode the reports of the devices below this number; no other one of these will come."""
        if below <= self._first_waiting:  # a message to one device brings one report: not all are looked at each time
            return
        cut = [some.cut(below) for some in self._waiting]
        self._waiting = [rest for _, rest in cut if len(rest.devices)]
        self._first_waiting = min((int(rest.devices[0]) for rest in self._waiting), default=self._decoder.facts.n)
        ready = [some for some, _ in cut if len(some.devices)]
        if not ready:
            return
        devices, reports = _in_order([(some.devices, some.reports) for some in ready])
        self._digest.add(dict(zip(devices, reports, strict=True)))
        for attribute, ask in self._decoder.asks.items():
            own = [(some.devices, some.parts[attribute]) for some in ready if attribute in some.parts]
            for place in range(len(ask.mechanisms)):
                self._decoder.add_part(attribute, place, *_in_order([(who, parts[place]) for who, parts in own]))

    def done(self) -> tuple[Reports, str, list[int]]:
        """Return the decoded reports, the digest of all bytes, and the devices whose bytes are malformed.

        Those devices have no report.

        Raises:
            ValueError: for an answer of a device that was not asked.
        """
        facts = self._decoder.facts
        self.settle(facts.n)
        reports, wrong = Reports.decoded(self._decoder)
        return silenced(reports, np.isin(np.arange(facts.n), list(wrong))), self._digest.hexdigest(), sorted(wrong)


def _in_order(columns: Sequence[tuple[IntArray, Sequence[bytes]]]) -> tuple[list[int], Sequence[bytes]]:
    """Return the devices of several groups in rising order, and the value of each."""
    if not columns:
        return [], []
    devices = np.concatenate([who for who, _ in columns])
    values = columns[0][1] if len(columns) == 1 else list(chain.from_iterable(part for _, part in columns))
    if np.all(devices[1:] > devices[:-1]):
        return devices.tolist(), values
    order = np.argsort(devices)
    return devices[order].tolist(), [values[place] for place in order.tolist()]
