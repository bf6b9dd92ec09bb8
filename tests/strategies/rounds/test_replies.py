"""Replies of a training and contributions of an exchange: every change of an honest one is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict

from ldpsim.devices.data.population import Population
from ldpsim.devices.data.records import Record
from ldpsim.devices.federated.exchange import read_contribution, read_sums, rows_record
from ldpsim.devices.federated.local_steps import SparseRows
from ldpsim.devices.federated.members import contribution_of
from ldpsim.devices.federated.wire import OTHERS, WEIGHTS, record_of, round_content, round_reply, weights_record
from ldpsim.devices.network import LARGEST
from ldpsim.devices.training_task import Task
from ldpsim.devices.wire import EXCHANGE_TYPE
from ldpsim.strategies.engines.grids import DirectGrid
from ldpsim.strategies.rounds.replies import Replies, TooManyFailed
from ldpsim.strategies.rounds.training_grid import TrainingGrid, exchange_sums

PEOPLE = 12
OWN = Task("first", "own", 20, 3, 3, 0.3, 2)
SILOS = Task("first", "sums", 20, 3, 3, 0.3, 2, seed=1)
START = OWN.shape.initial(3)
Change = Callable[[RecordDict], Any]


def question(kind: str = MessageType.TRAIN, *, arrays: bool = True, control: bool = False) -> Message:
    content = round_content(
        weights_record(START) if arrays else None,
        ConfigRecord({"task": OWN.to_bytes()}),
        None,
        weights_record(START) if control else None,
    )
    return Message(content, 1, kind)


def weights(change: Callable[[np.ndarray], np.ndarray]) -> Change:
    return lambda content: content.update({"arrays": weights_record(change(START))})


def array(data: bytes, dtype: str = "float32") -> Change:
    return lambda content: content.update({"arrays": ArrayRecord({WEIGHTS: Array(dtype, (len(START),), "numpy.ndarray",
                                                                                 data)})})  # fmt: skip


def one(value: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda weights: np.where(np.arange(len(weights)) == 7, np.float32(value), weights)


def figures(**values: Any) -> Change:
    metrics = {name.replace("_", "-"): value for name, value in values.items()}
    return lambda content: content.update({"metrics": MetricRecord(metrics)})


LIES: list[tuple[Change, str]] = [
    (weights(lambda new: new[:-1].copy()), "the weights have another shape or type"),
    (weights(lambda new: np.append(new, new[:1])), "the weights have another shape or type"),
    (weights(lambda new: new.astype(np.float64)), "the weights have another shape or type"),
    (array(b"", "int8"), "the weights have another shape or type"),
    (array(b"", "no type"), "the weights have another shape or type"),
    *((weights(one(value)), "the weights are too large, or no finite numbers")
      for value in (np.nan, np.inf, -np.inf, 3e38, -1.01 * LARGEST)),
    (array(b""), "the bytes of the weights cannot be read"),
    (array(b"\x93NUMPY and so on"), "the bytes of the weights cannot be read"),
    (array(weights_record(START)[WEIGHTS].data + b"x"), "the bytes of the weights cannot be read"),
    (lambda content: content.update({"arrays": ArrayRecord()}), "the weights are missing, or beside other arrays"),
    (lambda content: content.update({"arrays": MetricRecord()}), "the weights are missing, or beside other arrays"),
    (figures(num_examples=[1]), "the number of people is impossible"),
    (figures(num_examples=0), "the number of people is impossible"),
    (figures(num_examples=-3), "the number of people is impossible"),
    (figures(num_examples=2), "the number of people is impossible"),
    (figures(num_examples=1.0), "the number of people is impossible"),
    (figures(examples=1), "its figures are others than those that were asked"),
    (figures(num_examples=1, loss=0.1), "its figures are others than those that were asked"),
    (lambda content: content.update({"metrics": ConfigRecord()}), "its figures are others than those that were asked"),
    (lambda content: content.pop("metrics"), "the reply is no answer to the question"),
    (lambda content: content.pop("arrays"), "the reply is no answer to the question"),
    (lambda content: content.update({"more": ConfigRecord({"x": []})}), "the reply is no answer to the question"),
    (lambda content: content.update({OTHERS: ArrayRecord()}), "the reply is no answer to the question"),
]  # fmt: skip


def test_an_honest_update_is_an_answer() -> None:
    asked = question()
    assert Replies(OWN, PEOPLE).problem(asked, round_reply(asked, weights=START + 1, people=1)) == ""
    assert Replies(OWN, PEOPLE).problem(asked, round_reply(asked, weights=one(LARGEST)(START), people=1)) == ""


@pytest.mark.parametrize("place", range(len(LIES)))
def test_every_change_of_its_form_is_named(place: int) -> None:
    change, problem = LIES[place]
    asked = question()
    reply = round_reply(asked, weights=START + 1, people=1)
    change(reply.content)
    assert Replies(OWN, PEOPLE).problem(asked, reply) == problem


@pytest.mark.parametrize(("metrics", "problem"), [
    ({"num-examples": 1, "accuracy": 0.0}, ""), ({"num-examples": 1, "accuracy": 1.0}, ""),
    ({"num-examples": 1, "accuracy": 1.01}, "the accuracy is impossible"),
    ({"num-examples": 1, "accuracy": -0.01}, "the accuracy is impossible"),
    ({"num-examples": 1, "accuracy": float("nan")}, "the accuracy is impossible"),
    ({"num-examples": 1, "accuracy": [1.0]}, "the accuracy is impossible"),
    ({"num-examples": 2, "accuracy": 1.0}, "the number of people is impossible"),
    ({"num-examples": 1}, "its figures are others than those that were asked"),
])  # fmt: skip
def test_an_accuracy_is_a_share_of_the_people_of_a_party(metrics: dict[str, Any], problem: str) -> None:
    asked = question(MessageType.EVALUATE)
    reply = round_reply(asked, people=1, right=1)
    reply.content["metrics"] = MetricRecord(metrics)
    assert Replies(OWN, PEOPLE).problem(asked, reply) == problem


def silo_rows(
    ids: list[int], columns: list[int], members: list[int], degrees: list[int], value: float = 1.0
) -> ArrayRecord:
    people = {"ids": ids, "members": members, "degrees": degrees}
    whole = {name: np.array(given, np.int32) for name, given in people.items()}
    starts, values = np.arange(len(columns) + 1, dtype=np.int32), np.full(len(columns), value, np.float32)
    return record_of(starts=starts, columns=np.array(columns, np.int32), values=values, **whole)


STRANGE = "the contribution names somebody twice, or is cut off"


@pytest.mark.parametrize(("told", "problem"), [
    (silo_rows([0, 11], [3, 19], [0, 11], [2, 1]), ""),
    (silo_rows([0, 12], [3, 19], [0], [2]), "ids: a number is outside 0..11"),
    (silo_rows([0, 11], [3, 19], [12], [2]), "members: a number is outside 0..11"),
    (silo_rows([0, 11], [3, 19], [0], [12]), "degrees: a number is outside 0..11"),
    (silo_rows([0], [3], [0], [1], np.inf), "the arrays of the contribution are too large, or no finite numbers"),
    (silo_rows([0, 0], [3, 19], [0], [1]), STRANGE), (silo_rows([0], [3], [0], []), STRANGE),
    (silo_rows([0], [3, 4], [0], [1]), "the contribution has rows of nobody"),
    (silo_rows([0], [20], [0], [1]), "the contribution, columns: a number is outside 0..19"),
    (ArrayRecord(), "the arrays of the contribution are missing, or beside other arrays"),
])  # fmt: skip
def test_a_silos_sums_name_people_that_are_there_and_make_a_matrix(told: ArrayRecord, problem: str) -> None:
    asked = question(EXCHANGE_TYPE, arrays=False)
    assert Replies(SILOS, PEOPLE).problem(asked, round_reply(asked, others=told)) == problem


@pytest.mark.parametrize("sees", ["ego", "sums"])
def test_a_party_names_a_neighbour_once(sees: str) -> None:
    """The server forwards a row for each name: 4 bytes would bring as many as a row has."""
    asked, judge = question(EXCHANGE_TYPE, arrays=sees == "ego"), Replies(replace(OWN, sees=sees), PEOPLE)
    strange = "neighbours: a number is outside 0..11"
    twice = "the values for others name a neighbour twice"
    for neighbours, problem in (([4, 2], ""), ([4, 2, 4], twice), ([12], strange)):
        listed = np.array(neighbours, np.int32)
        told = record_of(values=np.zeros(2 * OWN.hidden, np.float32), neighbours=listed)
        if sees == "sums":
            told = rows_record(SparseRows.one(np.arange(2), np.ones(2)), neighbours=listed)
        assert judge.problem(asked, round_reply(asked, others=told)) == problem


def stop(judge: Replies, failed: dict[int, str], *kinds: str) -> str:
    messages = [Message(RecordDict(), node, kind) for node, kind in enumerate(kinds, 1)]
    with pytest.raises(TooManyFailed) as found:
        judge.check_failed(failed, messages, "round 4")
    return str(found.value)


def test_more_than_half_of_those_with_one_question_stop_a_training() -> None:
    judge, train = Replies(OWN, PEOPLE), ["train"] * 4
    assert stop(judge, {1: "a", 3: "b", 4: "c"}, *train) == (
        "3 of 4 failed in round 4 (device 0: a; device 2: b; device 3: c), so the training stopped for good"
    )
    assert "3 of 3 failed" in stop(judge, dict.fromkeys([1, 2, 3], "a"), *train[:3], *[EXCHANGE_TYPE] * 9)
    assert "and 2 more)" in stop(judge, dict.fromkeys(range(1, 6), "a"), *["train"] * 6)
    messages = [Message(RecordDict(), node, "train") for node in range(1, 5)]
    judge.check_failed({1: "a", 2: "b"}, messages, "round 4")
    judge.check_failed({1: "a"}, messages[:1], "round 4")  # one liar never stops the others
    judge.check_failed({}, [], "round 4")
    assert stop(judge, {1: "a", 2: "b"}, "train", "train").startswith("2 of 2")


FORTY = 40
SUMS = Task("first", "sums", 256, 4, 5, 0.1, 1)


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
                data = contribution_of(self.records[device], SUMS)
            else:
                self.got[device] = message.content.array_records.get("own")
            yield round_reply(message, others=data)


def sums(population: Population, changed: Mapping[int, Record] | None = None) -> dict[int, ArrayRecord | None]:
    """Run the exchange, with the records of some people changed, and return what each device got."""
    records = [(changed or {}).get(person, population.record(person)) for person in range(FORTY)]
    inner = Told(records)
    nodes = list(range(1, FORTY + 1))
    grid = TrainingGrid(inner, train=lambda r: [], replies=Replies(SUMS, FORTY))
    exchange_sums(grid, SUMS, nodes, FORTY, nodes)
    return inner.got


def without(population: Population, person: int, other: int) -> Record:
    record = population.record(person)
    return replace(record, neighbours=record.neighbours[record.neighbours != other])


def test_sums_are_those_of_the_normalised_adjacency(population: Population) -> None:
    """S X with S = D^-1/2 (A + I) D^-1/2, by dense matrices; X are the features as devices send them."""
    listed, features = np.eye(FORTY), np.zeros((FORTY, SUMS.d))
    for person in range(FORTY):
        told = read_contribution(contribution_of(population.record(person), SUMS), SUMS, FORTY)
        listed[person, told.more["neighbours"]] = 1
        features[person, told.rows.columns] = told.rows.values
    root = 1 / np.sqrt(listed.sum(axis=1))
    spread = root[:, None] * listed * root
    for person, data in sums(population).items():
        found = read_sums(data, SUMS)
        near = np.flatnonzero(listed[person])
        rows = found.rows.matrix(SUMS.d).toarray()
        np.testing.assert_allclose(rows, (spread @ features)[near], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(found.more["weights"], spread[person, near], rtol=1e-6)


def test_an_edge_that_one_end_leaves_out_does_not_count(population: Population) -> None:
    left, right = population.edges[:, 0].tolist()
    one, both = {left: without(population, left, right)}, {right: without(population, right, left)}
    assert sums(population, one) == sums(population, {**one, **both}) != sums(population)
    assert len(read_sums(sums(population, one)[left], SUMS).rows) == population.degrees[left]  # itself, and one less


def test_a_contribution_that_is_out_of_range_is_left_out(population: Population) -> None:
    """Others get the sums that they would get if the device had neither features nor neighbours."""
    person = int(population.edges[0, 0])
    record = population.record(person)
    nothing = replace(record, feature_indices=record.feature_indices[:0], feature_values=record.feature_values[:0],
                      neighbours=record.neighbours[:0])  # fmt: skip
    expected = sums(population, {person: nothing})
    for wrong in (FORTY, 1 << 30, -1):
        beyond = replace(record, neighbours=np.append(record.neighbours, np.int32(wrong)))
        assert sums(population, {person: beyond}) == expected
