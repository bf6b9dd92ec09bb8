"""An outbox: the same messages however often they are read; none is kept where they are read once."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message, RecordDict

from ldpsim.curator.methods import FPLDPGen, Question
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.array_types import IntArray
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.wire import QUERY_TYPE, REPORTS_TYPE, query_content
from ldpsim.strategies.engines.grids import LocalGrid, set_message_id
from ldpsim.strategies.rounds import messages as outbox
from ldpsim.strategies.rounds.collect_once import CollectOnce, Stages, run_collection
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


@pytest.mark.parametrize("kind", [TwiceGrid, TwiceGridOfBatches])
def test_a_plan_of_two_stages_on_a_grid_that_reads_twice(
    population: Population, tmp_path: Any, kind: type[TwiceGrid]
) -> None:
    split = make_split("random", population, 0)
    questions = FPLDPGen().questions(population.facts, split, Budget(epsilon=8.0), "mine")
    state = enrol(tmp_path / "state", population, policy_for([q.query for q in questions], population.facts), seed=5)
    stages = Stages(FPLDPGen(), population.facts, tmp_path)
    collected = run_collection(CollectOnce(questions, range(1, 41), stages=stages), kind(state.folder, 40))
    assert (collected.rounds, collected.reported, collected.failed) == (2, 40, 0)


@pytest.fixture
def content(ask: Ask) -> RecordDict:
    return query_content(ask()[0].query)


@pytest.fixture
def plan(content: RecordDict, monkeypatch: pytest.MonkeyPatch) -> list[Planned]:
    """Two batches of at most eight devices, and three messages to one device each."""
    monkeypatch.setattr(outbox, "SHARD", 8)
    many = [(content, REPORTS_TYPE, batch) for batch in batches_of(np.arange(12))]
    return [*many, (content, QUERY_TYPE, np.array([20, 31, 39]))]


def test_the_same_messages_each_time(plan: list[Planned]) -> None:
    box = Outbox(plan, NODES, "1")
    first, second = list(box), list(box)
    assert len(first) == len(box) == 5
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert [message.metadata.dst_node_id for message in first] == [101, 109, 121, 132, 140]
    groups = [message.metadata.group_id for message in first]
    assert groups[:2] == ["1.0", "1.1"] and all(re.fullmatch(r"1\.[0-9a-f]{32}", group) for group in groups[2:])
    assert len(set(groups)) == 5  # no node can name the message to another one
    assert {key: (node, devices.tolist()) for key, (node, devices) in box.batches.items()} == {
        "1.0": (101, list(range(8))), "1.1": (109, list(range(8, 12))),
    }  # fmt: skip


def test_readers_that_take_turns_get_the_same_messages(plan: list[Planned]) -> None:
    box = Outbox(plan, NODES, "1")
    one, other = iter(box), iter(box)
    pairs = [(next(one), next(other)) for _ in range(3)]
    assert all(left is right for left, right in pairs)
    assert list(other) == list(one) == list(box)[3:]


def test_a_batch_that_was_answered_does_not_wait_again(plan: list[Planned]) -> None:
    """A message that is read once more is not a new one: nothing waits for a second reply."""
    box = Outbox(plan, NODES, "1")
    list(box)
    del box.batches["1.0"]
    assert box.answered_below == 8
    list(box)
    assert list(box.batches) == ["1.1"] and box.answered_below == 8


def living(messages: Iterator[Message]) -> int:
    """Return the largest number of messages that live at once while they are read, one after another."""
    seen: list[weakref.ref[Message]] = []
    most = 0
    for message in messages:
        seen.append(weakref.ref(message))
        gc.collect()
        most = max(most, sum(each() is not None for each in seen))
        del message
    return most


def test_messages_that_are_read_once_are_not_kept(plan: list[Planned]) -> None:
    assert living(Outbox(plan, NODES, "1").once()) == 1
    assert living(iter(Outbox(plan, NODES, "1"))) == 5  # power: the others are kept


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


def test_an_empty_outbox() -> None:
    nobody: IntArray = np.zeros(0, np.int64)
    assert not Outbox([], NODES, "1") and list(Outbox([], NODES, "1")) == []
    assert list(Outbox([(RecordDict(), QUERY_TYPE, nobody)], NODES, "1")) == []


def test_an_answer_to_a_batch_moves_the_border_of_what_is_known() -> None:
    groups = [np.arange(start, start + 3) for start in (0, 3, 6)]
    content = RecordDict({"query": ConfigRecord({"query": b"?"})})
    box = Outbox([(content, REPORTS_TYPE, devices) for devices in groups] + [(content, "query", np.array([20, 30]))],
                 range(100, 140), "7")  # fmt: skip
    assert len(box) == 5 and box.answered_below == 0 and not box.batches
    messages = list(box)
    assert [message.metadata.dst_node_id for message in messages] == [100, 103, 106, 120, 130]
    assert [message.metadata.group_id for message in messages[:3]] == ["7.0", "7.1", "7.2"]
    assert {name: (node, devices.tolist()) for name, (node, devices) in box.batches.items()} == {
        f"7.{place}": (100 + 3 * place, groups[place].tolist()) for place in range(3)
    }
    below = [box.answered_below]
    for number in ("7.1", "7.0", "7.2"):
        del box.batches[number]
        below.append(box.answered_below)
    assert below == [0, 0, 6, 6]
