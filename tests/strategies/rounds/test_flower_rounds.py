"""Rounds under Flower's loop, and the weights they end with.

Covers training_grid.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import numpy as np
from flwr.app import Message
from flwr.serverapp.strategy import FedAvg

from devices.federated.wire import WEIGHTS, evaluation_reply, update_reply
from devices.network import FloatArray
from strategies.engines.grids import DirectGrid
from strategies.federated.fedavg import EVERYBODY
from strategies.rounds.flower_rounds import Best, run_rounds, seeded
from strategies.rounds.training_grid import TrainingGrid, draw_nodes

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
                yield update_reply(weights + 1, message, device=0)
            else:
                self.seen.append(float(weights[0]))
                yield evaluation_reply(int(weights[0]) in self.right, message)


def rounds(right: Sequence[int] | None, **more: object) -> tuple[FloatArray, list[tuple[int, float]]]:
    """Run five rounds; return the weights and what was told after each. ``right`` None: nobody evaluates."""
    inner, told = Counting(right or ()), list[tuple[int, float]]()
    grid = TrainingGrid(inner, train=lambda r: [1], evaluate=lambda r: [] if right is None else [1])
    weights = run_rounds(FedAvg(**EVERYBODY), grid, START, TASK, rounds=5,
                         after=lambda number, weights: told.append((number, float(weights[0]))), **more)  # type: ignore[arg-type]  # fmt: skip
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


def test_what_flower_draws_from_is_seeded_and_put_back() -> None:
    def drawn() -> tuple[float, float]:
        return random.random(), float(np.random.random())

    with seeded(7):
        first = drawn()
    outside = drawn()
    with seeded(7):
        assert drawn() == first
    assert drawn() != outside


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
