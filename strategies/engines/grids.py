"""Grids that take messages to devices without Flower's runtime.

Flower's ``Grid`` is a public abstract class. :class:`LocalGrid` gives messages to a fleet in this process, which may
draw reports in others. It runs under the unmodified ``Strategy.start``. The node id is the partition id plus 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from flwr.app import Context, Message, RecordDict, UserConfig
from flwr.serverapp import Grid

from ldpsim.curator.steps import track
from ldpsim.devices.client_app import app
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.federated.messages import RoundAnswers, RoundQuestions
from ldpsim.devices.fleet import DrawPool, Fleet
from ldpsim.strategies.engines.flower_private import assume_identity, set_message_id
from ldpsim.strategies.rounds.messages import Outbox

RUN_ID = 1


class DirectGrid(Grid):
    """Base of the grids: it numbers messages and keeps replies until they are pulled."""

    def __init__(self, size: int) -> None:
        assume_identity(run_id=RUN_ID)
        self.size = size
        self._numbers = itertools.count(1)
        self._replies: dict[str, Message] = {}
        self._run: Any = None

    @property
    def takes_batches(self) -> bool:
        """Whether a node takes one message for many devices of its shard (:data:`ldpsim.devices.wire.REPORTS_TYPE`)."""
        return False

    def deliver(self, messages: Iterable[Message]) -> Iterable[Message]:
        """Take messages to their devices and return the replies."""
        raise NotImplementedError

    def close(self) -> None:
        """Give up what is open."""

    def set_run(self, run: Any) -> None:
        """Set the run."""
        self._run = run

    @property
    def run(self) -> Any:
        """Run of this grid; RuntimeError if none was set."""
        if self._run is None:
            raise RuntimeError("this grid was given no run")
        return self._run

    def create_message(
        self, content: RecordDict, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Message:
        """Build a message to a node."""
        return Message(content, dst_node_id, message_type, group_id=group_id, ttl=ttl)

    def get_node_ids(self) -> Iterable[int]:
        """Return the ids of all nodes."""
        return range(1, self.size + 1)

    def _number(self, messages: Iterable[Message]) -> Iterator[Message]:
        for message in messages:
            self._stamp(message)
            yield message

    def _stamp(self, message: Message) -> None:
        self._check_nodes([message.metadata.dst_node_id])
        set_message_id(message, str(next(self._numbers)))

    def _check_nodes(self, nodes: Iterable[int]) -> None:
        for node in nodes:
            if not 1 <= node <= self.size:
                raise ValueError(f"there is no node {node}")

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Deliver messages and keep their replies."""
        numbered = list(self._number(messages))
        for answer in self.deliver(numbered):
            self._replies[answer.metadata.reply_to_message_id] = answer
        return [message.metadata.message_id for message in numbered]

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Return the replies to these messages that were not pulled before."""
        return [self._replies.pop(key) for key in message_ids if key in self._replies]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        """Deliver all messages and return the replies.

        The questions of a round are delivered as they are: a device in this process needs no message. An outbox is read
        once where a message may go to many devices: its messages are made and delivered as the replies are read. Other
        messages are delivered at once. ``timeout`` has no effect: every device that is asked here answers.
        """
        if self.takes_batches and isinstance(messages, Outbox):
            return track(self.deliver(self._number(messages.once())), len(messages))
        if isinstance(messages, RoundQuestions):
            self._check_nodes(messages.nodes)
            messages.stamp(self._stamp)
            replies = self.deliver(messages)
            return replies if isinstance(replies, RoundAnswers) else list(track(replies, len(messages)))
        numbered = list(self._number(messages))
        return list(track(self.deliver(numbered), len(numbered)))


class LocalGrid(DirectGrid):
    """Grid of all devices of a state folder, in this process.

    Args:
        folder: State folder.
        size: Number of devices.
        pool: Where reports are drawn; None: in this process.
    """

    def __init__(self, folder: Path, size: int, pool: DrawPool | None = None) -> None:
        super().__init__(size)
        self._fleet = Fleet(State(folder), pool=pool)

    @property
    def takes_batches(self) -> bool:
        """True; False for a class that handles the messages itself."""
        own = type(self)
        return own.deliver is LocalGrid.deliver and own.send_and_receive is DirectGrid.send_and_receive

    def deliver(self, messages: Iterable[Message]) -> Iterable[Message]:
        """Let the fleet answer."""
        return self._fleet.answer(messages)

    def close(self) -> None:
        """Close the ledgers of the devices."""
        self._fleet.state.close()


class SiloGrid(DirectGrid):
    """Grid of silos in this process. Node k + 1 is the silo of the folder ``silo-k``."""

    def __init__(self, folder: Path, size: int) -> None:
        super().__init__(size)
        self._folder = folder

    def deliver(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Let the silos' ClientApp answer, one after another."""
        for message in messages:
            node = message.metadata.dst_node_id
            config: UserConfig = {"silo-dir": str(self._folder / f"silo-{node - 1}"), "partition-id": node - 1}
            yield app(message, Context(message.metadata.run_id, node, config, RecordDict(), {}))
