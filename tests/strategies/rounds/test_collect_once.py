from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Error, Message, RecordDict

from ldpsim.curator.methods import LDPGen, Question
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices import report
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.wire import QUERY_TYPE, REPORTS_TYPE, query_content, reply
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.rounds import messages as outbox
from ldpsim.strategies.rounds.collect_once import CollectOnce, Stages, run_collection
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


def test_a_reply_that_is_no_report_is_a_failure_and_a_second_one_too(enrolled: Enrolled, ask: Ask) -> None:
    strategy, messages, replies = asked(enrolled, ask)
    nonsense = [
        Message(
            RecordDict({"report": ConfigRecord({"report": b"?", "device": 7, "replayed": False})}), reply_to=messages[7]
        ),
        Message(RecordDict({"other": ConfigRecord({"x": 1})}), reply_to=messages[8]),
        Message(Error(2, "something broke"), reply_to=messages[9]),
    ]
    kept = replies[:7] + nonsense + replies[10:30] + [replies[10]]
    strategy.aggregate_train(1, kept)
    c = strategy.collected
    assert (c.reported, c.failed, c.silent) == (27, 4, 9)
    assert c.asked == c.reported + c.replayed + sum(c.refused.values()) + c.silent + c.failed


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


def test_nothing_is_evaluated_on_a_device(enrolled: Enrolled, ask: Ask) -> None:
    grid = OneByOne(enrolled().folder, 40)
    strategy = CollectOnce(ask(), range(1, 41))
    assert list(strategy.configure_evaluate(1, ArrayRecord(), ConfigRecord(), grid)) == []
    assert strategy.aggregate_evaluate(1, []) is None


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


def test_a_number_that_no_device_has_is_a_failure(enrolled: Enrolled, ask: Ask) -> None:
    strategy, messages, replies = asked(enrolled, ask)
    for place, number in ((3, -1), (4, 40)):
        claimed = {**dict(replies[place].content["report"]), "device": number}
        replies[place] = Message(RecordDict({"report": ConfigRecord(claimed)}), reply_to=messages[place])
    strategy.aggregate_train(1, replies)
    assert strategy.collected.failed == 2 and sorted(strategy.collected.reports) == [*range(3), *range(5, 40)]


def test_nobody_speaks_for_another_device_in_a_later_stage(population: Population, tmp_path: Path) -> None:
    method = LDPGen(groups=3)
    split = make_split("random", population, 0)
    questions = method.questions(population.facts, split, Budget(epsilon=4, public_features=True), "first")
    rules = policy_for([question.query for question in questions], population.facts)
    grid = OneByOne(enrol(tmp_path / "state", population, rules, seed=5).folder, 40)
    stages = Stages(method, population.facts, tmp_path)
    strategy = CollectOnce(questions, range(1, 41), stages=stages)
    for number in (1, 2):
        messages = list(strategy.configure_train(number, ArrayRecord(), ConfigRecord(), grid))
        replies = {reply.metadata.src_node_id: reply for reply in grid.send_and_receive(messages)}
        if number == 2:
            (sixth,) = (message for message in messages if message.metadata.dst_node_id == 6)
            claimed = {**dict(replies[6].content["report"]), "device": 6}  # node 7's
            replies[6] = Message(RecordDict({"report": ConfigRecord(claimed)}), reply_to=sixth)
            del replies[7]
        strategy.aggregate_train(number, replies.values())
    collected = strategy.collected
    assert (collected.reported, collected.failed, collected.silent) == (38, 1, 1)
    assert 5 not in collected.answers and 6 not in collected.answers


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
        strategy = CollectOnce(ask(**asked), range(1, 41), silent=frozenset({0, 13}))
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
        got = (c.reported + c.replayed, sum(c.refused.values()), c.failed)
        assert got == {"refusal": (0, 40, 0), "twice": (40, 0, 1)}.get(wrong, (0, 0, 40))
