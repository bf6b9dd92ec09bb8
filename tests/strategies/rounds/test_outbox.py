"""An outbox: the same messages however often they are read; none is kept where they are read once."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pytest
from flwr.app import Message, RecordDict

from ldpsim.curator.methods import Question
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.wire import QUERY_TYPE, REPORTS_TYPE, query_content
from ldpsim.strategies.engines.flower_private import set_message_id
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.rounds import messages as outbox
from ldpsim.strategies.rounds.collect_once import CollectOnce, run_collection
from ldpsim.strategies.rounds.messages import Outbox, Planned, batches_of

Ask = Callable[..., tuple[Question, ...]]
Enrolled = Callable[..., State]
NODES = range(101, 141)


class TwiceGrid(LocalGrid):
    """A grid that reads messages twice, as Flower's ``HttpGrid`` does: it numbers them, and then it sends them."""

    batches = False

    @property
    def takes_batches(self) -> bool:
        return self.batches

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        for message in messages:
            set_message_id(message, message.object_id)
        sent = []
        for message in messages:
            # The SuperLink answers 500 to a message without an id.
            assert message.metadata.message_id, "empty metadata.message_id"
            sent.append(message)
        for answer in self.deliver(sent):
            self._replies[answer.metadata.reply_to_message_id] = answer
        return [message.metadata.message_id for message in sent]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        return self.pull_messages(set(self.push_messages(messages)))


class TwiceGridOfBatches(TwiceGrid):
    batches = True


@pytest.mark.parametrize("kind", [TwiceGrid, TwiceGridOfBatches])
def test_a_grid_that_reads_twice_gets_every_report(
    enrolled: Enrolled, ask: Ask, monkeypatch: pytest.MonkeyPatch, kind: type[TwiceGrid]
) -> None:
    monkeypatch.setattr(outbox, "SHARD", 7)
    asked = ask()
    once = run_collection(CollectOnce(asked, range(1, 41)), LocalGrid(enrolled().folder, 40))
    twice = run_collection(CollectOnce(asked, range(1, 41)), kind(enrolled().folder, 40))
    assert (twice.reported, twice.failed, twice.silent) == (40, 0, 0)
    assert twice.reports_sha256 == once.reports_sha256


@pytest.fixture
def content(ask: Ask) -> RecordDict:
    return query_content(ask()[0].query)


@pytest.fixture
def plan(content: RecordDict, monkeypatch: pytest.MonkeyPatch) -> list[Planned]:
    """Two batches of at most eight devices, and three messages to one device each."""
    monkeypatch.setattr(outbox, "SHARD", 8)
    many = [(content, REPORTS_TYPE, batch) for batch in batches_of(np.arange(12))]
    return [*many, (content, QUERY_TYPE, np.array([20, 31, 39]))]


def test_messages_that_are_gone_are_not_made_anew(plan: list[Planned]) -> None:
    """New ones would have no id, and a device would be asked twice."""
    box = Outbox(plan, NODES, "1")
    first = next(iter(box))
    assert next(box.once()) is first  # what was read before is kept
    with pytest.raises(RuntimeError, match="are not kept"):
        next(iter(box))
    with pytest.raises(RuntimeError, match="are not kept"):
        next(box.once())


def test_a_grid_of_batches_keeps_no_message(enrolled: Enrolled, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million devices are asked by two thousand messages to many, or by a million that are made as they are sent."""
    monkeypatch.setattr(outbox, "SHARD", 5)
    alive: list[int] = []
    deliver = LocalGrid.deliver

    def watched(self: LocalGrid, messages: Iterable[Message]) -> Iterator[Message]:
        seen: list[weakref.ref[Message]] = []

        def noted() -> Iterator[Message]:
            for message in messages:
                seen.append(weakref.ref(message))
                yield message
                del message

        for reply in deliver(self, noted()):
            gc.collect()
            alive.append(sum(each() is not None for each in seen))
            yield reply

    grid = LocalGrid(enrolled().folder, 40)
    monkeypatch.setattr(LocalGrid, "deliver", watched)
    monkeypatch.setattr(LocalGrid, "takes_batches", True)
    collected = run_collection(CollectOnce(ask(), range(1, 41)), grid)
    assert collected.reported == 40 and len(alive) == 8
    assert max(alive) <= 2
