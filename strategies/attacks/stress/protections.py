"""Protections against a second answer, for the comparison of ``ldpsim stress``.

``refuse``, ``replay`` and ``pinned`` are real devices with real ledgers; their code is elsewhere.
``pinned`` ones refuse too, and answer only questions that their collector signed. The others are
clients without a ledger, for comparison only:

- ``none``: an app that draws fresh noise for every message, as a stateless client does;
- ``context-state``: the same app, which keeps its answer in Flower's ``Context.state``.

They have no state folder, no policy and no ledger. They take their records from the population
in memory, and only :class:`ldpsim.strategies.attacks.stress.grids.UnguardedGrid` reaches them.
"""

from __future__ import annotations

from flwr.app import ConfigRecord, Context, Message

from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.noise import NoiseStream, derive_key
from ldpsim.devices.query import InvalidQuery, Query
from ldpsim.devices.report import Report, pack_parts, pack_report
from ldpsim.devices.wire import read_query, reply

GUARDED, PINNED = "context-state", "pinned"
PROTECTIONS = ("none", GUARDED, "refuse", "replay", PINNED)
REAL = ("refuse", "replay", PINNED)
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
            kept = context.state[_GUARD]
            assert isinstance(kept, ConfigRecord)
            if kept["question"] != question:
                return reply(Refusal.REPORT_COLLECTED, message, device=device)
            data = kept["report"]
            assert isinstance(data, bytes)
            return reply(Report(data, replayed=True), message, device=device)
        data = self._draw(query, device)
        if self._guarded:
            context.state[_GUARD] = ConfigRecord({"question": question, "report": data})
        return reply(Report(data, replayed=False), message, device=device)

    def _draw(self, query: Query, device: int) -> bytes:
        record = self._population.record(device)
        answers = []
        for ask in query.asks:
            self._drawn += 1
            key = derive_key(self._secret, self._drawn.to_bytes(8, "little"))
            answers.append(
                pack_parts(
                    mechanism.respond([record], [NoiseStream(key, stream)], devices=[device], grouping=query.grouping)[
                        0
                    ]
                    for stream, mechanism in enumerate(ask.mechanisms)
                )
            )
        return pack_report(tuple(answers))
