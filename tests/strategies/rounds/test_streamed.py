"""Reports that are decoded as they come are those of the bytes, whatever the order of the replies."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord

from ldpsim.curator.methods import Question
from ldpsim.curator.reports.digest import reports_digest
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.wire import ReportColumns
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.rounds import messages as outbox
from ldpsim.strategies.rounds.collect_once import CollectOnce
from ldpsim.strategies.rounds.messages import Outbox, Streamed, _in_order, batches_of

Ask = Callable[..., tuple[Question, ...]]
Enrolled = Callable[..., State]


def same(one: Reports, other: Reports) -> None:
    assert one.adjacency is not None and other.adjacency is not None
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
    silent = frozenset({3, 17, 39})
    kept = collect(enrolled().folder, questions, devices=40, engine="local", silent=silent)
    most: list[int] = []
    settle = Streamed.settle

    def watched(self: Streamed, below: int) -> None:
        most.append(self.waiting)
        settle(self, below)

    monkeypatch.setattr(Streamed, "settle", watched)
    found = collect(enrolled().folder, questions, devices=40, engine="local", silent=silent, facts=population.facts)
    assert found.decoded is not None and not found.reports and not found.answers
    same(found.decoded, Reports.from_bytes(population.facts, questions, kept.answers))
    assert found.reports_sha256 == kept.reports_sha256
    same_counts = {name: getattr(kept, name) for name in ("asked", "reported", "silent", "messages", "uplink_bytes")}
    assert {name: getattr(found, name) for name in same_counts} == same_counts and found.silent == 3
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
    assert (collected.reported, collected.failed) == (40, 1)
    assert collected.decoded is not None and collected.reports_sha256 == kept.reports_sha256
    same(collected.decoded, Reports.from_bytes(population.facts, ask(), kept.answers))


def test_a_device_that_answered_alone_is_counted_once(
    enrolled: Enrolled, ask: Ask, population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(LocalGrid, "takes_batches", False)
        grid = LocalGrid(enrolled().folder, 40)
        alone = CollectOnce(ask(), range(1, 41)).configure_train(1, ArrayRecord(), ConfigRecord(), grid)
        reply = list(grid.send_and_receive(list(alone)))[5]
    strategy = CollectOnce(ask(), range(1, 41), facts=population.facts)
    grid = LocalGrid(enrolled().folder, 40)
    messages = strategy.configure_train(1, ArrayRecord(), ConfigRecord(), grid)
    replies = list(grid.send_and_receive(list(messages)))
    strategy.aggregate_train(1, [reply, *replies])
    collected = strategy.collected
    assert (collected.reported + collected.replayed, collected.failed) == (40, 1)
    assert collected.decoded is not None and collected.decoded.answered.all()


def test_messages_are_made_as_the_replies_are_read(
    enrolled: Enrolled, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "SHARD", 10)
    strategy = CollectOnce(ask(), range(1, 41))
    grid = LocalGrid(enrolled().folder, 40)
    messages = strategy.configure_train(1, ArrayRecord(), ConfigRecord(), grid)
    assert isinstance(messages, Outbox) and len(messages) == 4 and not strategy._outbox.batches
    replies: Iterable[Any] = grid.send_and_receive(messages)
    assert not strategy._outbox.batches
    next(iter(replies))
    assert len(strategy._outbox.batches) == 1


def test_a_batch_has_devices_of_one_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "SHARD", 8)
    found = [batch.tolist() for batch in batches_of(np.array([17, 0, 1, 2, 5, 6, 8, 9, 23]))]
    assert found == [[0, 1, 2, 5, 6], [8, 9], [17, 23]]
    assert list(batches_of(np.zeros(0, np.int64))) == []


def test_reports_that_come_one_by_one_are_looked_at_once(
    enrolled: Enrolled, ask: Ask, population: Population, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not after every message: the time of a collection would grow with the square of the devices."""
    looked: list[int] = []
    cut = ReportColumns.cut

    def watched(self: ReportColumns, below: int) -> tuple[ReportColumns, ReportColumns]:
        looked.append(below)
        return cut(self, below)

    monkeypatch.setattr(ReportColumns, "cut", watched)
    monkeypatch.setattr(LocalGrid, "takes_batches", False)
    alone = collect(enrolled().folder, ask(), devices=40, engine="local", facts=population.facts)
    assert looked == [40] * 40 and alone.reported == 40
    kept = collect(enrolled().folder, ask(), devices=40, engine="local")
    assert alone.decoded is not None
    same(alone.decoded, Reports.from_bytes(population.facts, ask(), kept.answers))


def test_reports_wait_for_those_before_them(enrolled: Enrolled, ask: Ask, population: Population) -> None:
    """Devices 5-9 and 20-29 come first: nothing below 5 is settled, and then each part as far as it is known."""
    kept = collect(enrolled().folder, ask(), devices=40, engine="local")
    stream = Streamed(population.facts, ask())

    def columns(devices: range) -> ReportColumns:
        parts = {name: [[kept.answers[device][name][place] for device in devices]
                        for place in range(len(kept.answers[0][name]))] for name in kept.answers[0]}  # fmt: skip
        return ReportColumns(np.array(devices), [kept.reports[device] for device in devices], parts)

    assert not stream.has(5) and stream.waiting == 0
    stream.take(columns(range(20, 30)))
    stream.take(columns(range(5, 10)))
    assert stream.has(5) and stream.has(np.array([0, 29])) and not stream.has(np.array([0, 4, 10, 30]))
    waiting = []
    for below in (0, 5, 7, 7, 20, 21, 25):
        stream.settle(below)
        waiting.append(stream.waiting)
    assert waiting == [15, 15, 13, 13, 10, 9, 5]
    stream.take(columns(range(30, 40)))
    assert stream.waiting == 15
    stream.settle(29)
    assert stream.waiting == 11
    reports, digest, wrong = stream.done()
    assert (
        wrong == []
        and stream.waiting == 0
        and np.flatnonzero(reports.answered).tolist() == [*range(5, 10), *range(20, 40)]
    )
    here = {device: data for device, data in kept.reports.items() if 5 <= device < 10 or device >= 20}
    assert digest == reports_digest(here)
    some = {device: answers for device, answers in kept.answers.items() if device in here}
    same(reports, Reports.from_bytes(population.facts, ask(), some))


def test_columns_are_put_in_rising_order() -> None:
    a, b, c = np.array([1, 4]), np.array([2, 3]), np.array([9])
    assert _in_order([]) == ([], []) and _in_order([(a, ["x", "y"])]) == ([1, 4], ["x", "y"])
    assert _in_order([(a, ["x", "y"]), (c, ["z"])]) == ([1, 4, 9], ["x", "y", "z"])
    assert _in_order([(c, ["z"]), (a, ["x", "y"]), (b, ["u", "v"])]) == ([1, 2, 3, 4, 9], ["x", "u", "v", "y", "z"])
