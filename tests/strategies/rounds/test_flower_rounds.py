"""Rounds under Flower's loop, and the weights they end with.

Covers training_grid.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict
from flwr.serverapp.strategy import FedAvg

from ldpsim.devices.device import Refusal
from ldpsim.devices.federated.wire import (
    ATTEMPT,
    WEIGHTS,
    round_content,
    round_reply,
    weights_record,
)
from ldpsim.devices.network import LARGEST, FloatArray
from ldpsim.devices.wire import reply
from ldpsim.strategies.engines.grids import DirectGrid
from ldpsim.strategies.federated import EVERYBODY
from ldpsim.strategies.rounds.collect_once import Collected
from ldpsim.strategies.rounds.training_grid import Best, Phase, RoundTally, TrainingGrid, draw_nodes, run_rounds
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


@pytest.mark.parametrize("done", [0, 3])
def test_a_continued_training_counts_from_where_it_stopped(monkeypatch: pytest.MonkeyPatch, done: int) -> None:
    asked: list[int] = []

    class Strategy(FedAvg):
        def configure_train(self, server_round: int, *rest: Any) -> Iterable[Message]:
            asked.append(server_round)
            return super().configure_train(server_round, *rest)

    told: list[tuple[int, float]] = []
    grid = TrainingGrid(Counting(), train=lambda r: [1])
    run_rounds(Strategy(**EVERYBODY), grid, START, TASK, rounds=5, done=done,
               after=lambda number, weights: told.append((number, float(weights[0]))))  # fmt: skip
    assert asked == list(range(done + 1, 6))
    assert told == [(number, float(number - done)) for number in range(done, 6)]


def test_weights_that_add_up_to_more_than_a_device_accepts_are_sent_as_the_largest() -> None:
    sent: list[FloatArray] = []

    class Doubling(FedAvg):
        def configure_train(self, server_round: int, arrays: ArrayRecord, *rest: Any) -> Iterable[Message]:
            sent.append(arrays[WEIGHTS].numpy())
            return super().configure_train(server_round, arrays, *rest)

        def aggregate_train(self, *given: Any) -> tuple[ArrayRecord | None, MetricRecord | None]:
            super().aggregate_train(*given)
            return weights_record(np.float32([4 * LARGEST, -np.inf])), None

    run_rounds(Doubling(**EVERYBODY), TrainingGrid(Counting(), train=lambda r: [1]), START, TASK, rounds=2)
    assert sent[1].tolist() == [LARGEST, -LARGEST] and sent[1].dtype == np.float32


def test_nobody_is_waited_for_longer_than_the_caller_says() -> None:
    waited: list[float | None] = []

    class Listening(Counting):
        def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
            waited.append(timeout)
            return super().send_and_receive(messages, timeout=timeout)

    run_rounds(FedAvg(**EVERYBODY), TrainingGrid(Listening(), train=lambda r: [1]), START, TASK, rounds=2, timeout=7.5)
    assert waited == [7.5, 7.5]


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
    weights = run_rounds(FedAvg(**EVERYBODY), grid, START, TASK, rounds=2)
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


class Sized(DirectGrid):
    """Nodes 1 to 3, each with as many people as its number; node 3 alone is right."""

    def __init__(self) -> None:
        super().__init__(3)

    def deliver(self, messages: Sequence[Message]) -> Iterable[Message]:  # type: ignore[override]
        for message in reversed(list(messages)):
            node = message.metadata.dst_node_id
            if message.metadata.message_type == "train":
                yield round_reply(message, weights=START + node, people=1)
            else:
                yield round_reply(message, people=node, right=3 if node == 3 else 0)


def test_an_accuracy_counts_people() -> None:
    told: list[float] = []
    grid = TrainingGrid(Sized(), train=lambda r: [3, 1, 2], evaluate=lambda r: [1, 3] if r == 2 else [2])
    best = Best()
    run_rounds(FedAvg(**EVERYBODY), grid, START, TASK, rounds=2, best=best,
               after=lambda number, weights: told.append(float(weights[0])))  # fmt: skip
    assert told == [0.0, 2.0, 2.0] and best.accuracy == 3 / 4  # of four people in round 2, of two in round 1
    assert grid.accuracy is None and grid.tally.rounds_answered == 2
    phases = grid.tally.phases
    assert {name: (phase.rounds, phase.messages) for name, phase in phases.items()} == {
        "training": (2, 12), "evaluation": (2, 6)
    }  # fmt: skip
    assert grid.exchange([], "nothing") == [] and "nothing" not in phases


def test_the_bytes_of_a_record_count_for_each_message_that_carries_it() -> None:
    shared = ConfigRecord({"task": b"x" * 100})
    grid = TrainingGrid(Sized(), train=lambda r: [])
    content = [round_content(weights_record(START), shared) for _ in range(2)]
    messages = [Message(each, node, "train") for node, each in enumerate(content, 1)]
    replies = grid.exchange(messages, "some")
    size = sum(len(name) + record.count_bytes() for name, record in content[0].items())
    phase = grid.tally.phases["some"]
    assert phase.downlink_bytes == 2 * size and size > 100
    assert phase.uplink_bytes == sum(
        len(name) + record.count_bytes() for message in replies for name, record in message.content.items()
    )


@pytest.mark.parametrize(("people", "share", "drawn"), [(10, 0.25, 2), (10, 0.35, 4), (10, 0.26, 3), (10, 0.94, 9),
                                                        (10, 0.96, 10), (1, 0.4, 1), (3, 0.0, 1)])  # fmt: skip
def test_the_number_of_drawn_nodes_is_rounded(people: int, share: float, drawn: int) -> None:
    nodes = list(range(7, 7 + people))
    found = draw_nodes(nodes, share, [3, 1])
    assert len(found) == drawn and (found is nodes) == (drawn == people)
    if drawn < people:
        assert found == sorted(np.random.default_rng([3, 1]).choice(nodes, drawn, replace=False).tolist())


def test_dropouts_follow_from_the_seed_the_round_and_the_node() -> None:
    grid = TrainingGrid(DirectGrid(1), train=lambda r: [], dropping=0.3, seed=3)
    other = TrainingGrid(DirectGrid(1), train=lambda r: [], seed=3)
    for node, number in ((1, 0), (1, 1), (2, 1), (9, 4), (4, 9)):
        assert grid.drops(node, number) == (np.random.default_rng([3, number, node]).random() < 0.3)
        assert not other.drops(node, number)


def tally() -> RoundTally:
    return RoundTally(
        {1, 2, 3, 4, 5, 6, 7}, Counter({1: 2, 2: 1}), {2: "A", 3: "B", 4: "B", 5: "A"},
        {1: "no", 3: "number", 6: "at all"},
        {"sums": Phase(1, 2, 30, 40), "training": Phase(5, 6, 70, 80)}, 4, 9,
    )  # fmt: skip


def test_a_tally_as_json_and_as_counts_of_devices() -> None:
    plain = {
        "asked": [1, 2, 3, 4, 5, 6, 7], "answered": [(1, 2), (2, 1)],
        "refused": [(2, "A"), (3, "B"), (4, "B"), (5, "A")],
        "failed": [(1, "no"), (3, "number"), (6, "at all")], "rounds_answered": 4, "heard": 9,
        "phases": {"sums": {"rounds": 1, "messages": 2, "downlink_bytes": 30, "uplink_bytes": 40},
                   "training": {"rounds": 5, "messages": 6, "downlink_bytes": 70, "uplink_bytes": 80}},
    }  # fmt: skip
    assert tally().to_dict() == plain and RoundTally.from_dict(json.loads(json.dumps(plain))) == tally()
    found = tally().collected(2.0)
    # 1 and 2 reported; 3, 4 and 5 refused at last; 6 failed; 7 never answered
    assert (found.asked, found.reported, found.refused, found.failed, found.silent) == (7, 2, {"B": 2, "A": 1}, 1, 1)
    assert (found.rounds, found.messages, found.downlink_bytes, found.uplink_bytes) == (6, 8, 100, 120)
    assert RoundTally().collected(0.0) == Collected()


def test_training_and_evaluation_take_turns() -> None:
    grid = TrainingGrid(Sized(), train=lambda r: [10 * r], evaluate=lambda r: [10 * r + 1])
    seen = []
    for _ in range(3):
        seen += list(grid.get_node_ids())
        list(grid.send_and_receive([]))
    assert seen == [10, 11, 20] and grid.accuracy is None and grid.tally.rounds_answered == 0
    grid = TrainingGrid(Sized(), train=lambda r: [r])
    grid.go_on(6, tally())
    assert list(grid.get_node_ids()) == [7] and grid.tally == tally()
    list(grid.send_and_receive([]))
    assert list(grid.get_node_ids()) == []


def test_silent_nodes_are_counted_and_get_no_message() -> None:
    grid = TrainingGrid(Sized(), train=lambda r: [], silent=frozenset({2}))
    content = round_content(weights_record(START), ConfigRecord({"task": TASK}))
    messages = [Message(content, node, "train") for node in (3, 2, 1)]
    assert [reply.metadata.src_node_id for reply in grid.exchange(messages, "some", 4)] == [1, 3]
    phase = grid.tally.phases["some"]
    assert (
        grid.tally.asked == {1, 2, 3}
        and (phase.rounds, phase.messages) == (1, 5)
        and grid.tally.answered == {1: 1, 3: 1}
    )
    assert grid.tally.heard == 2 and not grid.tally.failed
    grid.exchange(messages, "some")
    assert (phase.rounds, phase.messages) == (2, 10) and grid.tally.answered == {1: 2, 3: 2}


def test_other_calls_go_to_the_grid_within() -> None:
    class Inner:
        run = "run"

        def __getattr__(self, name: str) -> Any:
            return lambda *given, **more: (name, given, more)

    grid = TrainingGrid(Inner(), train=lambda r: [])  # type: ignore[arg-type]
    assert grid.run == "run" and grid.set_run(5) is None  # type: ignore[arg-type, func-returns-value]
    assert grid.create_message(1, kind=2) == ("create_message", (1,), {"kind": 2})
    assert grid.push_messages([1]) == ("push_messages", ([1],), {})  # type: ignore[list-item]
    assert grid.pull_messages(["a"]) == ("pull_messages", (["a"],), {})


def test_an_equal_accuracy_keeps_the_earlier_weights_and_observers_hear_of_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[tuple[str, float, int]] = []
    monkeypatch.setattr("ldpsim.curator.observer.log_metric", lambda *given: told.append(given))
    weights, _ = rounds([2, 4])
    assert weights.tolist() == [2.0, 2.0]
    assert told == [("val_accuracy", float(number in (2, 4)), number) for number in range(1, 6)]
    told.clear()
    assert rounds([], done=3)[0].tolist() == [1.0, 1.0]  # an accuracy of 0 is better than none
    assert told == [("val_accuracy", 0.0, number) for number in (4, 5)]


@pytest.mark.parametrize("attempt", [0, 1, 5])
def test_the_devices_are_told_the_task_and_a_further_attempt(attempt: int) -> None:
    seen = []

    class Telling(Counting):
        def deliver(self, messages: Sequence[Message]) -> Iterable[Message]:  # type: ignore[override]
            for message in messages:
                config = dict(next(iter(message.content.config_records.values())))
                seen.append({name: value for name, value in config.items() if name in ("task", ATTEMPT)})
            return super().deliver(messages)

    grid = TrainingGrid(Telling(), train=lambda r: [1], evaluate=lambda r: [1])
    run_rounds(FedAvg(**EVERYBODY), grid, START, TASK, rounds=1, attempt=attempt)
    assert seen == [{"task": TASK} | ({ATTEMPT: attempt} if attempt else {})] * 2


def test_any_seed_can_be_used_and_errors_put_the_generators_back() -> None:
    kept = random.getstate()
    with pytest.raises(KeyError), seeded((1 << 40) + 5):
        assert random.random() == random.Random((1 << 40) + 5).random()
        assert np.random.random() == np.random.RandomState([5, 1 << 8]).random()
        raise KeyError
    assert random.getstate() == kept
