"""Clients without a ledger, for comparison only, and a Grid with Flower's order of reading and writing their state.

``none`` is an app that draws fresh noise for every message, as a stateless client does. ``context-state`` is the same
app, which keeps its answer in Flower's ``Context.state``. They have no state folder, no policy and no ledger.

Flower 1.41 treats ``Context.state`` as follows (each line measured on its own runtimes):

- one message after another in one run: the second sees the state of the first;
- several messages at once to one node, simulation runtime: all start from one copy, and the copy that is written last
  stays;
- another ``flwr run``: the state starts empty, because each run has its own.

The work of the simulation runtime grows with the square of the number of clients. So the Grid follows the three rules
in this process.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator

from flwr.app import ConfigRecord, Context, Message, RecordDict, UserConfig

from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.noise import Noise, derive_key
from ldpsim.devices.query import InvalidQuery, Query
from ldpsim.devices.report import Report, pack_parts, pack_report
from ldpsim.devices.wire import read_query, reply
from ldpsim.strategies.engines.grids import DirectGrid

_GUARD = "answered"


class UnguardedApp:
    """Client app without a ledger. It answers every ``query.report`` message.

    Args:
        population: The people whose data it reports.
        seed: Seed of the noise; every message takes the next key.
        guarded: Whether it keeps its answer in ``Context.state``.
    """

    def __init__(self, population: Population, *, seed: int, guarded: bool) -> None:
        self._population = population
        self._secret = derive_key(seed.to_bytes(16, "little", signed=True), b"ldpsim stress")
        self._guarded = guarded
        self._drawn = 0

    def __call__(self, message: Message, context: Context) -> Message:
        """Answer a message; ``context`` is Flower's, with this node's state of this run."""
        device = int(context.node_config["partition-id"])
        try:
            query = Query.from_bytes(read_query(message))
        except InvalidQuery:
            return reply(Refusal.UNKNOWN_QUERY, message, device=device)
        question = b"".join(query.question(ask.attribute) for ask in query.asks)
        if self._guarded and _GUARD in context.state:
            first = context.state[_GUARD]
            assert isinstance(first, ConfigRecord)
            if first["question"] != question:
                return reply(Refusal.REPORT_COLLECTED, message, device=device)
            data = first["report"]
            assert isinstance(data, bytes)
            return reply(Report(data, replayed=True), message, device=device)
        data = self._draw(query, device)
        if self._guarded:
            context.state[_GUARD] = ConfigRecord({"question": question, "report": data})
        return reply(Report(data, replayed=False), message, device=device)

    def _draw(self, query: Query, device: int) -> bytes:
        people, parts = [self._population.record(device)], []
        for ask in query.asks:
            self._drawn += 1
            key = derive_key(self._secret, self._drawn.to_bytes(8, "little"))
            drawn = [
                mechanism.respond(people, Noise([key], stream), devices=[device], grouping=query.grouping)[0]
                for stream, mechanism in enumerate(ask.mechanisms)
            ]
            parts.append(pack_parts(drawn))
        return pack_report(tuple(parts))


class UnguardedGrid(DirectGrid):
    """Grid of one run whose nodes run an :class:`UnguardedApp` under Flower's rules for ``Context.state``.

    Args:
        app: The client app.
        size: Number of nodes.
        at_once: Whether messages that are sent together start from one copy of their node's state.
    """

    def __init__(self, app: UnguardedApp, size: int, *, at_once: bool = False) -> None:
        super().__init__(size)
        self._app, self._at_once = app, at_once
        self._states: dict[int, RecordDict] = {}

    def deliver(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Let the app answer, message by message."""
        written: dict[int, RecordDict] = {}
        for message in messages:
            node = message.metadata.dst_node_id
            state = self._states.get(node) or RecordDict()
            if self._at_once:
                state = copy.copy(state)
            config: UserConfig = {"partition-id": node - 1, "num-partitions": self.size}
            context = Context(message.metadata.run_id, node, config, state, {})
            yield self._app(message, context)
            if context.state:
                (written if self._at_once else self._states)[node] = context.state
        self._states |= written
