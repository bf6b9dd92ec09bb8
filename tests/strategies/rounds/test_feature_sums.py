"""FedGCN's exchange: whose contribution it is, which edges count, and what a malformed one changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from flwr.app import ArrayRecord, Message

from ldpsim.devices.data.population import Population, Record
from ldpsim.devices.federated.exchange import read_contribution, read_sums
from ldpsim.devices.federated.members import contribution_of
from ldpsim.devices.federated.wire import EXCHANGE_TYPE, read_own, round_reply
from ldpsim.devices.training_task import Task
from ldpsim.strategies.engines.grids import DirectGrid
from ldpsim.strategies.rounds.replies import Replies
from ldpsim.strategies.rounds.training_grid import TrainingGrid, exchange_sums

PEOPLE = 40
TASK = Task("first", "sums", 256, 4, 5, 0.1, 1)


class Told(DirectGrid):
    """Devices that contribute the records given, and keep the sums that they get."""

    def __init__(self, records: Sequence[Record]) -> None:
        super().__init__(len(records))
        self.records = records
        self.got: dict[int, ArrayRecord | None] = {}

    def deliver(self, messages: Sequence[Message]) -> Iterator[Message]:
        """Answer a message each."""
        for message in messages:
            device = message.metadata.dst_node_id - 1
            data = ArrayRecord()
            if message.metadata.message_type == EXCHANGE_TYPE:
                data = contribution_of(self.records[device], TASK)
            else:
                self.got[device] = read_own(message)
            yield round_reply(message, others=data)


def sums(population: Population, changed: Mapping[int, Record] | None = None) -> dict[int, ArrayRecord | None]:
    """Run the exchange, with the records of some people changed, and return what each device got."""
    records = [(changed or {}).get(person, population.record(person)) for person in range(PEOPLE)]
    inner = Told(records)
    nodes = list(range(1, PEOPLE + 1))
    grid = TrainingGrid(inner, train=lambda r: [], replies=Replies(TASK, PEOPLE))
    exchange_sums(grid, TASK, nodes, PEOPLE, nodes)
    return inner.got


def without(population: Population, person: int, other: int) -> Record:
    record = population.record(person)
    return replace(record, neighbours=record.neighbours[record.neighbours != other])


def test_sums_are_those_of_the_normalised_adjacency(population: Population) -> None:
    """S X with S = D^-1/2 (A + I) D^-1/2, by dense matrices; X are the features as devices send them."""
    listed, features = np.eye(PEOPLE), np.zeros((PEOPLE, TASK.d))
    for person in range(PEOPLE):
        told = read_contribution(contribution_of(population.record(person), TASK), TASK, PEOPLE)
        listed[person, told.more["neighbours"]] = 1
        features[person, told.rows.columns] = told.rows.values
    root = 1 / np.sqrt(listed.sum(axis=1))
    spread = root[:, None] * listed * root
    for person, data in sums(population).items():
        found = read_sums(data, TASK)
        near = np.flatnonzero(listed[person])
        rows = found.rows.matrix(TASK.d).toarray()
        np.testing.assert_allclose(rows, (spread @ features)[near], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(found.more["weights"], spread[person, near], rtol=1e-6)


def test_an_edge_that_one_end_leaves_out_does_not_count(population: Population) -> None:
    left, right = population.edges[:, 0].tolist()
    one, both = {left: without(population, left, right)}, {right: without(population, right, left)}
    assert sums(population, one) == sums(population, {**one, **both}) != sums(population)
    assert len(read_sums(sums(population, one)[left], TASK).rows) == population.degrees[left]  # itself, and one less


def test_a_contribution_that_is_out_of_range_is_left_out(population: Population) -> None:
    """Others get the sums that they would get if the device had neither features nor neighbours."""
    person = int(population.edges[0, 0])
    record = population.record(person)
    nothing = replace(record, feature_indices=record.feature_indices[:0], feature_values=record.feature_values[:0],
                      neighbours=record.neighbours[:0])  # fmt: skip
    expected = sums(population, {person: nothing})
    for wrong in (PEOPLE, 1 << 30, -1):
        beyond = replace(record, neighbours=np.append(record.neighbours, np.int32(wrong)))
        assert sums(population, {person: beyond}) == expected
