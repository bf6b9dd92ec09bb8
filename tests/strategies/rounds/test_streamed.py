"""Reports that are decoded as they come are those of the bytes, whatever the order of the replies."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord

from ldpsim.curator.methods import Question
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State
from ldpsim.strategies.engines.collect import collect
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.rounds import messages as outbox
from ldpsim.strategies.rounds.collect_once import CollectOnce
from ldpsim.strategies.rounds.messages import Streamed

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
