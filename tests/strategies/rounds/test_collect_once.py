from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Error, Message, RecordDict

from ldpsim.curator.methods import LDPGen, Question
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.reports.digest import reports_digest
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices import report
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.wire import QUERY_TYPE, REPORTS_TYPE, payload_bytes, query_content, reply
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.rounds import messages as outbox
from ldpsim.strategies.rounds.collect_once import Collected, CollectOnce, Stages, run_collection
from tests.fleets import fleet_of

Ask = Callable[..., tuple[Question, ...]]
Enrolled = Callable[..., State]


class OneByOne(LocalGrid):
    """A grid on which every device has a message of its own."""

    @property
    def takes_batches(self) -> bool:
        return False


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


def test_private_labels_are_asked_of_labelled_devices_only(enrolled: Enrolled, ask: Ask) -> None:
    questions = ask(private_labels=True, eps_labels=1.0)
    strategy = CollectOnce(questions, range(1, 41))
    messages = list(strategy.configure_train(1, ArrayRecord(), ConfigRecord(), OneByOne(enrolled().folder, 40)))
    with_label = {m.metadata.dst_node_id - 1 for m in messages if b'"label"' in m.content["query"]["query"]}
    assert questions[0].devices is not None and with_label == set(questions[0].devices.tolist())
    assert len(messages) == 40


def test_a_reply_that_is_no_report_is_a_failure_and_a_second_one_too(enrolled: Enrolled, ask: Ask) -> None:
    grid = OneByOne(enrolled().folder, 40)
    strategy = CollectOnce(ask(), range(1, 41))
    messages = list(strategy.configure_train(1, ArrayRecord(), ConfigRecord(), grid))
    replies = list(grid.send_and_receive(messages))
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
    grid = OneByOne(enrolled().folder, 40)
    strategy = CollectOnce(ask(), range(1, 41), facts=population.facts)
    messages = list(strategy.configure_train(1, ArrayRecord(), ConfigRecord(), grid))
    replies = list(grid.send_and_receive(messages))
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


def test_what_the_curator_gets_is_noisy(enrolled: Enrolled, ask: Ask, population: Population) -> None:
    collected = run_collection(
        CollectOnce(ask(epsilon=1.0), range(1, 41)),
        OneByOne(enrolled(caps={"bit": 9, "vector": 1e9, "user": 1e9}).folder, 40),
    )
    reports = Reports.from_bytes(population.facts, ask(epsilon=1.0), collected.answers)
    truth = np.zeros((40, 40), bool)
    truth[tuple(population.edges)] = truth[tuple(population.edges[::-1])] = True
    flipped = (reports.adjacency.toarray().astype(bool) != truth)[~np.eye(40, dtype=bool)].mean()
    # 1,560 bits flipped with p = 1/(e^.9 + 1) = .289: five standard deviations either side
    assert abs(flipped - 0.289) < 5 * (0.289 * 0.711 / 1560) ** 0.5
    assert not reports.adjacency.toarray().diagonal().any()


@pytest.mark.parametrize("victim", ["answers later", "is silent"])
def test_nobody_speaks_for_another_device(enrolled: Enrolled, ask: Ask, victim: str) -> None:
    """Node 6 sends its report under the number of device 6, whose own node is 7, before that node answers."""
    grid = OneByOne(enrolled().folder, 40)
    strategy = CollectOnce(ask(), range(1, 41))
    messages = list(strategy.configure_train(1, ArrayRecord(), ConfigRecord(), grid))
    replies = list(grid.send_and_receive(messages))
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
    grid = OneByOne(enrolled().folder, 40)
    strategy = CollectOnce(ask(), range(1, 41))
    messages = list(strategy.configure_train(1, ArrayRecord(), ConfigRecord(), grid))
    replies = list(grid.send_and_receive(messages))
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


def test_a_second_reply_of_a_device_changes_nothing(enrolled: Enrolled, ask: Ask) -> None:
    grid = OneByOne(enrolled().folder, 40)
    strategy = CollectOnce(ask(), range(1, 41))
    messages = list(strategy.configure_train(1, ArrayRecord(), ConfigRecord(), grid))
    replies = list(grid.send_and_receive(messages))
    own = replies[6].content["report"]["report"]  # type: ignore[call-overload]
    other = {**dict(replies[5].content["report"]), "device": 6}
    again = Message(RecordDict({"report": ConfigRecord(other)}), reply_to=messages[6])  # from its own node
    strategy.aggregate_train(1, [*replies, again])
    assert (strategy.collected.reported, strategy.collected.failed) == (40, 1)
    assert strategy.collected.reports[6] == own


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


def test_batches_that_are_decoded_as_they_come_are_counted_as_one_by_one(
    enrolled: Enrolled, ask: Ask, population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "SHARD", 7)
    found = []
    for kind in (LocalGrid, OneByOne):
        folder = enrolled(on_requery="replay").folder
        some = [Question(question.query, np.arange(11)) for question in ask()]
        for questions, wanted in ((some, (11, 0, 22)), (ask(), (29, 11, 80)), (ask(), (0, 40, 80))):
            collected = run_collection(CollectOnce(questions, range(1, 41), facts=population.facts), kind(folder, 40))
            assert (collected.reported, collected.replayed, collected.messages) == wanted
            assert (collected.silent, collected.failed) == (0, 0) and not collected.refused
            found.append((collected.uplink_bytes, collected.digest))
    assert found[:3] == found[3:]


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


@pytest.mark.parametrize(("reported", "replayed", "dropped", "left"), [
    (5, 3, 0, (5, 3, 0)), (5, 3, 2, (3, 3, 2)), (5, 3, 5, (0, 3, 5)), (5, 3, 6, (0, 2, 6)), (0, 4, 3, (0, 1, 3)),
])  # fmt: skip
def test_dropped_devices_leave_the_reported_first(
    reported: int, replayed: int, dropped: int, left: tuple[int, int, int]
) -> None:
    answers: Any = {device: {} for device in range(4)}
    found = Collected({1: b"x"}, answers, asked=9, reported=reported, replayed=replayed)
    found.drop(range(dropped))
    assert (found.reported, found.replayed, found.failed) == left and found.asked == 9
    assert set(found.answers) == set(range(dropped, 4)) and found.reports == {1: b"x"}
    assert found.reports_sha256 == reports_digest({1: b"x"}) and replace(found, digest="d").reports_sha256 == "d"


def test_an_empty_collection_has_counts_of_nothing() -> None:
    found = vars(Collected())
    assert {name: value for name, value in found.items() if value} == {}
    assert {type(found[name]) for name in ("asked", "reported", "silent", "failed", "rounds", "messages")} == {int}


def plan_of(strategy: CollectOnce, grid: LocalGrid, number: int = 1) -> list[Message]:
    return list(strategy.configure_train(number, ArrayRecord(), ConfigRecord(), grid))


def test_what_is_sent_is_counted_for_everybody_and_goes_to_those_who_are_not_silent(
    enrolled: Enrolled, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two questions to 12 and 28 people; 3 of each are silent. Batches of a ledger are sent in the order of devices."""
    monkeypatch.setattr(outbox, "SHARD", 5)
    query = ask()[0].query
    first, second = np.arange(0, 36, 3), np.setdiff1d(np.arange(40), np.arange(0, 36, 3))
    questions = [Question(query, second), Question(query, first)]
    silent = frozenset({0, 3, 6, 1, 2, 39})
    size = payload_bytes(query_content(query))
    for together in (True, False):
        grid = (LocalGrid if together else OneByOne)(enrolled().folder, 40)
        strategy = CollectOnce(questions, range(101, 141), silent=silent)
        messages = plan_of(strategy, grid)
        c = strategy.collected
        assert (c.rounds, c.asked, c.messages, c.downlink_bytes) == (1, 40, 40, 40 * size)
        nodes = [message.metadata.dst_node_id - 101 for message in messages]
        if together:
            assert nodes == sorted(nodes) and len({node // 5 for node in nodes}) == 8
            groups = [message.metadata.group_id for message in messages]
            assert groups == [f"1.{place}" for place in range(len(nodes))]
            sent = {int(devices[0]): devices.tolist() for _, devices in strategy._outbox.batches.values()}
            assert sorted(device for devices in sent.values() for device in devices) == sorted(set(range(40)) - silent)
        else:
            assert nodes == [*np.setdiff1d(second, list(silent)), *np.setdiff1d(first, list(silent))]
            assert {message.metadata.message_type for message in messages} == {QUERY_TYPE}


def test_a_device_that_is_not_asked_has_no_report(enrolled: Enrolled, ask: Ask) -> None:
    """Nodes that answer without a question, under their own number: a failure each, and nothing is kept."""
    query = ask()[0].query
    folder = enrolled().folder
    everybody = list(
        OneByOne(folder, 40).send_and_receive(plan_of(CollectOnce(ask(), range(1, 41)), OneByOne(folder, 40)))
    )
    for devices in (np.arange(5, 38), np.arange(0, 40, 2)):
        strategy = CollectOnce([Question(query, devices)], range(1, 41))
        plan_of(strategy, OneByOne(folder, 40))
        _, metrics = strategy.aggregate_train(1, everybody)
        c = strategy.collected
        assert (c.asked, c.reported, c.failed, c.messages) == (
            len(devices),
            len(devices),
            40 - len(devices),
            40 + len(devices),
        )
        assert sorted(c.reports) == devices.tolist() == sorted(c.answers)
        assert metrics is not None and dict(metrics) == {"reported": len(devices), "replayed": 0, "refused": 0}
    two = [Question(query, np.arange(10)), Question(ask(epsilon=1.0)[0].query, np.arange(10, 40))]
    strategy = CollectOnce(two, range(1, 41))
    found = strategy._query_of_device()
    assert [found(device) for device in (0, 9, 10, 39)] == [two[0].query] * 2 + [two[1].query] * 2
    assert [found(device) for device in (-1, 40)] == [None, None]
    alone = CollectOnce(ask(), range(1, 41))._query_of_device()
    assert (alone(0), alone(39), alone(-1), alone(40)) == (query, query, None, None)


@pytest.mark.parametrize("kind", [LocalGrid, OneByOne])
@pytest.mark.parametrize("decoding", [False, True])
def test_replays_and_refusals_are_counted_by_device(
    enrolled: Enrolled, ask: Ask, population: Population, kind: type[LocalGrid], decoding: bool
) -> None:
    """Nine people answered before; 31 report now. Then another question is refused by all."""
    facts = population.facts if decoding else None
    folder = enrolled(on_requery="replay").folder
    some = [Question(ask()[0].query, np.arange(9))]
    run_collection(CollectOnce(some, range(1, 41)), kind(folder, 40))
    strategy = CollectOnce(ask(), range(1, 41), facts=facts)
    plan = plan_of(strategy, kind(folder, 40))
    _, metrics = strategy.aggregate_train(1, kind(folder, 40).send_and_receive(plan))
    c = strategy.collected
    assert (c.asked, c.reported, c.replayed, c.silent, c.failed, c.messages) == (40, 31, 9, 0, 0, 80)
    assert metrics is not None and dict(metrics) == {"reported": 31, "replayed": 9, "refused": 0}
    assert (c.decoded is None) != decoding and (c.digest == "") != decoding and bool(c.reports) != decoding
    other = CollectOnce(ask(epsilon=1.5), range(1, 41), facts=facts, silent=frozenset({4}))
    plan = plan_of(other, kind(folder, 40))
    _, metrics = other.aggregate_train(1, kind(folder, 40).send_and_receive(plan))
    c = other.collected
    assert (c.reported, c.replayed, c.silent, sum(c.refused.values()), c.uplink_bytes, c.messages) == (
        0,
        0,
        1,
        39,
        0,
        79,
    )
    assert metrics is not None and dict(metrics) == {"reported": 0, "replayed": 0, "refused": 39}


def test_a_query_of_several_stages_needs_the_maker_of_the_later_ones(
    population: Population, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    method = LDPGen(groups=3)
    split = make_split("random", population, 0)
    questions = method.questions(population.facts, split, Budget(epsilon=4, public_features=True), "first")
    with pytest.raises(ValueError, match="a query of several stages needs stages="):
        CollectOnce(questions, range(1, 41))
    strategy = CollectOnce(
        questions, range(1, 41), stages=Stages(method, population.facts, tmp_path), facts=population.facts
    )
    assert strategy.rounds == 2 and strategy._stream is None  # bytes of several stages are kept
    rules = policy_for([question.query for question in questions], population.facts)
    grid = LocalGrid(enrol(tmp_path / "state", population, rules, seed=5).folder, 40)
    strategy.silent = frozenset({7, 8})
    collected = run_collection(strategy, grid)
    assert (collected.rounds, collected.asked, collected.reported, collected.silent) == (2, 40, 38, 2)
    assert collected.messages == 40 + 38 + 38 + 38 and 7 not in collected.answers
    assert collected.grouping is not None and len(collected.grouping) == 40
    assert capsys.readouterr().out == "" and collected.seconds > 0
    nobody = CollectOnce(questions, range(1, 41), stages=Stages(method, population.facts, tmp_path))
    assert list(nobody.configure_train(2, ArrayRecord(), ConfigRecord(), grid)) == [] and nobody.collected.rounds == 0


def test_parts_that_follow_others_are_kept_as_bytes(ask: Ask, population: Population) -> None:
    (question,) = ask()
    for parts, streamed in (((0,), True), ((0, 0), True), ((0, 1), False)):
        questions = [replace(question, part=part) for part in parts]
        assert (CollectOnce(questions, range(40), facts=population.facts)._stream is not None) == streamed


def test_the_time_limit_reaches_the_grid(enrolled: Enrolled, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float | None] = []
    send = LocalGrid.send_and_receive

    def sending(self: LocalGrid, messages: Any, *, timeout: float | None = None) -> Any:
        seen.append(timeout)
        return send(self, messages, timeout=timeout)

    monkeypatch.setattr(LocalGrid, "send_and_receive", sending)
    folder = enrolled(on_requery="replay").folder
    run_collection(CollectOnce(ask(), range(1, 41)), LocalGrid(folder, 40), timeout=7.5)
    run_collection(CollectOnce(ask(), range(1, 41)), LocalGrid(folder, 40))
    assert seen[0] == 7.5 and 3600 in seen
