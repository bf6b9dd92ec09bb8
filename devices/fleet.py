"""Many devices in one process: one commit a batch, before any reply leaves.

A message that names many devices is a batch of its own (:mod:`ldpsim.devices.answer_many`). Other
messages the fleet hands to the ClientApp one by one, inside one ledger transaction. If
the transaction fails, nothing was released, and every message of the batch is answered
``LEDGER_DAMAGED``. Where the counter, advanced after the commit, shows that a device's ledger
is a copy, that device answers ``COUNTER_MISMATCH`` and the others go on. Rounds of a federated
training are computed for all devices of a batch at once
(:mod:`ldpsim.devices.federated.participation`), with the results they have one by one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby, islice
from pathlib import Path

from flwr.app import Context, Message, RecordDict, UserConfig

from ldpsim.devices.client_app import HOSTS_SHARD, app, open_state
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import SHARD, State
from ldpsim.devices.federated.participation import TOGETHER, answer_batch
from ldpsim.devices.ledger.ledger import CounterMismatch, LedgerDamaged
from ldpsim.devices.wire import REPORTS_TYPE, reply

BATCH = 512
MOST_OPEN = 8  # ledgers; each one has three files and a cache of pages


class Fleet:
    """Answers messages for the devices of one state folder.

    Args:
        folder: An enrolled state folder.
        batch: How many messages share a commit.
    """

    def __init__(self, folder: Path, *, batch: int = BATCH, pool: object = None) -> None:
        self.folder = folder
        self.batch = batch
        self._recent: dict[int, None] = {}  # shards in the order of their last batch

    def answer(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Yield the replies; those of a batch leave after its commit.

        The device of a message is the node it is sent to: node id - 1 is the partition id.
        """
        for is_batch, run in groupby(messages, key=lambda message: message.metadata.message_type == REPORTS_TYPE):
            if is_batch:
                for message in run:
                    self._keep_open(_device_of(message) // SHARD)
                    node = message.metadata.dst_node_id
                    config: UserConfig = {"state-dir": str(self.folder), "partition-id": node - 1, HOSTS_SHARD: True}
                    yield app(message, Context(message.metadata.run_id, node, config, RecordDict(), {}))
                continue
            while chunk := list(islice(run, self.batch)):
                shards: dict[int, list[Message]] = {}
                for message in chunk:
                    shards.setdefault(_device_of(message) // SHARD, []).append(message)
                for shard, group in shards.items():
                    self._keep_open(shard)
                    yield from self._answer_batch(shard, group)

    def _keep_open(self, shard: int) -> None:
        """Note that a shard's ledger is used, and close those that were not for the longest time."""
        self._recent.pop(shard, None)
        self._recent[shard] = None
        while len(self._recent) > MOST_OPEN:
            last = next(iter(self._recent))
            del self._recent[last]
            with suppress(ValueError, OSError):  # a folder that cannot be opened has no ledger open
                open_state(str(self.folder), os.getpid()).close(last)

    def _answer_batch(self, shard: int, messages: Sequence[Message]) -> list[Message]:
        try:
            state = open_state(str(self.folder), os.getpid())
            together = _first_of_a_training(state, messages)
            try:
                return self._answer(state, shard, together, messages)
            except LedgerDamaged:
                raise
            except Exception:
                if not together:
                    raise
                # A malformed training message. Nothing was committed, so all are answered again, one by
                # one: that message gets a fixed refusal, and the others their own answers.
                return self._answer(state, shard, [], messages)
        except (LedgerDamaged, ValueError, OSError):
            return [reply(Refusal.LEDGER_DAMAGED, message, device=-1) for message in messages]

    def _answer(
        self, state: State, shard: int, together: Sequence[Message], messages: Sequence[Message]
    ) -> list[Message]:
        # The handlers keep nothing of a context, so one serves the whole batch.
        config: UserConfig = {"state-dir": str(self.folder), "num-partitions": len(state)}
        context = Context(messages[0].metadata.run_id, 0, config, RecordDict(), {})
        at_once = {id(message) for message in together}
        replies: list[Message] = []
        devices = {_device_of(message) for message in messages}
        try:
            with state.ledger(shard * SHARD).transaction(devices):
                replies += answer_batch(state, together)
                for message in messages:
                    if id(message) not in at_once:
                        context.node_id = node = message.metadata.dst_node_id
                        config["partition-id"] = node - 1
                        replies.append(app(message, context))
        except CounterMismatch as error:  # the transaction is committed, but nothing of these devices may leave
            lost = {device + 1 for device in error.devices}
            replies = [answer for answer in replies if answer.metadata.src_node_id not in lost]
            asked = [message for message in messages if message.metadata.dst_node_id in lost]
            replies += [reply(Refusal.of(error), message, device=_device_of(message)) for message in asked]
        return replies


def _device_of(message: Message) -> int:
    return message.metadata.dst_node_id - 1


def _first_of_a_training(state: State, messages: Sequence[Message]) -> list[Message]:
    """Return the messages that are computed at once: one a device, and only of devices that train."""
    if state.policy.mode != "federated":
        return []
    found: dict[int, Message] = {}
    for message in messages:
        index = _device_of(message)
        if message.metadata.message_type in TOGETHER and 0 <= index < len(state):
            found.setdefault(index, message)
    return list(found.values())
