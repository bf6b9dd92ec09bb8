"""Rounds under Flower's loop, the weights they end with, and checkpoints: nothing else is taken for one."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, Error, Message, MetricRecord, RecordDict
from flwr.serverapp.strategy import FedAvg

from ldpsim.devices.device import Refusal
from ldpsim.devices.federated.wire import WEIGHTS, round_reply, weights_record
from ldpsim.devices.network import LARGEST, FloatArray
from ldpsim.devices.wire import reply
from ldpsim.strategies.engines.grids import DirectGrid
from ldpsim.strategies.federated import EVERYBODY
from ldpsim.strategies.results.folder import remove_unfinished
from ldpsim.strategies.rounds.checkpoint import Best, CheckpointFile, TrainingState, run_rounds
from ldpsim.strategies.rounds.training_grid import Phase, RoundTally, TrainingGrid, draw_nodes
from ldpsim.strategies.seeded import seeded

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
    weights = run_rounds(FedAvg(**EVERYBODY), grid, TrainingState(START, **more), TASK, rounds=5,
                         after=lambda number, weights: told.append((number, float(weights[0]))))  # fmt: skip
    return weights, told


def test_the_weights_of_the_round_that_evaluated_best_are_returned() -> None:
    best = Best()
    weights, told = rounds([2, 4], best=best)
    assert weights.tolist() == [2.0, 2.0] == best.weights.tolist()  # type: ignore[union-attr]  # the first of the best
    assert best.accuracy == 1.0
    assert told == [(number, float(number)) for number in range(6)]
    assert rounds(None)[0].tolist() == [5.0, 5.0]  # nobody evaluates: the last ones
    weights, told = rounds([], done=3, best=Best(0.5, np.full(2, 9, np.float32)))
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
    grid = TrainingGrid(DirectGrid(1), train=lambda r: [], dropping=0.5, seed=3, dropouts=frozenset({4}))
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

    run_rounds(
        Doubling(**EVERYBODY), TrainingGrid(Counting(), train=lambda r: [1]), TrainingState(START), TASK, rounds=2
    )
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
    weights = run_rounds(FedAvg(**EVERYBODY), grid, TrainingState(START), TASK, rounds=2)
    assert weights.tolist() == [1.0, 1.0]
    tally = grid.tally
    assert (tally.recipients, tally.answered, tally.heard) == ({1, 2, 3, 4}, {4: 2}, 2)
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


def test_draws_repeat_inside_and_go_on_outside() -> None:
    def inside() -> tuple[float, float]:
        with seeded(2**40 + 3):
            return random.random(), float(np.random.random())

    expected = []
    for draw in (lambda: None, inside):
        random.seed(7)
        np.random.seed(7)
        draw()
        expected.append((random.random(), float(np.random.random())))
    assert expected[0] == expected[1] and inside() == inside()
    with seeded(3):  # all bits of the seed count
        assert (random.random(), float(np.random.random())) != inside()


KEY = ("config", "collection")


def training() -> TrainingState:
    tally = RoundTally(heard=5, rounds_answered=2)
    tally.recipients |= {1, 2, 3}
    tally.answered.update([1, 1, 2])
    tally.refused[3] = "POLICY_REFUSED"
    tally.failed[2] = "round 1, training: it sent an error"
    tally.phases["training"] = Phase(2, 12, 100, 200)
    weights = np.arange(4, dtype=np.float32)
    server = {"m_t.weights": np.ones(4), "clipping_norm": np.array(0.25)}
    return TrainingState(weights, 2, Best(0.5, weights + 1), tally, server, None, 3, 7)


def test_a_training_is_read_back_as_it_was_kept(tmp_path: Path) -> None:
    kept = CheckpointFile(tmp_path, 0, KEY)
    wanted = training()
    kept.add_model(wanted.weights)
    with seeded(4):
        np.random.normal(size=3)  # leaves a second value for later, which is part of the state
        random.random()
        kept.save(wanted)
        expected = random.random(), np.random.normal(size=3).tolist()
    again = CheckpointFile(tmp_path, 0, KEY)
    found = again.load()
    assert found is not None and found.randomness is not None
    assert (found.done, found.again, found.lost) == (2, 3, 7)
    assert found.tally.to_dict() == wanted.tally.to_dict()
    assert found.weights.dtype == np.float32 and np.array_equal(found.weights, wanted.weights)
    assert found.best.accuracy == 0.5 and found.best.weights is not None
    assert np.array_equal(found.best.weights, wanted.weights + 1)
    assert set(found.server) == {"m_t.weights", "clipping_norm"} and found.server["clipping_norm"] == 0.25
    with seeded(5):
        random.setstate(found.randomness[0])
        np.random.set_state(found.randomness[1])
        assert (random.random(), np.random.normal(size=3).tolist()) == expected
    assert not any(path.stat().st_mode & 0o077 for path in tmp_path.iterdir())
    for file in (kept, again):
        file.add_model(wanted.weights + 1)
    assert again.digest.digest() == kept.digest.digest()
    assert (tmp_path / "checkpoint-0.npz").stat().st_mode & 0o077 == 0
    remove_unfinished(tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("key", [("other", "collection"), ("config", "other"), ("config", "collection", "silos")])
def test_a_checkpoint_of_another_training_is_left_aside(tmp_path: Path, key: tuple[str, ...]) -> None:
    CheckpointFile(tmp_path, 0, KEY).save(training())
    assert CheckpointFile(tmp_path, 0, key).load() is None
    assert CheckpointFile(tmp_path, 1, KEY).load() is None
    assert CheckpointFile(tmp_path, 0, KEY).load() is not None


def test_a_damaged_checkpoint_is_left_aside(tmp_path: Path) -> None:
    kept = CheckpointFile(tmp_path, 0, KEY)
    kept.add_model(training().weights)
    kept.save(training())
    path, models = tmp_path / "checkpoint-0.npz", tmp_path / "checkpoint-0.models"
    whole = path.read_bytes()
    at = whole.index(training().weights.tobytes())
    for data in (b"", whole[:-1], whole[:at] + b"\xff" + whole[at + 1 :], b"\x80\x04."):
        path.write_bytes(data)
        assert CheckpointFile(tmp_path, 0, KEY).load() is None
    path.write_bytes(whole)
    models.write_bytes(models.read_bytes()[:-1])
    assert CheckpointFile(tmp_path, 0, KEY).load() is None
