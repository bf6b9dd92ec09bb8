"""A collection: one question to each device, every reply counted once, also hostile ones, and few messages kept."""

from __future__ import annotations

import gc
import random
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Error, Message, RecordDict

from ldpsim.curator.methods import Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices import report
from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.mechanisms.codecs import pack_integers
from ldpsim.devices.mechanisms.mechanism import Mechanism
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report, pack_parts, pack_report
from ldpsim.devices.wire import (
    QUERY_TYPE,
    REPORTS_TYPE,
    batch_reply,
    query_content,
    read_batch_reply,
    read_query,
    reply,
)
from ldpsim.strategies.engines.collect import Connection, collect, open_connection
from ldpsim.strategies.engines.flower_private import set_message_id
from ldpsim.strategies.engines.grids import DirectGrid, LocalGrid
from ldpsim.strategies.rounds import messages as outbox
from ldpsim.strategies.rounds.collect_once import CollectOnce, run_collection
from ldpsim.strategies.rounds.messages import Outbox, Planned, Streamed, batches_of
from ldpsim.strategies.runs.asking import ask
from ldpsim.strategies.runs.kind import kind_of
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.repeat import start_repeat
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.read_options import read_alone
from tests.fleets import fleet_of

Ask = Callable[..., tuple[Question, ...]]
Enrolled = Callable[..., State]


class OneByOne(LocalGrid):
    """A grid on which every device has a message of its own."""

    @property
    def takes_batches(self) -> bool:
        return False


def asked(enrolled: Enrolled, ask: Ask, **more: Any) -> tuple[CollectOnce, list[Message], list[Message]]:
    """Return a collection whose devices were asked one by one, the messages, and the replies in their order."""
    grid, strategy = OneByOne(enrolled().folder, 40), CollectOnce(ask(), range(1, 41), **more)
    messages = list(strategy.configure_train(1, ArrayRecord(), ConfigRecord(), grid))
    return strategy, messages, list(grid.send_and_receive(messages))


def test_one_question_to_each_device_and_every_reply_counted_once(
    enrolled: Enrolled, ask: Ask, population: Population
) -> None:
    strategy = CollectOnce(ask(), range(1, 41))
    collected = run_collection(strategy, LocalGrid(enrolled().folder, 40))
    assert (collected.rounds, collected.messages, collected.asked, collected.reported) == (1, 80, 40, 40)
    reports = Reports.from_bytes(population.facts, ask(), collected.answers)
    assert reports.answered.all() and reports.adjacency is not None
    assert collected.downlink_bytes == 40 * (len(ask()[0].query.to_bytes()) + 2 * len("query"))
    # what a device pays: its bytes, its public number, one flag and their names
    names = len("report") + len("report") + len("device") + len("replayed")
    extra = {collected.uplink_bytes - sum(map(len, collected.reports.values())) - 40 * names}
    assert extra <= {40 * size for size in range(2, 40)}


def test_a_reply_that_is_no_report_is_a_failure_and_a_second_one_is_none(enrolled: Enrolled, ask: Ask) -> None:
    strategy, messages, replies = asked(enrolled, ask)
    lies = [{"report": b"?"}, {"device": -1}, {"device": 40}]
    honest = dict(replies[7].content["report"])
    contents = [RecordDict({"report": ConfigRecord({**honest, **lie})}) for lie in lies]
    contents.append(RecordDict({"other": ConfigRecord({"x": 1})}))
    nonsense = [Message(content, reply_to=message) for content, message in zip(contents, messages[7:11], strict=True)]
    nonsense.append(Message(Error(2, "something broke"), reply_to=messages[11]))
    strategy.aggregate_train(1, replies[:7] + nonsense + replies[12:30] + [replies[7], replies[12]])
    c = strategy.collected
    assert (c.reported, c.failed, c.silent) == (25, 5, 10)
    assert sorted(c.reports) == [*range(7), *range(12, 30)]
    assert c.asked == c.reported + c.replayed + sum(c.refused.values()) + c.silent + c.failed


@pytest.mark.parametrize("others", [[], [5]], ids=["one question", "two"])
def test_a_device_that_was_not_asked_cannot_report(enrolled: Enrolled, ask: Ask, others: list[int]) -> None:
    _, _, replies = asked(enrolled, ask)
    questions = [Question(ask()[0].query, np.array(some)) for some in ([11, 12], others) if some]
    strategy = CollectOnce(questions, range(1, 41))
    strategy.configure_train(1, ArrayRecord(), ConfigRecord(), OneByOne(enrolled().folder, 40))
    strategy.aggregate_train(1, replies)
    c = strategy.collected
    assert set(c.reports) == {*others, 11, 12}
    assert (c.asked, c.reported, c.failed, c.silent) == (2 + len(others), 2 + len(others), 0, 0)


def test_a_report_larger_than_the_question_allows_is_not_read(
    enrolled: Enrolled, ask: Ask, population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parts would be copied, kept and decoded: gigabytes from one liar."""
    strategy, messages, replies = asked(enrolled, ask, facts=population.facts)
    honest = replies[7].content["report"]["report"]
    whole = bytes(1 << 25) + honest
    replies[7] = Message(
        RecordDict({"report": ConfigRecord({"report": whole, "device": 7, "replayed": False})}), reply_to=messages[7]
    )
    split = []
    unpacked = report.unpack_parts
    monkeypatch.setattr(report, "unpack_parts", lambda data: split.append(len(data)) or unpacked(data))
    strategy.aggregate_train(1, replies)
    assert (strategy.collected.reported, strategy.collected.failed) == (39, 1)
    assert max(split) < report.most_bytes(ask()[0].query) < 1 << 21


@pytest.mark.parametrize("victim", ["answers later", "is silent"])
def test_nobody_speaks_for_another_device(enrolled: Enrolled, ask: Ask, victim: str) -> None:
    """Node 6 sends its report under the number of device 6, whose own node is 7, before that node answers."""
    strategy, messages, replies = asked(enrolled, ask)
    own = replies[6].content["report"]["report"]  # type: ignore[call-overload]
    stolen = dict(replies[5].content["report"])
    replies[5] = Message(RecordDict({"report": ConfigRecord({**stolen, "device": 6})}), reply_to=messages[5])
    if victim == "is silent":
        del replies[6]
    strategy.aggregate_train(1, replies)
    collected = strategy.collected
    assert collected.failed == 1
    assert 5 not in collected.reports and 5 not in collected.answers
    if victim == "is silent":
        assert (collected.reported, collected.silent) == (38, 1)
        assert 6 not in collected.reports and 6 not in collected.answers
    else:
        assert collected.reported == 39 and collected.reports[6] == own


@pytest.mark.parametrize("private_labels", [False, True])
def test_messages_to_many_devices_give_what_one_each_gives(
    enrolled: Enrolled, ask: Ask, monkeypatch: pytest.MonkeyPatch, private_labels: bool
) -> None:
    """Reports, counts and bytes alike; some devices are silent, some refuse, some repeat themselves."""
    monkeypatch.setattr(outbox, "SHARD", 7)
    asked = {"private_labels": True, "eps_labels": 1.0} if private_labels else {}
    found = []
    for kind in (LocalGrid, OneByOne):
        folder = enrolled().folder
        other = ask(private_labels=False, epsilon=1.5)[0].query  # answered first: REPORT_COLLECTED, or refused
        for node in (3, 9):
            list(fleet_of(folder).answer([Message(query_content(other), node, QUERY_TYPE)]))
        some = [Question(question.query, np.array([11, 12, 20])) for question in ask(**asked)[:1]]
        run_collection(CollectOnce(some, range(1, 41)), kind(folder, 40))
        strategy = CollectOnce(ask(**asked), range(1, 41), dropouts=frozenset({0, 13}))
        collected = run_collection(strategy, kind(folder, 40))
        assert (len(strategy._outbox.batches), collected.failed, collected.silent) == (0, 0, 2)
        found.append({**vars(collected), "seconds": 0.0})
        assert list(collected.reports) == sorted(collected.reports) or private_labels
    assert found[0] == found[1] and found[0]["messages"] == 78


@pytest.mark.parametrize("decoding", [False, True])
def test_a_batch_that_is_no_answer_of_its_node_is_a_failure(
    enrolled: Enrolled, ask: Ask, population: Population, decoding: bool
) -> None:
    grid = LocalGrid(enrolled().folder, 40)
    for wrong in ("nonsense", "refusal", "short", "another node", "twice"):
        strategy = CollectOnce(ask(), range(1, 41), facts=population.facts if decoding else None)
        messages = list(strategy.configure_train(1, ArrayRecord(), ConfigRecord(), grid))
        assert [m.metadata.message_type for m in messages] == [REPORTS_TYPE]
        replies = list(grid.send_and_receive(messages))
        if wrong == "nonsense":
            replies = [Message(RecordDict({}), reply_to=messages[0])]
        elif wrong == "refusal":
            replies = [reply(Refusal.UNKNOWN_QUERY, messages[0], device=-1)]
        elif wrong == "short":
            content = ConfigRecord({**replies[0].content["reports"], "statuses": b""})
            replies = [Message(RecordDict({"reports": content}), reply_to=messages[0])]
        elif wrong == "another node":
            replies[0].metadata.__dict__["_src_node_id"] = 7
        else:
            replies *= 2
        strategy.aggregate_train(1, replies)
        c = strategy.collected
        got = (c.reported + c.replayed, sum(c.refused.values()), c.failed, c.silent)
        assert got == {"refusal": (0, 40, 0, 0), "twice": (40, 0, 0, 0)}.get(wrong, (0, 0, 40, 0))


@pytest.mark.parametrize("kind", [LocalGrid, OneByOne])
@pytest.mark.parametrize("replays", [range(0), range(10), range(8, 40)], ids=["none", "few", "most"])
def test_a_malformed_answer_leaves_the_count_that_it_was_in(
    enrolled: Enrolled, ask: Ask, population: Population, kind: type[LocalGrid], replays: range
) -> None:
    """Devices 5 to 14 send parts that no mechanism reads; of 40, these replay."""
    malformed, first = range(5, 15), ask()
    nonsense = pack_report(tuple(pack_parts([b"?"] * len(part.mechanisms)) for part in first[0].query.asks))
    folder = enrolled().folder
    some = [Question(first[0].query, np.array(replays, np.int64))]
    run_collection(CollectOnce(some, range(1, 41)), kind(folder, 40))
    strategy, grid = CollectOnce(first, range(1, 41), facts=population.facts), kind(folder, 40)
    messages = list(strategy.configure_train(1, ArrayRecord(), ConfigRecord(), grid))
    replies = list(grid.send_and_receive(messages))
    for place, message in enumerate(messages):
        if message.metadata.message_type == REPORTS_TYPE:
            answers = read_batch_reply(replies[place], 40)
            assert answers is not None
            for device in malformed:
                answers[device] = Report(nonsense, device in replays)
            replies[place] = batch_reply(answers, message)
        elif place in malformed:
            replies[place] = reply(Report(nonsense, place in replays), message, device=place)
    strategy.aggregate_train(1, replies)
    c = strategy.collected
    well = len(set(replays) - set(malformed))
    assert (c.reported, c.replayed, c.failed, c.silent) == (30 - well, well, 10, 0)


def same(one: Reports, other: Reports) -> None:
    for name in ("indptr", "indices", "data"):
        assert np.array_equal(getattr(one.adjacency, name), getattr(other.adjacency, name))
    assert np.array_equal(one.features, other.features) and np.array_equal(one.answered, other.answered)
    assert np.array_equal(one.labels, other.labels) if one.labels is not None else other.labels is None


@pytest.mark.parametrize("asked", [{}, {"private_labels": True, "eps_labels": 1.0}], ids=["one", "two questions"])
def test_a_collection_that_decodes_keeps_no_bytes_and_has_the_same_digest(
    enrolled: Enrolled, ask: Ask, population: Population, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    monkeypatch.setattr(outbox, "SHARD", 6)
    questions = ask(**asked)
    dropouts = frozenset({3, 17, 39})
    kept = collect(enrolled(questions).folder, questions, devices=40, engine="local", dropouts=dropouts)
    most: list[int] = []
    settle = Streamed.settle

    def watched(self: Streamed, below: int) -> None:
        most.append(self.waiting)
        settle(self, below)

    monkeypatch.setattr(Streamed, "settle", watched)
    state = enrolled(questions).folder
    found = collect(state, questions, devices=40, engine="local", dropouts=dropouts, facts=population.facts)
    assert found.decoded is not None and not found.reports and not found.answers
    same(found.decoded, Reports.from_bytes(population.facts, questions, kept.answers))
    assert found.reports_sha256 == kept.reports_sha256
    same_counts = {name: getattr(kept, name) for name in ("asked", "reported", "silent", "messages", "uplink_bytes")}
    assert {name: getattr(found, name) for name in same_counts} == same_counts
    assert (found.reported, found.silent) == (37, 3)
    assert max(most) <= 12 * len(questions)  # two batches wait, not forty reports


@pytest.mark.parametrize("together", [True, False])
def test_replies_in_any_order(
    enrolled: Enrolled, ask: Ask, population: Population, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    monkeypatch.setattr(outbox, "SHARD", 3)
    monkeypatch.setattr(LocalGrid, "takes_batches", together)
    kept = collect(enrolled().folder, ask(), devices=40, engine="local")
    strategy = CollectOnce(ask(), range(1, 41), facts=population.facts)
    grid = LocalGrid(enrolled().folder, 40)
    messages = list(strategy.configure_train(1, ArrayRecord(), ConfigRecord(), grid))
    replies = list(grid.send_and_receive(messages))
    random.Random(2).shuffle(replies)
    strategy.aggregate_train(1, [*replies, replies[4]])
    collected = strategy.collected
    assert (collected.reported, collected.failed, collected.silent) == (40, 0, 0)
    assert collected.decoded is not None and collected.reports_sha256 == kept.reports_sha256
    same(collected.decoded, Reports.from_bytes(population.facts, ask(), kept.answers))


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

        for one in deliver(self, noted()):
            gc.collect()
            alive.append(sum(each() is not None for each in seen))
            yield one

    grid = LocalGrid(enrolled().folder, 40)
    monkeypatch.setattr(LocalGrid, "deliver", watched)
    monkeypatch.setattr(LocalGrid, "takes_batches", True)
    collected = run_collection(CollectOnce(ask(), range(1, 41)), grid)
    assert collected.reported == 40 and len(alive) == 8
    assert max(alive) <= 2


HOSTILE = range(0, 40, 4)


class HostileGrid(DirectGrid):
    """Sends its own bytes in the place of some devices' answers, as a part of the right form or as anything."""

    def __init__(self, inner: DirectGrid, seed: int) -> None:
        super().__init__(inner.size)
        self._inner, self._rng = inner, random.Random(seed)

    def deliver(self, messages: Iterable[Message]) -> Iterator[Message]:
        """Answer for the hostile devices."""
        messages = list(messages)
        for message in messages:
            device = message.metadata.dst_node_id - 1
            if device in HOSTILE:
                data = self._data(Query.from_bytes(read_query(message)))
                yield reply(Report(data, replayed=False), message, device=device)
        yield from self._inner.deliver([m for m in messages if m.metadata.dst_node_id - 1 not in HOSTILE])

    def _data(self, query: Query) -> bytes:
        if self._rng.random() < 0.2:
            return self._rng.randbytes(self._rng.randrange(60))
        return pack_report(tuple(pack_parts(map(self._part, ask.mechanisms)) for ask in query.asks))

    def _part(self, mechanism: Mechanism) -> bytes:
        rng, name = self._rng, mechanism.name
        if rng.random() < 0.3:
            return rng.randbytes(rng.randrange(40))
        if name in ("degree", "group_degrees", "noisy_row", "laplace", "analytic_gaussian"):
            size = {"degree": 1, "group_degrees": getattr(mechanism, "groups", 1), "noisy_row": 39}.get(name, 256)
            ends = (2**63 - 1, -(2**63), 2**31 - 1, -(2**31), 0, 39)
            return pack_integers(np.array([rng.choice(ends) for _ in range(size)], np.int64))
        if name in ("randomized_response", "clear_adjacency"):
            return b"\0" + bytes([rng.choice((0, 255))] * 4) + bytes([rng.choice((0, 254))])
        if name == "one_bit":
            return bytes([rng.choice((0, 255))] * 32)
        return rng.randbytes(2)


@pytest.mark.parametrize(
    ("method", "given"),
    [("hogs", {}), ("hogs", {"reporting": "one-end"}), ("blink", {}), ("solitude", {}), ("rgnn", {}),
     ("ldpgen", {}), ("ldpgcn", {}), ("vote", {}), ("hogs", {"private_labels": True, "eps_labels": 1.0}),
     ("lpgnn", {"settings": {"epochs": "2", "mechanism": "laplace"}})],
)  # fmt: skip
def test_hostile_bytes_do_not_end_a_run(method: str, given: dict, tmp_path: Path) -> None:
    """Two hostile collections, each with ten devices of forty that send what they like."""
    for seed in range(2):
        options = RunOptions(**{"method": method, "clients": 40, "nulls": False, "reference": False, "seed": seed,
                                "out": None, "settings": {"epochs": "2"}, **given})  # fmt: skip
        setup = prepare(read_alone(options)[0])

        @contextmanager
        def hostile(folder: Path, devices: int, asked: int, seed: int = seed) -> Iterator[Connection]:
            with open_connection(folder, devices, asked) as honest:
                yield replace(honest, grid=HostileGrid(honest.grid, seed))

        repeat = start_repeat(setup, 0, tmp_path, tmp_path / f"state-{seed}", connect=hostile)
        outcome = kind_of(setup.method).work(repeat, ask(repeat))
        repeat.end_collection()
        counted = outcome.collected
        assert outcome.predictions is not None and len(outcome.predictions) == 40
        assert counted.asked == counted.reported + counted.replayed + counted.silent + counted.failed
        assert counted.failed <= len(HOSTILE) and len(counted.reports_sha256) == 64
