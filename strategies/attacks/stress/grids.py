"""Grid for devices without a ledger, with Flower's order of reading and writing state.

Flower 1.41 treats ``Context.state`` as follows (each line measured on its own runtimes):

- one message after another in one run: the second sees the state of the first;
- several messages at once to one node, simulation runtime: all start from one copy, and the
  copy that is written last stays (``copy-then-write``);
- another ``flwr run``: the state starts empty, because each run has its own.

The work of the simulation runtime grows with the square of the number of clients. So this
module follows the three rules in this process.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Literal

from flwr.app import Context, Message, RecordDict, UserConfig

from ldpsim.strategies.attacks.stress.protections import UnguardedApp
from ldpsim.strategies.engines.grids import DirectGrid

Order = Literal["serial", "copy-then-write"]


class UnguardedGrid(DirectGrid):
    """Grid of one run whose nodes run an :class:`UnguardedApp` under Flower's rules for ``Context.state``.

    Args:
        app: The client app.
        size: Number of nodes.
        order: Order in which messages that are sent together read and write the state of their node.
    """

    def __init__(self, app: UnguardedApp, size: int, *, order: Order = "serial") -> None:
        super().__init__(size)
        self._app = app
        self._order = order
        self._states: dict[int, RecordDict] = {}

    def deliver(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Let the app answer, message by message."""
        written: dict[int, RecordDict] = {}
        for message in messages:
            node = message.metadata.dst_node_id
            state = self._states.get(node) or RecordDict()
            if self._order == "copy-then-write":
                state = copy.copy(state)
            config: UserConfig = {"partition-id": node - 1, "num-partitions": self.size}
            context = Context(message.metadata.run_id, node, config, state, {})
            yield self._app(message, context)
            if not context.state:
                continue
            if self._order == "serial":
                self._states[node] = context.state
            else:
                written[node] = context.state
        self._states |= written
