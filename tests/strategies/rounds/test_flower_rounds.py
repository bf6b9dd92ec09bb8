"""Rounds under Flower's loop, and the weights they end with.

Covers training_grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Error, Message, MetricRecord, RecordDict
from flwr.serverapp.strategy import FedAvg

from ldpsim.devices.device import Refusal
from ldpsim.devices.federated.wire import (
    WEIGHTS,
    round_reply,
    weights_record,
)
from ldpsim.devices.network import LARGEST, FloatArray
from ldpsim.devices.wire import reply
from ldpsim.strategies.engines.grids import DirectGrid
from ldpsim.strategies.federated import EVERYBODY
from ldpsim.strategies.rounds.checkpoint import Best, Standing, run_rounds
from ldpsim.strategies.rounds.training_grid import RoundTally, TrainingGrid, draw_nodes

TASK = b"task"
START = np.zeros(2, np.float32)


class Counting(DirectGrid):
    """One device that adds 1 to the weights, and says that the model is right after the rounds named."""

    def __init__(self, right: Sequence[int] = ()) -> None:
        super().__init__(1)
        self.right, self.seen = right, list[float]()

    def deliver(self, messages: Sequence[Message]) -> Iterable[Message]:  # type: ignore[override]
        for message in messages:
            weights = message.content.array_records["arrays"][WEIGHTS].numpy()
            if message.metadata.message_type == "train":
                yield round_reply(message, weights=weights + 1, people=1)
            else:
                self.seen.append(float(weights[0]))
                yield round_reply(message, people=1, right=int(int(weights[0]) in self.right))


def rounds(right: Sequence[int] | None, **more: Any) -> tuple[FloatArray, list[tuple[int, float]]]:
    """Run five rounds; return the weights and what was told after each. ``right`` None: nobody evaluates."""
    inner, told = Counting(right or ()), list[tuple[int, float]]()
    grid = TrainingGrid(inner, train=lambda r: [1], evaluate=lambda r: [] if right is None else [1])
    weights = run_rounds(FedAvg(**EVERYBODY), grid, Standing(START, **more), TASK, rounds=5,
                         after=lambda number, weights: told.append((number, float(weights[0]))))  # fmt: skip
    return weights, told


def test_the_weights_of_the_round_that_evaluated_best_are_returned() -> None:
    best = Best()
    weights, told = rounds([2, 4], best=best)
    assert weights.tolist() == [2.0, 2.0] == best.weights.tolist()  # type: ignore[union-attr]  # the first of the best
    assert best.accuracy == 1.0
    assert told == [(number, float(number)) for number in range(6)]


def test_the_last_weights_are_returned_where_nobody_evaluates() -> None:
    weights, _ = rounds(None)
    assert weights.tolist() == [5.0, 5.0]


def test_rounds_go_on_from_those_that_were_run_before() -> None:
    before = Best(0.5, np.full(2, 9, np.float32))
    weights, told = rounds([], done=3, best=before)
    assert [number for number, _ in told] == [3, 4, 5]
    assert weights.tolist() == [9.0, 9.0]  # nothing was better than what evaluated best before


def test_the_nodes_of_a_round_are_drawn_without_replacement() -> None:
    nodes = list(range(5, 45))
    drawn = [draw_nodes(nodes, 0.3, [7, number]) for number in range(50)]
    assert drawn[0] == draw_nodes(nodes, 0.3, [7, 0])
    assert all(len(set(some)) == 12 and set(some) <= set(nodes) and list(some) == sorted(some) for some in drawn)
    assert len({tuple(some) for some in drawn}) == 50
    assert set().union(*drawn) == set(nodes)  # that one of 40 misses 50 draws has probability 1e-6
    assert draw_nodes(nodes, 1.0, [7]) == nodes and len(draw_nodes(nodes, 1e-9, [7])) == 1


def test_who_drops_out_is_drawn_by_round_and_by_node() -> None:
    grid = TrainingGrid(DirectGrid(1), train=lambda r: [], dropping=0.5, seed=3, silent=frozenset({4}))
    dropped = np.array([[grid.drops(node, number) for node in range(1, 41)] for number in range(1, 41)])
    assert dropped[:, 3].all()
    others = np.delete(dropped, 3, axis=1)
    for axis in (0, 1):  # no node and no round drops always or never: 2^-39 each
        assert 0 < others.sum(axis=axis).min() and others.sum(axis=axis).max() < others.shape[axis]
    assert abs(others.mean() - 0.5) < 4.9 * 0.5 / others.size**0.5


def test_weights_that_add_up_to_more_than_a_device_accepts_are_sent_as_the_largest() -> None:
    sent: list[FloatArray] = []

    class Doubling(FedAvg):
        def configure_train(self, server_round: int, arrays: ArrayRecord, *rest: Any) -> Iterable[Message]:
            sent.append(arrays[WEIGHTS].numpy())
            return super().configure_train(server_round, arrays, *rest)

        def aggregate_train(self, *given: Any) -> tuple[ArrayRecord | None, MetricRecord | None]:
            super().aggregate_train(*given)
            return weights_record(np.float32([4 * LARGEST, -np.inf])), None

    run_rounds(Doubling(**EVERYBODY), TrainingGrid(Counting(), train=lambda r: [1]), Standing(START), TASK, rounds=2)
    assert sent[1].tolist() == [LARGEST, -LARGEST] and sent[1].dtype == np.float32


class Mixed(DirectGrid):
    """Four devices: a refusal, another error, nothing that is an answer, and an answer."""

    def __init__(self) -> None:
        super().__init__(4)

    def deliver(self, messages: Sequence[Message]) -> Iterable[Message]:  # type: ignore[override]
        for message in messages:
            node = message.metadata.dst_node_id
            if node == 1:
                yield reply(Refusal.REPORT_COLLECTED, message, device=0)
            elif node == 2:
                yield Message(Error(0, "it broke"), reply_to=message)
            elif node == 3:
                yield Message(RecordDict({}), reply_to=message)
            else:
                yield round_reply(message, weights=START + 1, people=1)


def test_every_reply_of_a_round_is_counted_for_what_it_is() -> None:
    grid = TrainingGrid(Mixed(), train=lambda r: [1, 2, 3, 4])
    weights = run_rounds(FedAvg(**EVERYBODY), grid, Standing(START), TASK, rounds=2)
    assert weights.tolist() == [1.0, 1.0]
    tally = grid.tally
    assert (tally.asked, tally.answered, tally.heard) == ({1, 2, 3, 4}, {4: 2}, 2)
    assert (tally.refused, tally.rounds_answered) == ({1: "REPORT_COLLECTED"}, 2)
    assert tally.failed == {
        2: "round 1, training: it sent an error",
        3: "round 1, training: the reply is no answer to the question",
    }
    phase = tally.phases["training"]
    assert (phase.rounds, phase.messages) == (2, 16)  # four there and four back
    assert phase.downlink_bytes > 0 < phase.uplink_bytes
    found = tally.collected(12.5)
    assert (found.asked, found.reported, found.failed, found.silent, found.seconds) == (4, 1, 2, 0, 12.5)
    assert found.refused == {"REPORT_COLLECTED": 1} and (found.rounds, found.messages) == (2, 16)
    assert (found.uplink_bytes, found.downlink_bytes) == (phase.uplink_bytes, phase.downlink_bytes)
    assert RoundTally.from_dict(tally.to_dict()) == tally
