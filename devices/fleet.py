"""Messages to devices of one state folder, and their replies.

Devices that are asked the same are one batch: they share a commit, before any of their replies leaves
(:func:`ldpsim.devices.device.answering`). A ClientApp gives one message, a simulation's Grid all of them. Reports may
be drawn in a pool of other processes. The fleet itself reads, decides, commits and replies, so nothing is lost with a
process of the pool: this process draws its reports instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Protocol

from flwr.app import Message

from ldpsim.devices.device import AnswerSteps, Device, Refusal, advance, answering
from ldpsim.devices.draw import Drawn, DrawTask, draw
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.federated.messages import RoundAnswers, RoundQuestions
from ldpsim.devices.federated.participation import TRAINING, KeptInputs, answer_round
from ldpsim.devices.query import InvalidQuery
from ldpsim.devices.report import Report
from ldpsim.devices.wire import (
    QUERY_TYPE,
    REPORTS_TYPE,
    WHOAMI_TYPE,
    batch_reply,
    introduction,
    is_of_training,
    read_batch,
    read_query,
    reply,
)

BATCH = 512
# Ledgers, of 1,024 devices each. One has three files and a cache of pages. It forgets the ends of its chains when it
# closes: a training of more devices reads whole chains in every round.
MOST_OPEN = 32


class DrawPool(Protocol):
    """Processes that draw reports.

    Attributes:
        workers: How many of them draw at a time.
    """

    workers: int

    def submit(self, function: Callable[[DrawTask], Drawn], task: DrawTask, /) -> Future[Drawn]:
        """Start a draw."""


@dataclass(frozen=True, eq=False)
class _Batch:
    """A question to devices of one shard.

    Args:
        devices: Public numbers, in rising order.
        question: As for :func:`ldpsim.devices.device.answering`.
        messages: A message to each device; or one for all of them.
        is_joint: Whether one message is for all of them.
    """

    devices: Sequence[int]
    question: bytes | Refusal
    messages: Sequence[Message]
    is_joint: bool = False

    def replies(self, answers: Sequence[Report | Refusal]) -> list[Message]:
        if self.is_joint:
            return [batch_reply(answers, self.messages[0])]
        rows = zip(answers, self.messages, self.devices, strict=True)
        return [reply(answer, message, device=device) for answer, message, device in rows]


@dataclass(eq=False)
class _Running:
    """A batch whose reports are being drawn.

    Args:
        batch: The batch.
        steps: The rest of its answer.
        task: What is to be drawn.
        future: The draw in another process; None: it is drawn here.
    """

    batch: _Batch
    steps: AnswerSteps
    task: DrawTask
    future: Future[Drawn] | None = None

    @property
    def is_drawn(self) -> bool:
        return self.future is not None and self.future.done()

    def replies(self) -> list[Message]:
        """Return the replies, once the reports are drawn and entered."""
        with closing(self.steps):
            answers = advance(self.steps, self._drawn())
        assert isinstance(answers, list)
        return self.batch.replies(answers)

    def _drawn(self) -> Drawn:
        if self.future is None:
            return draw(self.task)
        try:
            return self.future.result()
        except Exception:  # its process is lost, in one of the ways of its pool
            return draw(self.task)


class Fleet:
    """Answers messages for the devices of one state folder.

    Args:
        state: The opened folder; its owner closes it.
        device: The only device that is asked, that of a SuperNode. None: a node's id is the number of its device
            plus 1, and a message may be for many devices.
        batch: How many single messages share a commit.
        pool: Where reports are drawn; None: in this process.
    """

    def __init__(
        self, state: State, *, device: int | None = None, batch: int = BATCH, pool: DrawPool | None = None
    ) -> None:
        self.state = state
        self.batch = batch
        self._device = device
        self._pool = pool
        self._ahead = 0 if pool is None else 4 * pool.workers  # batches whose reports the pool draws
        self._inputs = KeptInputs()
        self._recent: dict[int, None] = {}  # shards in the order of their last batch

    def answer(self, messages: Iterable[Message]) -> Iterable[Message]:
        """Return the replies; those of a batch leave after its commit.

        Replies to the questions of a round are :class:`ldpsim.devices.federated.messages.RoundAnswers`.
        """
        if isinstance(messages, RoundQuestions) and all(map(self._trains, (group.kind for group in messages.groups))):
            return self._rounds(messages)
        return self._answer(messages)

    def _trains(self, kind: str) -> bool:
        return kind in TRAINING and self.state.policy.mode == "federated"

    def _answer(self, messages: Iterable[Message]) -> Iterator[Message]:
        for kind, run in groupby(messages, key=lambda message: message.metadata.message_type):
            if kind == REPORTS_TYPE:
                yield from self._answers(map(self._batch_for_all, run))
            elif kind == QUERY_TYPE:
                yield from self._answers(map(self._batch_of, self._groups(run, _question)))
            elif self._trains(kind):
                yield from self._rounds(RoundQuestions.of(run))
            else:
                yield from map(self._other, run)

    def _of(self, message: Message) -> int:
        return self._of_node(message.metadata.dst_node_id)

    def _of_node(self, node: int) -> int:
        return node - 1 if self._device is None else self._device

    def _groups(self, messages: Iterator[Message], key: Callable[[Message], object]) -> Iterator[list[Message]]:
        """Yield messages of one shard and key together, one a device; the messages to a device keep their order."""
        while chunk := list(islice(messages, self.batch)):
            turns: Counter[int] = Counter()
            groups: dict[object, list[Message]] = {}
            for message in chunk:
                device = self._of(message)
                groups.setdefault((turns[device], device // self.state.shard, key(message)), []).append(message)
                turns[device] += 1
            for _, group in sorted(groups.items(), key=lambda item: item[0][0]):  # type: ignore[index]
                yield sorted(group, key=self._of)

    def _other(self, message: Message) -> Message:
        """Answer who a node is; refuse a message of another mode, or of a kind that no device knows."""
        kind, device = message.metadata.message_type, self._of(message)
        if kind == WHOAMI_TYPE:
            return introduction(message, device=device, own_state=True)
        refusal = Refusal.MODE_REFUSED if is_of_training(kind) else Refusal.UNKNOWN_QUERY
        return reply(Device(device, self.state).refuse(refusal), message, device=device)

    def _keep_open(self, shard: int, busy: Container[int] = ()) -> None:
        """Note that a shard's ledger is used, and close those that were not for the longest time and are not busy."""
        self._recent.pop(shard, None)
        idle = [other for other in self._recent if other not in busy]
        for last in idle[: max(0, len(self._recent) + 1 - MOST_OPEN)]:
            del self._recent[last]
            self.state.close(last)
        self._recent[shard] = None

    def _batch_of(self, messages: Sequence[Message]) -> _Batch:
        return _Batch([self._of(message) for message in messages], _question(messages[0]), messages)

    def _batch_for_all(self, message: Message) -> _Batch:
        addressee = self._of(message)
        try:
            question, devices = read_batch(message)
            rising = all(first < second for first, second in zip(devices, devices[1:], strict=False))
            shards = {device // self.state.shard for device in (addressee, *devices[:1], *devices[-1:])}
            if self._device is None and devices and rising and len(shards) == 1:
                return _Batch(devices, question, [message], is_joint=True)
        except InvalidQuery:
            pass
        return _Batch([addressee], Refusal.UNKNOWN_QUERY, [message])

    def _answers(self, batches: Iterable[_Batch]) -> Iterator[Message]:
        """Answer batches. While the pool has enough to draw, the next batch is drawn here."""
        running: dict[int, _Running] = {}  # by shard: a ledger has one transaction at a time
        try:
            for batch in batches:
                shard = batch.devices[0] // self.state.shard
                if shard in running:
                    yield from running.pop(shard).replies()
                self._keep_open(shard, running)  # a running batch holds a transaction of its ledger
                steps = answering(self.state, batch.devices, batch.question)
                task = advance(steps, None)
                if isinstance(task, list):
                    yield from batch.replies(task)
                    continue
                pool = self._pool if len(running) < self._ahead else None
                running[shard] = _Running(batch, steps, task)
                if pool is None:
                    yield from running.pop(shard).replies()
                else:
                    running[shard].future = pool.submit(draw, task)
                for finished in [number for number, draws in running.items() if draws.is_drawn]:
                    yield from running.pop(finished).replies()
            while running:
                yield from running.popitem()[1].replies()
        finally:
            for draws in running.values():
                draws.steps.close()

    def _rounds(self, questions: RoundQuestions) -> RoundAnswers:
        """Answer questions of a training; the answers of a ledger's devices to one of them share a commit."""
        parts = []
        for group in questions.groups:
            devices = zip(map(self._of_node, group.nodes), group.nodes, strict=True)
            for shard, pairs in groupby(devices, key=lambda pair: pair[0] // self.state.shard):
                own, nodes = zip(*pairs, strict=True)
                self._keep_open(shard)
                parts += answer_round(self.state, own, group.among(nodes), self.state.received, self._inputs)
        return RoundAnswers(parts)


def _question(message: Message) -> bytes:
    """Return the bytes of a question; no query is empty, so other messages get the answer to a malformed one."""
    try:
        return read_query(message)
    except InvalidQuery:
        return b""
