"""Base of the adversaries: a Flower strategy that asks devices again and keeps their answers."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from inspect import signature
from typing import ClassVar

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid

from ldpsim.devices.device import Refusal
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import NeighbourhoodVote
from ldpsim.devices.mechanisms.base import Mechanism
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report, unpack_report
from ldpsim.devices.wire import QUERY_TYPE, query_content, read_reply
from ldpsim.strategies.attacks.adversaries.attack_result import AttackResult, Release
from ldpsim.strategies.attacks.adversaries.target import Target
from ldpsim.strategies.rounds.collect_once import ReportStrategy


@dataclass(frozen=True)
class Shot:
    """One message to several devices.

    Args:
        query: The question; None for content that is no question.
        content: Content of the message; None makes it from the query.
        kind: Type of the message.
        devices: Devices that get it; None for all.
        times: Number of copies that a device gets, one after another.
        signed: Whether the collector of the devices signs it, where they pin one.
    """

    query: Query | None = None
    content: RecordDict | None = None
    kind: str = QUERY_TYPE
    devices: range | None = None
    times: int = 1
    signed: bool = True


Runs = Iterator[list[list[Shot]]]  # a run is a list of rounds; the messages of a round are sent together


class AdversarialCurator(ReportStrategy):
    """Curator that sends the messages of :meth:`runs` and keeps all replies.

    Its class attributes are a row of the threat model: ``covered`` says that a device with the
    published app gives at most one release of each attribute, within its policy. ``loss`` is the
    loss of a person as a multiple of the one-query bound ("1x"), and ``test`` shows it.

    Args:
        target: The devices.
        asks: Number of asks, for adversaries that ask as often as they like.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    covered: ClassVar[bool] = True
    loss: ClassVar[str] = "1x"
    test: ClassVar[str] = "tests/strategies/attacks/adversaries/test_adversaries.py::test_nobody_gets_a_second_answer"

    def __init__(self, target: Target, *, asks: int = 25) -> None:
        self.target = target
        self.asks = asks
        self.outcome = AttackResult(self.name)
        self.epoch = 0
        self._planned: list[list[Shot]] = []
        self._sent: list[tuple[Message, Query | None]] = []

    @abstractmethod
    def runs(self) -> Runs:
        """Yield the runs."""

    def attack(self) -> AttackResult:
        """Carry out all runs and return what was learned."""
        for rounds in self.runs():
            with self.target.run() as grid:
                self.fire(grid, rounds)
        return self.outcome

    def fire(self, grid: Grid, rounds: list[list[Shot]]) -> None:
        """Send the rounds of one run under Flower's ``Strategy.start``."""
        self._planned = rounds
        self.start(grid, ArrayRecord(), num_rounds=len(rounds))

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return this round's messages."""
        self._sent = []
        for shot in self._planned[server_round - 1]:
            content = shot.content
            if content is None:
                terms = self.target.terms_for(shot.query) if shot.signed and shot.query is not None else None
                content = query_content(shot.query, terms) if shot.query is not None else RecordDict()
            for device in shot.devices or range(self.target.devices):
                for _ in range(shot.times):
                    message = Message(content, device + 1, shot.kind, group_id=str(server_round))
                    self._sent.append((message, shot.query))
        self.outcome.messages += len(self._sent)
        return [message for message, _ in self._sent]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Keep the devices' answers."""
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
                self.keep(device, query, report)
            except ValueError:
                self.outcome.unasked += 1

    def keep(self, device: int, query: Query, report: Report) -> None:
        """Keep the answer of a device; ValueError for bytes that do not answer the question."""
        parts = unpack_report(report.data, query)
        self.outcome.add(Release(device, query, name, part, self.epoch) for name, part in parts.items())


def recollected(query: Query, collection: str) -> Query:
    """Return the same question under another collection id."""
    return replace(query, collection=collection)


def rebudgeted(query: Query, factor: float, facts: PublicFacts) -> Query:
    """Return the same question at about ``factor`` times its budget; mechanisms without a budget do not change."""
    return query if factor == 1 else with_mechanisms(query, lambda mechanism: _rebudgeted(mechanism, factor, facts))


def with_mechanisms(query: Query, change: Callable[[Mechanism], Mechanism]) -> Query:
    """Return the same question with every mechanism changed."""
    stages = (tuple(Ask(ask.attribute, tuple(map(change, ask.mechanisms))) for ask in stage) for stage in query.plan)
    return replace(query, plan=tuple(stages))


def _rebudgeted(mechanism: Mechanism, factor: float, facts: PublicFacts) -> Mechanism:
    make = getattr(type(mechanism), "from_epsilon", None)
    loss = mechanism.loss()
    with suppress(ValueError):  # a budget that it cannot have
        if isinstance(mechanism, NeighbourhoodVote):
            return mechanism.with_epsilon(loss.vector * factor)
    if make is None or not 0 < loss.vector < math.inf:
        return mechanism
    given = {key: getattr(mechanism, key) for key in signature(make).parameters if hasattr(mechanism, key)}
    if "facts" in signature(make).parameters:
        given["facts"] = facts
    if loss.delta:
        given["delta"] = loss.delta
    # Some take the loss of a bit, some that of the vector: use the one that gives this mechanism again.
    for epsilon in (loss.vector, loss.bit):
        with suppress(TypeError, ValueError):  # an installed mechanism with other arguments, a budget it cannot have
            if math.isclose(make(epsilon, **given).loss().vector, loss.vector, rel_tol=1e-3):
                made = make(epsilon * factor, **given)
                return made if isinstance(made, Mechanism) else mechanism
    return mechanism
