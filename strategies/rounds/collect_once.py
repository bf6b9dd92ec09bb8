"""Custom Flower strategy that asks every device one question, once.

``CollectOnce`` runs under Flower's own ``Strategy.start`` on any Grid, for one round. Where later questions follow from
earlier reports, each round has a strategy of its own (:mod:`ldpsim.strategies.rounds.several_rounds`). The server sends
no model to a device, and the evaluation round asks no device.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from ldpsim.curator.methods import Question
from ldpsim.curator.reports.decoding import AnswersByDevice
from ldpsim.curator.reports.digest import reports_digest
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.curator_key import SignedTerms
from ldpsim.devices.device import Refusal
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report, unpack_report
from ldpsim.devices.wire import (
    QUERY_TYPE,
    REPORTS_TYPE,
    ReportColumns,
    payload_bytes,
    query_content,
    read_batch_columns,
    read_batch_reply,
    read_reply,
    report_bytes,
)
from ldpsim.strategies.rounds.messages import Outbox, Planned, Streamed, batches_of


@dataclass
class Collected:
    """Result of a collection.

    Args:
        reports: Report bytes by device; those of several rounds follow one another.
        answers: Report parts by device and attribute, one part a mechanism; empty where ``decoded`` has them.
        asked, reported, replayed, silent, failed: Numbers of devices. ``asked`` is the sum of
            the others and the refused ones. The last round that asks a device decides.
        refused: Numbers of devices by code.
        downlink_bytes, uplink_bytes: Encoded payload bytes.
        digest: Digest of reports that are kept elsewhere; empty: of ``reports``.
        decoded: The decoded reports. ``reports`` is empty where they were decoded as they came.
        replays: Devices whose answer is a replay, malformed ones among them.
        questions: The questions as they were asked at the latest stage, of all rounds.
        engine: Name of the engine that asked.
    """

    reports: dict[int, bytes] = field(default_factory=dict, repr=False)
    answers: AnswersByDevice = field(default_factory=dict, repr=False)
    asked: int = 0
    reported: int = 0
    replayed: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    silent: int = 0
    failed: int = 0
    rounds: int = 0
    messages: int = 0
    downlink_bytes: int = 0
    uplink_bytes: int = 0
    seconds: float = 0.0
    digest: str = ""
    decoded: Reports | None = field(default=None, repr=False)
    replays: set[int] = field(default_factory=set, repr=False)
    questions: tuple[Question, ...] = field(default=(), repr=False)
    engine: str = ""

    @property
    def reports_sha256(self) -> str:
        """Digest of all report bytes in device order."""
        return self.digest or reports_digest(self.reports)

    def drop(self, devices: Sequence[int]) -> None:
        """Count the answers of devices as failed: their bytes cannot be read. They stay in the digest of all bytes."""
        for device in devices:
            self.answers.pop(device, None)
        replayed = len(self.replays.intersection(devices))
        self.reported -= len(devices) - replayed
        self.replayed -= replayed
        self.failed += len(devices)


class ReportStrategy(Strategy):
    """Base of the strategies that ask for reports: nothing is evaluated, no summary is printed."""

    def summary(self) -> None:
        """Print nothing: the caller shows the result."""

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Ask no device: an evaluation on a device would be another release."""
        return []

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """Return None: nothing was asked."""
        return None


class CollectOnce(ReportStrategy):
    """Strategy that asks each device one question and keeps its report.

    Args:
        questions: The queries, and the devices that each one is for.
        nodes: Flower's node id of every device, by the device's public number. A report counts only if it comes
            from the node of its device.
        dropouts: Devices that are asked and never answer (simulated).
        terms: Signed terms that go with every question; None leaves them unsigned.
        facts: Sizes, ranges and domains, by which the reports to questions of one part are decoded as they come; None
            keeps their bytes.
    """

    def __init__(
        self,
        questions: Sequence[Question],
        nodes: Sequence[int],
        *,
        dropouts: frozenset[int] = frozenset(),
        terms: SignedTerms | None = None,
        facts: PublicFacts | None = None,
    ) -> None:
        self.questions = questions
        self._terms = terms
        one_part = len({question.part for question in questions}) == 1
        self._stream = Streamed(facts, questions) if facts is not None and one_part else None
        self.nodes = nodes
        self.dropouts = dropouts
        self.collected = Collected()
        self._outbox = Outbox([], nodes, "")
        self._waiting: dict[int, int] = {}  # device by node, of each message to one device, until its reply

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Return a query message for every device that is asked."""
        collected = self.collected
        collected.rounds += 1
        together = getattr(grid, "takes_batches", False)
        plan: list[Planned] = []
        for question in self.questions:
            content = query_content(question.query, self._terms)
            devices = question.people(len(self.nodes))
            collected.asked += len(devices)
            collected.messages += len(devices)
            collected.downlink_bytes += payload_bytes(content) * len(devices)
            recipients = devices[~np.isin(devices, list(self.dropouts))]
            if together:
                plan += [(content, REPORTS_TYPE, batch) for batch in batches_of(recipients)]
            elif len(recipients):
                plan += [(content, QUERY_TYPE, recipients)]
        if together:
            plan.sort(key=lambda sent: int(sent[2][0]))
        else:
            self._waiting = {self.nodes[device]: device for _, _, some in plan for device in some.tolist()}
        self._outbox = Outbox(plan, self.nodes, str(server_round))
        return self._outbox

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Read the replies; the first one of a device counts, and no reply of a node that was not asked."""
        collected = self.collected
        queries = self._query_of_device()
        for message in replies:
            if not self._took_batch(message, queries):
                for device, answer in self._answers(message):
                    collected.messages += 1
                    if device is None:
                        continue
                    if isinstance(answer, Refusal):
                        collected.refused[answer.name] += 1
                    elif answer is None or not self._keep(device, *answer, queries):
                        collected.failed += 1
            if self._stream is not None:
                self._stream.settle(self._outbox.answered_below)
        if self._stream is not None:
            collected.decoded, collected.digest, wrong = self._stream.done()
            collected.drop(wrong)
        refused = sum(collected.refused.values())
        collected.silent = collected.asked - collected.reported - collected.replayed - refused - collected.failed
        return None, MetricRecord({"reported": collected.reported, "replayed": collected.replayed, "refused": refused})

    def _took_batch(self, message: Message, queries: Callable[[int], Query]) -> bool:
        """Take the reports of a message to many devices, if all of them report, as one by one would be taken."""
        collected, group = self.collected, message.metadata.group_id
        node, devices = self._outbox.batches.get(group, (0, np.zeros(0, np.int64)))
        if self._stream is None or not len(devices) or message.metadata.src_node_id != node:
            return False
        columns = read_batch_columns(message, devices, queries(int(devices[0])))  # a batch has one question
        if columns is None or self._stream.has(devices):
            return False
        del self._outbox.batches[group]
        self._stream.take(columns)
        collected.messages += len(devices)
        collected.uplink_bytes += sum(map(report_bytes, columns.reports))
        collected.replays.update(columns.replays.tolist())
        collected.replayed += len(columns.replays)
        collected.reported += len(devices) - len(columns.replays)
        return True

    def _answers(self, message: Message) -> Iterator[tuple[int | None, tuple[int, Report] | Refusal | None]]:
        """Yield each device that a reply speaks for, and its answer; the bytes of reports are counted.

        The device is None for a second reply, and for one of a node that was not asked.
        """
        collected, sender = self.collected, message.metadata.src_node_id
        if message.metadata.group_id not in self._outbox.batches:
            answer = read_reply(message)
            if not isinstance(answer, Refusal) and message.has_content():
                collected.uplink_bytes += payload_bytes(message.content)
            yield self._waiting.pop(sender, None), answer
            return
        node, batch = self._outbox.batches.pop(message.metadata.group_id)
        devices = batch.tolist()
        answers = read_batch_reply(message, len(devices)) if sender == node else None
        if answers is None:
            refused = read_reply(message)
            yield from ((device, refused if isinstance(refused, Refusal) else None) for device in devices)
            return
        for device, one in zip(devices, answers, strict=True):
            if isinstance(one, Report):
                collected.uplink_bytes += report_bytes(one.data)
            yield device, one if isinstance(one, Refusal) else (device, one)

    def _query_of_device(self) -> Callable[[int], Query]:
        places: IntArray = np.full(len(self.nodes), -1)
        for number, question in enumerate(self.questions):
            places[question.people(len(self.nodes))] = number
        queries = [question.query for question in self.questions]
        return lambda device: queries[places[device]]

    def _keep(self, device: int, named: int, report: Report, queries: Callable[[int], Query]) -> bool:
        collected = self.collected
        if device in collected.reports if self._stream is None else self._stream.has(device):
            return False
        if named != device:
            return False  # a node cannot answer for another device
        try:
            parts = unpack_report(report.data, queries(device))
        except ValueError:
            return False
        if self._stream is None:
            collected.reports[device] = report.data
            collected.answers[device] = parts
        else:
            columns = {name: [[part] for part in own] for name, own in parts.items()}
            self._stream.take(ReportColumns(np.array([device]), [report.data], columns))
        if report.replayed:
            collected.replays.add(device)
            collected.replayed += 1
        else:
            collected.reported += 1
        return True


def run_collection(strategy: CollectOnce, grid: Grid, *, timeout: float = 3600) -> Collected:
    """Run a collection on a Grid under Flower's ``Strategy.start`` and time it."""
    started = time.perf_counter()
    strategy.start(grid, ArrayRecord(), num_rounds=1, timeout=timeout)
    strategy.collected.seconds = time.perf_counter() - started
    return strategy.collected
