"""The curator that asks again: a Flower strategy that every adversary here is a kind of."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from inspect import signature
from typing import ClassVar

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from devices.device import Refusal, unpack_report
from devices.facts import PublicFacts
from devices.mechanisms.base import Mechanism
from devices.query import Ask, Query
from devices.wire import QUERY_TYPE, query_content, read_reply
from strategies.adversaries.outcome import Outcome, Release
from strategies.adversaries.target import Target


@dataclass(frozen=True)
class Shot:
    """What one round sends.

    Args:
        query: The question, or None for content that is none.
        content: The message's content; None makes it from the query.
        kind: The message's type.
        devices: Who gets it; None for everybody.
    """

    query: Query | None = None
    content: RecordDict | None = None
    kind: str = QUERY_TYPE
    devices: range | None = None


class AdversarialCurator(Strategy):
    """A curator who sends whatever :meth:`rounds` says and keeps whatever comes back.

    Args:
        target: The devices.
        asks: How many times it asks, where that is free.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    covered: ClassVar[bool] = True

    def __init__(self, target: Target, *, asks: int = 25) -> None:
        self.target = target
        self.asks = asks
        self.outcome = Outcome(self.name)
        self.epoch = 0
        self._planned: list[list[Shot]] = []
        self._sent: list[tuple[Message, Query | None]] = []

    @abstractmethod
    def runs(self) -> Iterator[list[list[Shot]]]:
        """Yield runs; a run is a list of rounds, and what a round lists is sent at once."""

    def attack(self) -> Outcome:
        """Do it all, and return what was learned."""
        for rounds in self.runs():
            with self.target.run() as grid:
                self.fire(grid, rounds)
        return self.outcome

    def fire(self, grid: Grid, rounds: list[list[Shot]]) -> None:
        """Send the rounds of one run under Flower's ``Strategy.start``."""
        self._planned = rounds
        self.start(grid, ArrayRecord(), num_rounds=len(rounds))

    def summary(self) -> None:
        """Print nothing."""

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return this round's messages."""
        self._sent = []
        for shot in self._planned[server_round - 1]:
            content = shot.content
            if content is None:
                content = query_content(shot.query) if shot.query is not None else RecordDict()
            for device in shot.devices or range(self.target.devices):
                message = Message(content, device + 1, shot.kind, group_id=str(server_round))
                self._sent.append((message, shot.query))
        self.outcome.messages += len(self._sent)
        return [message for message, _ in self._sent]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Keep what the devices said."""
        asked = {message.metadata.message_id: (message, query) for message, query in self._sent}
        for reply in replies:
            message, query = asked[reply.metadata.reply_to_message_id]
            self.hear(reply, message.metadata.dst_node_id - 1, query)
        return None, None

    def hear(self, reply: Message, device: int, query: Query | None) -> None:
        """Note one reply to a message to ``device``."""
        if reply.has_error():
            self.outcome.texts.add(reply.error.reason or "")
        answer = read_reply(reply)
        if isinstance(answer, Refusal):
            self.outcome.answers[answer.name] += 1
        elif answer is None:
            self.outcome.answers["other"] += 1
            self.outcome.unasked += reply.has_content()
        else:
            report = answer[1]
            self.outcome.answers["replayed" if report.replayed else "reported"] += 1
            try:
                if query is None:
                    raise ValueError("a report came back for no question")
                parts = unpack_report(report.data, query)
            except ValueError:
                self.outcome.unasked += 1
                return
            self.outcome.add(Release(device, query, name, part, self.epoch) for name, part in parts.items())

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask nothing more."""
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Nothing was asked."""
        return None


def recollected(query: Query, collection: str) -> Query:
    """The same question under another collection id."""
    return replace(query, collection=collection)


def rebudgeted(query: Query, factor: float, facts: PublicFacts) -> Query:
    """The same question at about ``factor`` times its budget; mechanisms without a budget stay as they are."""
    if factor == 1:
        return query
    plan = tuple(
        tuple(Ask(ask.attribute, tuple(_rebudgeted(m, factor, facts) for m in ask.mechanisms)) for ask in stage)
        for stage in query.plan
    )
    return replace(query, plan=plan)


def _rebudgeted(mechanism: Mechanism, factor: float, facts: PublicFacts) -> Mechanism:
    make = getattr(type(mechanism), "from_epsilon", None)
    loss = mechanism.loss()
    if make is None or not 0 < loss.vector < math.inf:
        return mechanism
    given = {key: getattr(mechanism, key) for key in signature(make).parameters if hasattr(mechanism, key)}
    if "facts" in signature(make).parameters:
        given["facts"] = facts
    if loss.delta:
        given["delta"] = loss.delta
    # Some take the loss of a bit, some that of the vector: the one that gives this mechanism back.
    for epsilon in (loss.vector, loss.bit):
        with suppress(TypeError, ValueError):  # an installed mechanism with other arguments, a budget it cannot have
            if math.isclose(make(epsilon, **given).loss().vector, loss.vector, rel_tol=1e-3):
                made = make(epsilon * factor, **given)
                return made if isinstance(made, Mechanism) else mechanism
    return mechanism
