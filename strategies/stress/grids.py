"""Where the messages to devices without a ledger go: Flower's order of reading and writing state.

What Flower 1.41 does with ``Context.state`` (each line measured on its own runtimes):

- one message after another in one run: the second sees what the first left;
- several messages at once to one node, simulation runtime: all start from one copy, and
  the last writer's copy is kept (``copy-then-write``);
- another ``flwr run``: the state starts empty, since it is kept by run.

The simulation runtime itself is quadratic in its clients, so these three rules are
replayed here, in this process.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from flwr.app import Context, Message, RecordDict, UserConfig

from strategies.engines.grids import LocalGrid
from strategies.stress.protections import UnguardedApp

Order = Literal["serial", "copy-then-write"]


class UnguardedGrid(LocalGrid):
    """A grid whose nodes run an :class:`UnguardedApp` under Flower's rules for ``Context.state``.

    Args:
        app: The client app.
        size: Number of nodes.
        order: How messages that are pushed together meet the state of their node.
    """

    def __init__(self, app: UnguardedApp, size: int, *, order: Order = "serial") -> None:
        super().__init__(Path(), size)
        self._app = app
        self._order = order
        self._states: dict[int, RecordDict] = {}

    def new_run(self) -> None:
        """Begin another run on the same nodes: every state starts empty."""
        self._states.clear()

    def deliver(self, messages: Sequence[Message]) -> Iterator[Message]:
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


def start_run(grid: LocalGrid) -> None:
    """Begin another run on a grid: real devices have nothing that a run could renew."""
    if isinstance(grid, UnguardedGrid):
        grid.new_run()


def batches(devices: int, asks: int, *, most: int = 1 << 15) -> Iterable[range]:
    """Slices of devices such that ``asks`` messages to each are at most ``most`` together."""
    width = max(1, most // asks)
    return (range(first, min(first + width, devices)) for first in range(0, devices, width))
