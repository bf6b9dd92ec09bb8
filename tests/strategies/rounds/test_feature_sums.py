"""FedGCN's exchange: whose contribution it is, which edges count, and what a malformed one changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from flwr.app import Message
from scipy.sparse import csr_array

from ldpsim.devices.data.population import Population, Record
from ldpsim.devices.federated.exchange import Sums, pack_contribution, read_contribution
from ldpsim.devices.federated.wire import EXCHANGE_TYPE, exchange_reply, read_own
from ldpsim.devices.training_task import Task
from ldpsim.strategies.engines.grids import DirectGrid
from ldpsim.strategies.rounds.feature_sums import exchange_sums
from ldpsim.strategies.rounds.replies import Replies
from ldpsim.strategies.rounds.training_grid import TrainingGrid

PEOPLE = 40
TASK = Task("first", "sums", 256, 4, 5, 0.1, 1)


class Told(DirectGrid):
    """Devices that contribute the records given, under the numbers given, and keep the sums that they get."""

    def __init__(self, records: Sequence[Record], claims: Mapping[int, int]) -> None:
        super().__init__(len(records))
        self.records, self.claims = records, claims
        self.got: dict[int, bytes] = {}

    def deliver(self, messages: Sequence[Message]) -> Iterator[Message]:
        """Answer a message each."""
        for message in messages:
            device = message.metadata.dst_node_id - 1
            data = b""
            if message.metadata.message_type == EXCHANGE_TYPE:
                data = pack_contribution(self.records[device], TASK)
            else:
                self.got[device] = read_own(message) or b""
            yield exchange_reply(data, message, device=self.claims.get(device, device))


def sums(
    population: Population, changed: Mapping[int, Record] | None = None, claims: Mapping[int, int] | None = None
) -> dict[int, bytes]:
    """Run the exchange, with the records of some people changed, and return what each device got."""
    records = [(changed or {}).get(person, population.record(person)) for person in range(PEOPLE)]
    inner = Told(records, claims or {})
    nodes = list(range(1, PEOPLE + 1))
    grid = TrainingGrid(inner, train=lambda r: [], replies=Replies(TASK, PEOPLE))
    exchange_sums(grid, TASK, nodes, np.array(nodes))
    return inner.got


def without(population: Population, person: int, other: int) -> Record:
    record = population.record(person)
    return replace(record, neighbours=record.neighbours[record.neighbours != other])


def test_sums_are_those_of_the_normalised_adjacency(population: Population) -> None:
    """S X with S = D^-1/2 (A + I) D^-1/2, by dense matrices; X are the features as devices send them."""
    listed, features = np.eye(PEOPLE), np.zeros((PEOPLE, TASK.d))
    for person in range(PEOPLE):
        neighbours, columns, values = read_contribution(pack_contribution(population.record(person), TASK))
        listed[person, neighbours] = 1
        features[person, columns] = values
    root = 1 / np.sqrt(listed.sum(axis=1))
    spread = root[:, None] * listed * root
    for person, data in sums(population).items():
        found = Sums.from_bytes(data)
        near = np.flatnonzero(listed[person])
        rows = csr_array((found.values, found.columns, found.indptr), shape=(len(near), TASK.d)).toarray()
        np.testing.assert_allclose(rows, (spread @ features)[near], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(found.weights, spread[person, near], rtol=1e-6)


def test_a_contribution_is_that_of_its_node_whatever_number_it_claims(population: Population) -> None:
    honest = sums(population)
    assert len(honest) == PEOPLE
    assert sums(population, claims={3: 7, 7: 3, 5: 900}) == honest


def test_an_edge_that_one_end_leaves_out_does_not_count(population: Population) -> None:
    left, right = population.edges[:, 0].tolist()
    one, both = {left: without(population, left, right)}, {right: without(population, right, left)}
    assert sums(population, one) == sums(population, {**one, **both}) != sums(population)
    assert len(Sums.from_bytes(sums(population, one)[left]).weights) == population.degrees[left]  # itself, and one less


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
