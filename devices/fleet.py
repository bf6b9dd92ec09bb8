"""Many devices in one process: one commit a batch, before any reply leaves.

The fleet hands every message to the ClientApp itself, one by one, inside one ledger
transaction. If the transaction fails, nothing was released, and every message of the
batch is answered so. Rounds of a federated training are computed for all devices of a
batch at once (:mod:`devices.participation`), with the results they have one by one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from flwr.app import Context, Message, RecordDict, UserConfig

from devices.client_app import app, open_state
from devices.device import Refusal
from devices.enrolment import SHARD
from devices.ledger import LedgerDamaged
from devices.participation import TOGETHER, answer_together
from devices.wire import reply

BATCH = 512


class Fleet:
    """Answers messages for the devices of one state folder.

    Args:
        folder: An enrolled state folder.
        batch: How many messages share a commit.
    """

    def __init__(self, folder: Path, *, batch: int = BATCH) -> None:
        self.folder = folder
        self.batch = batch

    def answer(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Yield the replies; those of a batch leave after its commit.

        The device of a message is the node it is sent to: node id - 1 is the partition id.
        """
        iterator = iter(messages)
        while chunk := list(islice(iterator, self.batch)):
            shards: dict[int, list[Message]] = {}
            for message in chunk:
                shards.setdefault((message.metadata.dst_node_id - 1) // SHARD, []).append(message)
            for shard, group in shards.items():
                yield from self._answer_batch(shard, group)

    def _answer_batch(self, shard: int, messages: Sequence[Message]) -> list[Message]:
        nobody = RecordDict()
        replies: list[Message] = []
        try:
            state = open_state(str(self.folder), os.getpid())
            # The handlers keep nothing of a context, so one serves the whole batch.
            config: UserConfig = {"state-dir": str(self.folder), "num-partitions": len(state)}
            context = Context(messages[0].metadata.run_id, 0, config, nobody, {})
            with state.ledger(shard * SHARD).transaction():
                if messages[0].metadata.message_type in TOGETHER:
                    return list(answer_together(state, messages))
                for message in messages:
                    context.node_id = node = message.metadata.dst_node_id
                    config["partition-id"] = node - 1
                    replies.append(app(message, context))
        except (LedgerDamaged, ValueError, OSError):
            return [reply(Refusal.LEDGER_DAMAGED, message, device=-1) for message in messages]
        return replies
